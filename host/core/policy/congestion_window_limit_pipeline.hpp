// SPDX-License-Identifier: GPL-2.0-or-later
//
// Window limit for a receiver that delays its TCP ACKs: room for the packets that wait at the receiver and for those that
// are on the way. Part of the project's combined policy.
//
//   CWL = w + k
//   w   packets for each TCP ACK, airtime_window.hpp
//   k   = D/S rounded half up, plus 1, on paths of 8 hops or more; 0 on shorter ones
//
// D is the sum of the forward d_i, S the largest sum over four consecutive hops (pacing_path.hpp). With all hops alike D/S
// is the forward part of Corollary 2 (congestion_window_limit_delay.hpp), the data packets that fit on the way; the 1
// stands for the way of the TCP ACK, during which the sender would have nothing to send.
//
// Only every fourth hop can send, so a path of less than 8 hops has no room for two packets. There k = 0: the sender lets
// go w packets, the last one makes the receiver answer, and the TCP ACK travels back over an empty path. Were there data
// on the way, the TCP ACK would meet it, and one of the two wait or get lost. On longer paths, waiting for the path to be
// empty costs more than the meetings.
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

/// Shortest path that has room for two packets: twice the distance at which the medium can be used again.
inline constexpr std::uint32_t two_packets_hops = 8;

class congestion_window_limit_pipeline {
public:
  explicit congestion_window_limit_pipeline(std::uint32_t ceiling_packets = default_ceiling_packets);

  /// Without the forward hops the limit stays as it was.
  void on_path(const path_measurement& path);
  std::optional<std::uint32_t> limit_packets() const { return limit_packets_; }

private:
  std::uint32_t ceiling_packets_;
  std::optional<std::uint32_t> limit_packets_;
};

}  // namespace perhop::policy
