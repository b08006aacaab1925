// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/privileges.hpp"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace perhop::node {

void drop_privileges() {
  // The bounds need CAP_SETPCAP, which a service has no use for: its manager has set them already.
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) prctl(PR_CAPBSET_DROP, capability);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (syscall(SYS_capset, &header, none.data()) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
    throw std::system_error(errno, std::generic_category(), "dropping capabilities");
  }
}

}  // namespace perhop::node
