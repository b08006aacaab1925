// SPDX-License-Identifier: GPL-2.0-or-later
//
// Delay window by airtime: how many data packets one TCP ACK stands for in the project's combined policy.
//
//   beyond 3 hops  w = 10 sqrt(A/D), 2 to 8    A and D the exchanges of a TCP ACK and of a data packet on an idle medium
//   up to 3 hops   3.2 w                       every station senses or hears every exchange: what is in flight costs time and
//                                              nothing else
//
// A window of w packets costs a share A/(w D) of the airtime, and w - 1 periods of waiting in the round trip. The sum of a share
// and of so many periods is least at a w that goes with sqrt(A/D): 5 packets of 1460 bytes at 2 Mb/s, 7 of 500 bytes, 8 at 11 Mb/s; 16, 22
// and 25 up to 3 hops.
//
// The sender chooses w, because it knows A and D: it tells no more packets in flight than the receiver is to wait for.
//
// Source: none; ours. Table I (tcp_ack_window_table.hpp) goes down to 3 on long paths because of the bursts that a TCP ACK
// for many packets lets go. Where data is paced there are no bursts, and the reason is gone.

#pragma once

#include <cstdint>

namespace perhop::policy {

/// Longest path on which the MAC keeps all stations from sending at the same time.
inline constexpr std::uint32_t one_medium_hops = 3;

inline constexpr std::uint32_t least_paced_window_packets = 2;
inline constexpr std::uint32_t largest_paced_window_packets = 8;
/// Where A and D are not known.
inline constexpr std::uint32_t usual_paced_window_packets = 5;

/// On a path of up to 3 hops. @param packets w
constexpr std::uint32_t one_medium_window_packets(std::uint32_t packets) { return packets * 16 / 5; }

/// What a receiver waits for at most. @param forward_hops 0: unknown
constexpr std::uint32_t airtime_window_packets(std::uint32_t forward_hops) {
  const bool one_medium = forward_hops != 0 && forward_hops <= one_medium_hops;
  return one_medium ? one_medium_window_packets(largest_paced_window_packets) : largest_paced_window_packets;
}

/// w on a path of more than 3 hops. @param tcp_ack_us A  @param data_us D
constexpr std::uint32_t paced_window_packets(std::uint32_t tcp_ack_us, std::uint32_t data_us) {
  if (tcp_ack_us == 0 || data_us == 0) return usual_paced_window_packets;
  // Rounded half up without a root: w + 1/2 <= 10 sqrt(A/D).
  constexpr std::uint64_t twice_factor_squared = 20 * 20;
  std::uint32_t packets = least_paced_window_packets;
  while (packets < largest_paced_window_packets &&
         std::uint64_t{2 * packets + 1} * (2 * packets + 1) * data_us <= twice_factor_squared * tcp_ack_us) {
    ++packets;
  }
  return packets;
}

}  // namespace perhop::policy
