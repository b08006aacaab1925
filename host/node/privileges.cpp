// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/privileges.hpp"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace perhop::node {

account find_account(const std::string& name) {
  const passwd* found = getpwnam(name.c_str());
  if (found == nullptr) throw std::invalid_argument("there is no user '" + name + "' on this host");
  return {.user = found->pw_uid, .group = found->pw_gid};
}

void drop_privileges(const std::optional<account>& become) {
  // The bounds need CAP_SETPCAP, which a service has no use for: its manager has set them already.
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) prctl(PR_CAPBSET_DROP, capability);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  // Before the capabilities: it takes CAP_SETUID and CAP_SETGID.
  if (become && (setgroups(0, nullptr) < 0 || setresgid(become->group, become->group, become->group) < 0 ||
                 setresuid(become->user, become->user, become->user) < 0)) {
    throw std::system_error(errno, std::generic_category(), "becoming user " + std::to_string(become->user));
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (syscall(SYS_capset, &header, none.data()) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
    throw std::system_error(errno, std::generic_category(), "dropping capabilities");
  }
}

}  // namespace perhop::node
