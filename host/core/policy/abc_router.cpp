// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/policy/abc_router.hpp"

#include <algorithm>

namespace perhop::policy {

/// Begins a new part of the window, or several, and forgets those that are older than it.
void abc_router::advance(time_us now) {
  const std::uint64_t current = now / slot_us;
  if (!begun_) {
    begun_ = true;
    first_ = newest_ = current;
  }
  for (std::uint64_t passed = std::min<std::uint64_t>(current - newest_, slots); passed != 0; --passed) {
    served_[(current - passed + 1) % slots] = {};
  }
  newest_ = current;
}

void abc_router::on_served(time_us now, std::uint32_t service_us) {
  advance(now);
  window_part& current = served_[newest_ % slots];
  current.busy_us += service_us;
  ++current.packets;
}

std::uint32_t abc_router::accelerated_share(time_us now, const abc_queue& queue) {
  advance(now);
  std::uint64_t busy_us = 0;
  std::uint64_t packets = 0;
  for (const window_part& part : served_) {
    busy_us += part.busy_us;
    packets += part.packets;
  }
  const std::uint64_t service_us = packets != 0 ? busy_us / packets : queue.expected_service_us;
  const std::uint64_t waits_us = queue.before_it * service_us;
  const std::uint64_t beyond_us = std::max<std::uint64_t>(waits_us, queue.target_us) - queue.target_us;
  // tr/mu
  const std::uint64_t eta = eta_permille * one_share / 1000;
  const std::uint64_t drained = std::min(beyond_us, drain_us) * one_share / drain_us;
  const std::uint64_t target = std::max(eta, drained) - drained;
  // cr/mu = busy / window. What took longer than the window has kept the MAC busy for all of it.
  const std::uint64_t oldest = std::max(first_, newest_ + 1 - std::min<std::uint64_t>(newest_ + 1, slots));
  const std::uint64_t window_us = std::max<std::uint64_t>(now - oldest * slot_us, 1);
  busy_us = std::min(busy_us, window_us);
  if (busy_us == 0) return target != 0 ? one_share : 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(target * window_us / (2 * busy_us), one_share));
}

void abc_router::add_token(time_us now, const abc_queue& queue) {
  token_ = std::min(token_ + accelerated_share(now, queue), token_limit_packets * one_share);
}

bool abc_router::accelerates(time_us now, const abc_queue& queue) {
  add_token(now, queue);
  if (token_ < one_share) return false;
  token_ -= one_share;
  return true;
}

}  // namespace perhop::policy
