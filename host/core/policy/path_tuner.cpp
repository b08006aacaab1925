// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/path_tuner.hpp"

#include <algorithm>

#include "host/core/policy/airtime_window.hpp"
#include "host/core/policy/pacing_path.hpp"

namespace perhop::policy {

namespace {

constexpr std::uint16_t burst_permille = 500, shared_burst_permille = 250;

/// A TCP ACK tells no more than this, so that sums fit: after a pause, or from a TCP with a window of megabytes.
constexpr time_us longest_us = 1'000'000;
constexpr std::uint32_t most_bytes = (1U << 20) - 1;

}  // namespace

void path_tuner::start(time_us now, std::uint32_t hops) {
  last_tcp_ack_ = now;
  hops_ = hops;
  share_ = {};
  trials_ = {};
}

void path_tuner::on_tcp_ack(time_us now, std::uint32_t bytes, std::uint32_t segment_bytes, const path_measurement& path) {
  if (path.forward_hops == 0) return;
  if (path.wired_round_trip_us != 0) {
    forget_path();
    return;
  }
  if (path.forward_hops != hops_) {
    start(now, path.forward_hops);
    return;
  }
  const delivered_data told{.bytes = std::min(bytes, most_bytes),
                            .us = static_cast<std::uint32_t>(std::min(now - last_tcp_ack_, longest_us))};
  last_tcp_ack_ = now;
  const bool was_shared = share_.shared();
  share_.on_delivery(told, segment_bytes, idle_, path);
  if (hops_ <= reuse_distance_hops) return;
  if (!share_.shared()) {
    trials_.on_delivery(told, path);
  } else if (!was_shared) {
    trials_.stop();
  }
}

path_tuning path_tuner::tuning() const {
  const bool shared = share_.shared();
  std::uint16_t pace_permille = trials_.permille();
  if (hops_ == reuse_distance_hops) pace_permille = shared ? shared_burst_permille : burst_permille;
  return {.pace_permille = pace_permille,
          .tcp_ack_packets = static_cast<std::uint8_t>(paced_window_packets(idle_.tcp_ack_us, idle_.data_us)),
          .shared = shared};
}

}  // namespace perhop::policy
