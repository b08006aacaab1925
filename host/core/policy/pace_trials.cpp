// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/pace_trials.hpp"

#include <algorithm>

#include "host/core/policy/congestion_window_limit_pipeline.hpp"

namespace perhop::policy {

namespace {

constexpr std::uint8_t few_tcp_acks = 4, many_tcp_acks = 8;
constexpr std::uint32_t least_gain_permille = 25, least_gain_of_long_path_permille = 40;
constexpr std::uint32_t least_loss_permille = 10;
constexpr std::uint32_t hopeless_permille = 950, costly_permille = 970;
constexpr std::uint32_t pause_factor = 4;

bool is_long(const path_measurement& path) { return path.forward_hops >= two_packets_hops; }

std::uint32_t window_at(path_measurement path, std::uint16_t pace_permille) {
  path.tuning.pace_permille = pace_permille;
  const pipeline_window window = pipeline_window_of(path);
  return window.tcp_ack_packets + window.on_the_way_packets;
}

}  // namespace

std::uint16_t pace_trials::permille() const {
  return trial_ != trial::none && part_now() == trial_part::changed ? tried_permille() : permille_;
}

std::uint16_t pace_trials::tried_permille() const {
  if (trial_ == trial::faster) return static_cast<std::uint16_t>(permille_ * 9 / 10);
  return static_cast<std::uint16_t>(std::min(permille_ * 10 / 9 + 1, int{untried_permille}));
}

/// The change is made after the last TCP ACK of a part.
pace_trials::trial_part pace_trials::part_now() const {
  if (tcp_acks_ <= part_tcp_acks_) return trial_part::before;
  return tcp_acks_ <= 3 * part_tcp_acks_ + 1 ? trial_part::changed : trial_part::after;
}

void pace_trials::on_delivery(const delivered_data& told, const path_measurement& path) {
  if (trial_ == trial::none) {
    if (--rest_tcp_acks_ != 0) return;
    part_tcp_acks_ = is_long(path) ? many_tcp_acks : few_tcp_acks;
    begin(trial::faster);
    return;
  }
  const bool first = tcp_acks_ == 0 || tcp_acks_ == part_tcp_acks_ + 1 || tcp_acks_ == 3 * part_tcp_acks_ + 2;
  if (!first) {
    delivered_data& sum = part_now() == trial_part::changed ? with_ : without_;
    sum.bytes += told.bytes;
    sum.us += told.us;
  }
  ++tcp_acks_;
  const bool middle = tcp_acks_ == 2 * part_tcp_acks_ + 2;
  if (trial_ == trial::faster && middle && ratio_permille() < hopeless_permille) {
    leave_faster();
  } else if (tcp_acks_ == 4 * part_tcp_acks_ + 3) {
    finish(path);
  }
}

void pace_trials::stop() {
  if (trial_ != trial::none) rest();
  permille_ = untried_permille;
}

/// Bytes a second with the change, over those without. Sums hold less than 2^25 bytes and 2^25 us: path_tuner.hpp.
std::uint32_t pace_trials::ratio_permille() const {
  const std::uint64_t with = std::uint64_t{with_.bytes} * without_.us;
  const std::uint64_t without = std::uint64_t{without_.bytes} * with_.us;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(with * 1000 / std::max<std::uint64_t>(without, 1), UINT32_MAX));
}

/// The next trial that has something to try, from this one on.
void pace_trials::begin(trial next) {
  if (next == trial::faster && permille_ <= least_permille) next = trial::slower;
  if (next == trial::slower && permille_ >= untried_permille) {
    rest();
    return;
  }
  trial_ = next;
  tcp_acks_ = 0;
  with_ = without_ = {};
}

void pace_trials::leave_faster() {
  if (ratio_permille() < costly_permille) pause_tcp_acks_ = longest_pause_tcp_acks;
  begin(trial::slower);
}

void pace_trials::rest() {
  trial_ = trial::none;
  rest_tcp_acks_ = pause_tcp_acks_;
  pause_tcp_acks_ = static_cast<std::uint8_t>(std::min<std::uint32_t>(pause_factor * pause_tcp_acks_, longest_pause_tcp_acks));
}

void pace_trials::finish(const path_measurement& path) {
  const std::uint32_t before_packets = window_at(path, permille_), tried_packets = window_at(path, tried_permille());
  const std::uint32_t change_packets = std::max(before_packets, tried_packets) - std::min(before_packets, tried_packets);
  const std::uint32_t half_change_permille = 1000 * change_packets / before_packets / 2;
  const std::uint32_t ratio = ratio_permille();
  bool kept = false;
  if (trial_ == trial::faster) {
    kept = ratio >= 1000 + std::max(is_long(path) ? least_gain_of_long_path_permille : least_gain_permille, half_change_permille);
  } else {
    kept = ratio > 1000 - std::max(least_loss_permille, half_change_permille);
  }
  if (kept) {
    permille_ = tried_permille();
    pause_tcp_acks_ = first_pause_tcp_acks;
    begin(trial_);
  } else if (trial_ == trial::faster) {
    leave_faster();
  } else {
    rest();
  }
}

}  // namespace perhop::policy
