// SPDX-License-Identifier: GPL-2.0-or-later
//
// Delay window by airtime: how many data packets one TCP ACK stands for in the project's combined policy. The exchange of a
// TCP ACK takes about a fifth of that of a full packet, RTS, CTS and MAC ACK being as long, so a window of w packets
// costs a share 1/(5 w) of the airtime, and w - 1 periods of waiting in the round trip.
//
//   up to 3 hops   16   every station senses or hears every exchange: what is in flight costs time and nothing else
//   beyond          6   one period is four exchanges long, so that a larger window costs more delay than it gives
//
// Source: none; ours. Table I (tcp_ack_window_table.hpp) goes down to 3 on long paths because of the bursts that a TCP ACK
// for many packets lets go. Where data is paced there are no bursts, and the reason is gone.

#pragma once

#include <cstdint>

namespace perhop::policy {

/// Longest path on which the MAC keeps all stations from sending at the same time.
inline constexpr std::uint32_t one_medium_hops = 3;

inline constexpr std::uint32_t one_medium_window_packets = 16;
inline constexpr std::uint32_t paced_window_packets = 6;

/// @param forward_hops 0: unknown
constexpr std::uint32_t airtime_window_packets(std::uint32_t forward_hops) {
  return forward_hops != 0 && forward_hops <= one_medium_hops ? one_medium_window_packets : paced_window_packets;
}

}  // namespace perhop::policy
