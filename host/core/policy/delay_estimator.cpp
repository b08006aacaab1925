// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/delay_estimator.hpp"

#include <algorithm>
#include <cassert>

namespace perhop::policy {

delay_estimator::delay_estimator(const timing_profile& profile, std::uint32_t rts_threshold_bytes)
    : profile_(&profile), rts_threshold_bytes_(rts_threshold_bytes) {}

bool delay_estimator::on_completion(const neighbour_averages& averages) {
  if (averages.peer >= neighbours_.size()) return false;
  neighbours_[averages.peer] = {
      .fixed_us16 = std::uint64_t{averages.avg_contention_us16} + averages.avg_overhead_us16,
      .data_attempts_256 = averages.avg_data_attempts_256,
      .measured = true,
  };
  return true;
}

void delay_estimator::forget(std::uint8_t peer) {
  if (peer < neighbours_.size()) neighbours_[peer] = {};
}

std::uint32_t delay_estimator::delay_us(std::uint8_t peer, std::uint32_t mpdu_bytes, std::uint8_t rate_index) const {
  if (peer >= neighbours_.size() || !neighbours_[peer].measured) return uncontended_delay_us(mpdu_bytes, rate_index);
  const neighbour& n = neighbours_[peer];
  // Both parts in 1/256 us, so that rounding (half up) happens once.
  constexpr std::uint64_t fixed_scale = neighbour_attempt_steps / neighbour_average_steps_per_us;
  const std::uint64_t delay_us256 =
      n.fixed_us16 * fixed_scale + std::uint64_t{n.data_attempts_256} * airtime_us(*profile_, rate_index, mpdu_bytes);
  const std::uint64_t delay_us = (delay_us256 + neighbour_attempt_steps / 2) / neighbour_attempt_steps;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(delay_us, UINT32_MAX));
}

std::uint32_t delay_estimator::uncontended_delay_us(std::uint32_t mpdu_bytes, std::uint8_t rate_index) const {
  assert(rate_index < profile_->rates.size());
  const timing_profile& p = *profile_;
  // CWmin is odd: half a slot is kept until the end.
  std::uint32_t delay_us = p.difs_us + p.cw_min * p.slot_us / 2;
  if (mpdu_bytes > rts_threshold_bytes_) {
    const unsigned cts_rate_index = p.rates[p.control_rate_index].control_rate_index;
    delay_us += airtime_us(p, p.control_rate_index, rts_bytes) + p.sifs_us;
    delay_us += airtime_us(p, cts_rate_index, cts_bytes) + p.sifs_us;
  }
  delay_us += airtime_us(p, rate_index, mpdu_bytes) + p.sifs_us;
  delay_us += airtime_us(p, p.rates[rate_index].control_rate_index, mac_ack_bytes);
  return delay_us;
}

std::uint32_t delay_estimator::broadcast_delay_us(std::uint32_t mpdu_bytes) const {
  const timing_profile& p = *profile_;
  return p.difs_us + p.cw_min * p.slot_us / 2 + airtime_us(p, p.lowest_basic_rate_index, mpdu_bytes);
}

}  // namespace perhop::policy
