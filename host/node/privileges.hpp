// SPDX-License-Identifier: GPL-2.0-or-later
/// What the daemon needs of its host's privileges, and how it lets go of them.
///
/// To open a TUN interface that is not its own: CAP_NET_ADMIN. To run ahead of ordinary processes: CAP_SYS_NICE; it goes on
/// without. To read the routing table, to pass packets and to connect to its MAC: nothing.
#pragma once

namespace perhop::node {

/// Gives up every capability, for good: none is permitted, inherited, ambient or within bounds, and no program that is started
/// gains one. Call it when all is open. @throws std::system_error
void drop_privileges();

}  // namespace perhop::node
