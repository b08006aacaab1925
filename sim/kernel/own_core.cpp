// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/own_core.hpp"

#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdio>

namespace perhop::kernels {

namespace {

/// A name of Linux' abstract sockets: it is free again when its process is gone. Empty: somebody else has it.
descriptor claim(int core) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "perhop-kernel-core-%d", core);
  descriptor name(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  return name && bind(name.number(), reinterpret_cast<const sockaddr*>(&address), bytes) == 0 ? std::move(name) : descriptor();
}

}  // namespace

descriptor take_own_core() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    descriptor taken = claim(core);
    if (!taken) continue;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    if (sched_setaffinity(0, sizeof own, &own) == 0) return taken;
  }
  return {};
}

}  // namespace perhop::kernels
