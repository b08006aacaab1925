// SPDX-License-Identifier: GPL-2.0-or-later
//
// TCP-AP, adaptive pacing: a packet every (1 + 2 cov) * FHD. FHD, the four-hop propagation delay, is the time after which
// the sender and a node four hops on can send at the same time; cov, the coefficient of variation of the last 50 round
// trips, slows the sender down where contention rises:
//
//   q   = 1/2 * (RTT/h - (s_data + s_tcp_ack)/b)        queueing and contention of a hop
//   FHD = 4 * (q + s_data/b),   averaged: 0.7 * old + 0.3 * new
//   cov = standard deviation (n - 1) of the round trips / their mean
//
// Source: S. M. ElRakabawy, A. Klemm, C. Lindemann, "TCP with Adaptive Pacing for Multihop Wireless Networks", MobiHoc
// 2005. Ours differs from the source, or fills a gap:
//  - where the hops are measured, s_data/b and s_tcp_ack/b, times without any MAC overhead, are replaced by the mean of
//    the measured delays of the hops (contention included, so that less is left for q). Where they are not (a silent
//    router), s/b is taken as 0 unless a link rate is given, and FHD is 4 * RTT/2h;
//  - a path of fewer than four hops takes the delay of all its hops, since all of them share one medium (the authors'
//    simulator takes a single hop there);
//  - one round trip is timed at a time, not every packet; a round trip of a retransmitted packet is not used;
//  - a negative q counts as 0; intervals are at most 1 s (the authors' simulator drops samples above 0.5 s);
//  - the authors' simulator has the mean absolute deviation in place of the standard deviation: a choice here. The pace is
//    faster for it, and the goodput higher wherever the pace limits it: 231 for 225 kb/s over 8 hops.
// The source paces within TCP's congestion window and bounds it by nothing. What TCP lets go above what the path holds waits here,
// in front of the path. A window limit by the delays of the hops, `delay + tcp-ap`, keeps that wait short and costs no goodput.

#pragma once

#include <array>
#include <cstdint>

#include "host/core/policy/generated/policies.hpp"
#include "host/core/policy/path_measurement.hpp"

namespace perhop::policy {

/// Hops of which only one can carry a packet at a time: the spatial reuse of a chain is 1/4.
inline constexpr std::uint32_t reuse_distance_hops = 4;

struct adaptive_pacing_config {
  std::uint64_t link_rate_bps = 0;   ///< not 0: s/b as in the source, in place of measured delays
  std::uint32_t data_bytes = 1500;   ///< s_data, with `link_rate_bps`
  std::uint32_t tcp_ack_bytes = 40;  ///< s_tcp_ack, with `link_rate_bps`
  round_trip_variation variation = round_trip_variation::standard_deviation;

  friend bool operator==(const adaptive_pacing_config&, const adaptive_pacing_config&) = default;
};

class tcp_adaptive_pacing {
public:
  static constexpr std::uint32_t history_samples = 50;

  explicit tcp_adaptive_pacing(const adaptive_pacing_config& config = {}) : config_(config) {}

  void on_path(const path_measurement& path, std::uint32_t /*packets_per_tcp_ack*/) { path_ = path; }
  void on_rtt(std::uint32_t rtt_us);
  void on_window(std::uint32_t /*packets*/) {}

  std::uint64_t interval_us() const;

  /// Average four-hop delay; 0 before the first round trip of a path whose hops are known.
  std::uint64_t four_hop_delay_us() const { return (four_hop_us256_ + 128) >> 8; }

  /// How much the round trips vary, as a part of their mean, unit 1/256.
  std::uint32_t variation_256() const;

private:
  void remember(std::uint32_t rtt_us);

  adaptive_pacing_config config_;
  path_measurement path_;
  std::uint64_t four_hop_us256_ = 0;
  std::array<std::uint32_t, history_samples> samples_us_{};
  std::uint32_t sample_count_ = 0;
  std::uint32_t oldest_sample_ = 0;
  std::uint64_t sum_us_ = 0;
  std::uint64_t sum_of_squares_us2_ = 0;
};

}  // namespace perhop::policy
