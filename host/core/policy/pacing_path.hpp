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
//   S' = D' * min(m, 4) / m, m the return hops (their maximum is not told)
//
// Source: none; ours, from the reuse of 1/4 in the paper named in congestion_window_limit.hpp (section 3.2) and the
// idea of tcp_adaptive_pacing.hpp. Unlike TCP-AP it needs no round trips and sees no queueing, so that a queue on the
// way does not slow it down further. d_i hold the contention of the hop: a path that contends with itself is paced more
// slowly, which ends that contention. Only measured paths are paced.

#pragma once

#include <algorithm>
#include <cstdint>

#include "host/core/policy/path_measurement.hpp"
#include "host/core/policy/tcp_adaptive_pacing.hpp"

namespace perhop::policy {

class pacing_path {
public:
  void on_path(const path_measurement& path, std::uint32_t packets_per_tcp_ack) {
    // Nothing measured: what was known stays.
    if (path.forward_hops == 0 || path.forward_total_us == 0) return;
    interval_us_ = data_period_us(path) + tcp_ack_period_us(path) / std::max(packets_per_tcp_ack, 1U);
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

  /// S'
  static std::uint64_t tcp_ack_period_us(const path_measurement& path) {
    if (path.return_hops <= reuse_distance_hops) return path.return_total_us;
    return std::uint64_t{path.return_total_us} * reuse_distance_hops / path.return_hops;
  }

private:
  std::uint64_t interval_us_ = 0;
};

}  // namespace perhop::policy
