// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/congestion_window_limit_pipeline.hpp"

#include <algorithm>

#include "host/core/policy/airtime_window.hpp"
#include "host/core/policy/pacing_path.hpp"

namespace perhop::policy {

namespace {

/// D/S that is an eighth short of a whole number is that number: measured delays waver.
constexpr std::uint64_t almost_whole = 8;

/// w by airtime
std::uint32_t packets_by_airtime(const path_measurement& path) {
  const std::uint32_t packets = path.tuning.tcp_ack_packets != 0 ? path.tuning.tcp_ack_packets : usual_paced_window_packets;
  if (path.forward_hops <= one_medium_hops) return one_medium_window_packets(packets);
  const bool leaves_as_a_burst = path.forward_hops == reuse_distance_hops;
  const bool waits_for_others = path.forward_hops >= two_packets_hops && path.tuning.shared;
  return leaves_as_a_burst || waits_for_others ? packets - 1 : packets;
}

/// k of a path without a wired part
std::uint64_t packets_on_the_way(const path_measurement& path, std::uint64_t period_us) {
  if (path.forward_hops <= one_medium_hops) return path.tuning.shared ? packets_by_airtime(path) : 0;
  if (path.forward_hops < two_packets_hops || path.tuning.shared) return 0;
  if (period_us == 0) return path.forward_hops / reuse_distance_hops + 2;
  return (path.forward_total_us + period_us / almost_whole) / period_us + 2;
}

}  // namespace

pipeline_window pipeline_window_of(const path_measurement& path) {
  constexpr std::uint64_t most_packets = UINT32_MAX / 2;
  const std::uint64_t period_us = pacing_path::paced_period_us(path);
  const std::uint64_t on_the_way = packets_on_the_way(path, period_us);
  const bool one_medium = path.forward_hops <= one_medium_hops;
  const std::uint64_t waiting = std::max<std::uint64_t>(packets_by_airtime(path), one_medium ? 0 : on_the_way + 1);
  pipeline_window window{
      .tcp_ack_packets = static_cast<std::uint32_t>(std::min<std::uint64_t>(waiting, airtime_window_packets(path.forward_hops))),
      .on_the_way_packets = static_cast<std::uint32_t>(std::min(on_the_way, most_packets))};
  if (path.wired_round_trip_us != 0 && period_us != 0) {
    const std::uint64_t with_wired = (std::uint64_t{path.forward_total_us} + path.wired_round_trip_us + period_us / 2) / period_us + 1;
    window.on_the_way_packets = static_cast<std::uint32_t>(std::min(with_wired, most_packets));
  }
  return window;
}

congestion_window_limit_pipeline::congestion_window_limit_pipeline(std::uint32_t ceiling_packets)
    : ceiling_packets_(std::max(ceiling_packets, 1U)) {}

void congestion_window_limit_pipeline::on_path(const path_measurement& path) {
  if (path.forward_hops == 0) return;
  const pipeline_window window = pipeline_window_of(path);
  tcp_ack_packets_ = window.tcp_ack_packets;
  limit_packets_ = std::min(window.tcp_ack_packets + window.on_the_way_packets, ceiling_packets_);
}

}  // namespace perhop::policy
