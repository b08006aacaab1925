// SPDX-License-Identifier: GPL-2.0-or-later
/// What a process needs of its host's privileges, and how it lets go of them.
///
/// The daemon: to open a TUN interface that is not its own, CAP_NET_ADMIN. The daemon and the emulated medium (sim/live): to run ahead of
/// ordinary processes, CAP_SYS_NICE; they go on without. To read the routing table, to pass packets, to be connected: nothing.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace perhop::node {

struct account {
  uid_t user = 0;
  gid_t group = 0;
};

/// @throws std::invalid_argument if this host has no such user
account find_account(const std::string& name);

/// Gives up every capability, for good: none is permitted, inherited, ambient or within bounds, and no program that is started
/// gains one. With `become` it is that account's from then on, of its group alone. Call it when all is open.
/// @throws std::system_error
void drop_privileges(const std::optional<account>& become = std::nullopt);

}  // namespace perhop::node
