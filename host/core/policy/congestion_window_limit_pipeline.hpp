// SPDX-License-Identifier: GPL-2.0-or-later
//
// Window limit for a receiver that delays its TCP ACKs: room for the packets that wait at the receiver and for those that
// are on the way. Part of the project's combined policy.
//
//   CWL = w + k
//   k   = D/S rounded down, plus 2, on paths of 7 hops or more; 0 on shorter ones, and on long ones that other traffic shares
//       up to 3 hops, shared: w
//   w   packets for each TCP ACK: by airtime (airtime_window.hpp); beyond 3 hops at least k + 1
//       4 hops: one less, as the window leaves almost as one burst
//       7 hops or more, shared: one less, as each packet takes longer
//
// D is the sum of the forward d_i, S the period at which packets leave (pacing_path.hpp, the largest sum over four consecutive
// hops or the part of it that path_tuner.hpp found). With all hops alike D/S is the forward part of Corollary 2
// (congestion_window_limit_delay.hpp), the data packets that fit on the way; the rest stands for the way of the TCP ACK, during
// which the sender would have nothing to send. With w > k there is one TCP ACK on the way at a time, and the packet that it lets go
// first completes the receiver's next window.
//
// A path of less than 7 hops has no room for two packets. There k = 0: the sender lets go w packets, the last one makes the receiver
// answer, and the TCP ACK travels back over an empty path. Were there data on the way, the TCP ACK would meet it, and one of the two
// wait or get lost. On longer paths, waiting for the path to be empty costs more than the meetings; but not where others' data
// fill the pauses. Up to 3 hops, where all stations hear each other, others take the medium in the pause after each window: alone it
// costs 1 %, beside others up to a third of the goodput. There k = w keeps the sender's queue filled.
//
// Source: ours; Corollary 2 is that of the paper named in congestion_window_limit.hpp. Differences:
//  - Corollary 2 knows no receiver that holds packets: alone it stops the sender before w packets are there;
//  - the measured d'_i are left out. A TCP ACK that meets data waits for it, so on long paths d'_i are several times what
//    the TCP ACK takes, and a window made larger for them makes more such meetings;
//  - a wired part of the path holds its round trip / S more packets;
//  - without delays, D/S is hops/4.

#pragma once

#include <cstdint>
#include <optional>

#include "host/core/policy/congestion_window_limit_hop.hpp"
#include "host/core/policy/path_measurement.hpp"

namespace perhop::policy {

/// Shortest path that has room for two packets.
inline constexpr std::uint32_t two_packets_hops = 7;

/// What a window consists of.
struct pipeline_window {
  std::uint32_t tcp_ack_packets = 0;     ///< w
  std::uint32_t on_the_way_packets = 0;  ///< k, a wired part included
};

/// @param path with forward hops
pipeline_window pipeline_window_of(const path_measurement& path);

class congestion_window_limit_pipeline {
public:
  explicit congestion_window_limit_pipeline(std::uint32_t ceiling_packets = default_ceiling_packets);

  /// Without the forward hops the limit stays as it was.
  void on_path(const path_measurement& path);
  std::optional<std::uint32_t> limit_packets() const { return limit_packets_; }

  /// w; 0: unknown
  std::uint32_t tcp_ack_packets() const { return tcp_ack_packets_; }

private:
  std::uint32_t ceiling_packets_;
  std::uint32_t tcp_ack_packets_ = 0;
  std::optional<std::uint32_t> limit_packets_;
};

}  // namespace perhop::policy
