// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/delayed_increase.hpp"

#include <algorithm>

namespace perhop::policy {

delayed_increase::delayed_increase(const delayed_increase_config& config)
    : config_(config), ring_(std::max<std::size_t>(config.max_signals, 2)) {}

std::uint64_t delayed_increase::on_signal(std::uint64_t now_us, std::uint64_t signal_bps) {
  if (!started_) {
    started_ = true;
    started_us_ = now_us;
    allowed_bps_ = signal_bps;
  }
  settle(now_us);
  current_bps_ = signal_bps;
  // Larger signals before this one can no longer be a window's smallest from now on. Its own time starts now.
  while (count_ > 0 && at(count_ - 1).rate_bps >= signal_bps) --count_;
  if (count_ == ring_.size()) {
    // Joined with the next: the smaller rate holds for the time of both.
    at(1).rate_bps = at(0).rate_bps;
    first_ = (first_ + 1) % ring_.size();
    --count_;
  }
  at(count_) = {.until_us = UINT64_MAX, .rate_bps = signal_bps};
  if (count_ > 0 && at(count_ - 1).until_us == UINT64_MAX) at(count_ - 1).until_us = now_us;
  ++count_;
  settle(now_us);
  return allowed_bps_;
}

std::uint64_t delayed_increase::allowed_bps(std::uint64_t now_us) {
  settle(now_us);
  return allowed_bps_;
}

void delayed_increase::settle(std::uint64_t now_us) {
  if (!started_ || count_ == 0) return;
  // What ended before the window began is no part of it.
  while (count_ > 1 && at(0).until_us + config_.window_us <= now_us) {
    first_ = (first_ + 1) % ring_.size();
    --count_;
  }
  const std::uint64_t before = allowed_bps_;
  if (current_bps_ < allowed_bps_) {
    allowed_bps_ = current_bps_;
  } else if (now_us - started_us_ >= config_.window_us) {
    const std::uint64_t smallest = at(0).rate_bps;
    if (smallest > allowed_bps_) allowed_bps_ = config_.rule == delayed_increase_rule::current ? current_bps_ : smallest;
  }
  if (allowed_bps_ != before) ++changes_;
}

}  // namespace perhop::policy
