// SPDX-License-Identifier: GPL-2.0-or-later
//
// Path pacing: one packet each time that the slowest stretch of four consecutive hops needs to pass one packet on, TCP
// ACKs included. Of four consecutive hops of a chain only one can send at a time, so nothing faster can flow for long;
// what is sent faster waits on the way and contends.
//
//   period = S + S'/w
//   S      = largest sum of d_i over 4 consecutive forward hops, S' the same of d'_i; w = data packets for each TCP ACK
//
// The path header tells the sum D and the maximum d_max of the h forward hops, and the sum D' of the return hops:
//   h <= 4:  S = D exactly, since all hops share one medium
//   h >  4:  S = d_max + 3 * (D - d_max) / (h - 1): the slowest hop beside three of the average of the others. Exact
//            where all hops are alike or one is slower than the rest, and never above min(D, 4 d_max)
//   S' = D' * min(m, 4) / m, m the return hops (their maximum is not told), and at most S/3
// Where the receiver waits for all that the sender may have in flight, TCP ACKs travel while no data does: the period is
// 97 % of S.
//
// A path of up to 3 hops is not paced: all its stations sense or hear each other's exchanges, and the MAC gives the medium
// to one at a time better than a period with a margin for the contention measured can.
//
// Source: none; ours, from the reuse of 1/4 in the paper named in congestion_window_limit.hpp (section 3.2) and the
// idea of tcp_adaptive_pacing.hpp. Unlike TCP-AP it needs no round trips and sees no queueing, so that a queue on the
// way does not slow it down further. d_i hold the contention of the hop: a path that contends with itself is paced more
// slowly, which ends that contention. Only measured paths are paced.

#pragma once

#include <algorithm>
#include <cstdint>

#include "host/core/policy/airtime_window.hpp"
#include "host/core/policy/path_measurement.hpp"
#include "host/core/policy/tcp_adaptive_pacing.hpp"

namespace perhop::policy {

class pacing_path {
public:
  /// In place of a number of packets for each TCP ACK: no data is on the way when one travels.
  static constexpr std::uint32_t tcp_acks_over_an_empty_path = UINT32_MAX;

  /// The exchange of a TCP ACK takes no more than this part of that of a data packet (0.25 of 1460 bytes, 0.31 of 1000 bytes,
  /// 802.11b at 2 Mb/s with RTS). The rest of a longer d'_i was spent waiting for data.
  static constexpr std::uint64_t largest_tcp_ack_share = 3;

  /// Each d_i holds a backoff of its own, but stations that wait at the same time count the same slots. What is left of S
  /// when three of four backoffs coincide (docs/airtime_bound.md: 30.1 of 31.0 ms with 802.11b at 2 Mb/s).
  static constexpr std::uint64_t overlap_percent = 97;

  void on_path(const path_measurement& path, std::uint32_t packets_per_tcp_ack) {
    // Nothing measured: what was known stays.
    if (path.forward_hops == 0 || path.forward_total_us == 0) return;
    if (path.forward_hops <= one_medium_hops) {
      interval_us_ = 0;
      return;
    }
    if (packets_per_tcp_ack == tcp_acks_over_an_empty_path) {
      interval_us_ = paced_period_us(path) * overlap_percent / 100;
    } else {
      const std::uint64_t data_us = paced_period_us(path);
      interval_us_ = data_us + std::min(tcp_ack_period_us(path), data_us / largest_tcp_ack_share) / std::max(packets_per_tcp_ack, 1U);
    }
  }
  void on_rtt(std::uint32_t /*rtt_us*/) {}
  void on_window(std::uint32_t /*packets*/) {}

  std::uint64_t interval_us() const { return interval_us_; }

  /// S
  static std::uint64_t data_period_us(const path_measurement& path) {
    if (path.forward_hops <= reuse_distance_hops) return path.forward_total_us;
    const std::uint64_t slowest_us = std::min(path.forward_max_us, path.forward_total_us);
    return slowest_us + (reuse_distance_hops - 1) * (path.forward_total_us - slowest_us) / (path.forward_hops - 1);
  }

  /// S, or the part of it that the sender has found to be better
  static std::uint64_t paced_period_us(const path_measurement& path) { return data_period_us(path) * path.tuning.pace_permille / 1000; }

  /// S'
  static std::uint64_t tcp_ack_period_us(const path_measurement& path) {
    if (path.return_hops <= reuse_distance_hops) return path.return_total_us;
    return std::uint64_t{path.return_total_us} * reuse_distance_hops / path.return_hops;
  }

private:
  std::uint64_t interval_us_ = 0;
};

}  // namespace perhop::policy
