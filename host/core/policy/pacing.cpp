// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/pacing.hpp"

#include <algorithm>

#include "host/core/policy/with_policy.hpp"

namespace perhop::policy {

pacer::pacer(const pacing_config& config, own_policy* own) : interval_percent_(config.interval_percent) {
  switch (config.kind) {
    case pacing_kind::none:
    case pacing_kind::exact:
      break;
    case pacing_kind::window:
      policy_.emplace<pacing_window>();
      break;
    case pacing_kind::adaptive:
      policy_ = std::make_unique<tcp_adaptive_pacing>(config.adaptive);
      break;
    case pacing_kind::path:
      policy_.emplace<pacing_path>();
      break;
    case pacing_kind::own:
      policy_.emplace<pacing_own>(own);
      break;
  }
}

void pacer::on_path(const path_measurement& path, std::uint32_t packets_per_tcp_ack) {
  with_policy(policy_, [&](auto& policy) { policy.on_path(path, packets_per_tcp_ack); });
}

void pacer::on_rtt(std::uint32_t rtt_us) {
  with_policy(policy_, [&](auto& policy) { policy.on_rtt(rtt_us); });
}

void pacer::on_window(std::uint32_t packets) {
  with_policy(policy_, [&](auto& policy) { policy.on_window(packets); });
}

time_us pacer::interval_us() const {
  std::uint64_t interval_us = 0;
  with_policy(policy_, [&interval_us](const auto& policy) { interval_us = policy.interval_us(); });
  return std::min(std::min(interval_us, max_interval_us) * interval_percent_ / 100, max_interval_us);
}

time_us pacer::release_time(time_us now, std::uint32_t bytes) {
  if (!paces()) return now;
  const time_us release = earliest(now);
  longest_bytes_ = std::max(longest_bytes_, bytes);
  if (auto* own = std::get_if<pacing_own>(&policy_)) own->on_release(now, bytes);
  time_us taken_us = interval_us();
  // A window is one of bytes; the other policies count packets, whose cost is mostly that of a packet of any size.
  if (std::holds_alternative<pacing_window>(policy_)) taken_us = taken_us * bytes / longest_bytes_;
  next_release_ = release + taken_us;
  return release;
}

}  // namespace perhop::policy
