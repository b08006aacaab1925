// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/congestion_window_limit_pipeline.hpp"

#include <algorithm>

#include "host/core/policy/airtime_window.hpp"
#include "host/core/policy/pacing_path.hpp"

namespace perhop::policy {

namespace {

/// k
std::uint64_t packets_on_the_way(const path_measurement& path) {
  if (path.forward_hops < two_packets_hops && path.wired_round_trip_us == 0) return 0;
  const std::uint64_t period_us = pacing_path::data_period_us(path);
  if (period_us == 0) return (std::uint64_t{path.forward_hops} + reuse_distance_hops / 2) / reuse_distance_hops + 1;
  return (std::uint64_t{path.forward_total_us} + path.wired_round_trip_us + period_us / 2) / period_us + 1;
}

}  // namespace

congestion_window_limit_pipeline::congestion_window_limit_pipeline(std::uint32_t ceiling_packets)
    : ceiling_packets_(std::max(ceiling_packets, 1U)) {}

void congestion_window_limit_pipeline::on_path(const path_measurement& path) {
  if (path.forward_hops == 0) return;
  const std::uint64_t packets = airtime_window_packets(path.forward_hops) + packets_on_the_way(path);
  limit_packets_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(packets, ceiling_packets_));
}

}  // namespace perhop::policy
