// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/path_share.hpp"

#include <algorithm>

#include "host/core/policy/airtime_window.hpp"
#include "host/core/policy/congestion_window_limit_pipeline.hpp"
#include "host/core/policy/pacing_path.hpp"

namespace perhop::policy {

namespace {

struct share_bounds {
  std::uint64_t least_by_delay_permille;
  std::uint64_t least_by_idle_permille;
  std::uint64_t alone_again_by_idle_permille;
};

constexpr share_bounds bounds_of(std::uint32_t hops) {
  if (hops <= one_medium_hops) return {UINT64_MAX, 850, 950};
  if (hops <= reuse_distance_hops) return {1250, 750, 850};
  if (hops < two_packets_hops) return {1000, 750, 850};
  return {750, 450, 775};
}

std::uint64_t packet_alone_us(std::uint64_t period_us, std::uint64_t around_us, const pipeline_window& window) {
  const std::uint64_t packets = std::uint64_t{window.tcp_ack_packets} + window.on_the_way_packets;
  const std::uint64_t cycle_us = (window.tcp_ack_packets - 1) * period_us + around_us;
  return std::max(period_us, cycle_us / packets);
}

}  // namespace

void path_share::on_delivery(const delivered_data& told, std::uint32_t segment_bytes, const idle_exchange& idle,
                             const path_measurement& path) {
  if (idle.data_us == 0) return;
  bytes_ += told.bytes;
  us_ += told.us;
  if (++tcp_acks_ < (path.forward_hops <= one_medium_hops ? tcp_acks_a_look_of_short_paths : tcp_acks_a_look)) return;
  const std::uint64_t packets_permille = std::uint64_t{bytes_} * 1000 / std::max(segment_bytes, 1U);
  const std::uint64_t took_us = std::max(us_, 1U);
  tcp_acks_ = 0;
  bytes_ = us_ = 0;

  const pipeline_window window = pipeline_window_of(path);
  const std::uint64_t hops = path.forward_hops;
  const std::uint64_t idle_us = packet_alone_us(std::min<std::uint64_t>(hops, reuse_distance_hops) * idle.data_us,
                                                hops * (std::uint64_t{idle.data_us} + idle.tcp_ack_us), window);
  const std::uint64_t delay_us =
      packet_alone_us(pacing_path::data_period_us(path), std::uint64_t{path.forward_total_us} + path.return_total_us, window);
  const std::uint64_t by_idle_permille = packets_permille * idle_us / took_us;
  const std::uint64_t by_delay_permille = packets_permille * delay_us / took_us;
  const share_bounds bounds = bounds_of(path.forward_hops);
  if (shared_) {
    shared_ = by_idle_permille <= bounds.alone_again_by_idle_permille;
  } else {
    shared_ = by_delay_permille < bounds.least_by_delay_permille && by_idle_permille < bounds.least_by_idle_permille;
  }
}

}  // namespace perhop::policy
