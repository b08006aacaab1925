// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/drivers/radio_time.hpp"

#include <cmath>

namespace perhop::drivers {

namespace {

constexpr std::uint64_t us_per_s = 1'000'000;
// The TSF is by four microseconds off a clock's at most (gateware/rtl/top/tick_generator.sv), at either look; oscillators of radios and
// FPGAs are within 50 ppm, of each other within 100.
constexpr double wander_us = 10, most_drift = 200e-6;
// What the ratio is taken over: with less the TSF's microseconds would be more of it than the oscillators.
constexpr double least_ratio_us = 2e6, most_ratio_us = 20e6;

std::int64_t difference(std::uint64_t later, std::uint64_t earlier) { return static_cast<std::int64_t>(later - earlier); }

}  // namespace

time_line::time_line(std::uint64_t ticks_per_s, const time_look& first)
    : ticks_per_s_(ticks_per_s), last_(first), from_(first), next_from_(first) {}

double time_line::look(const time_look& now) {
  const double by_radio_us = static_cast<double>(difference(now.ticks, last_.ticks)) * us_per_s / static_cast<double>(ticks_per_s_);
  const auto by_tsf_us = static_cast<double>(difference(now.tsf_us, last_.tsf_us));
  last_ = now;
  const double jump_us = by_radio_us - by_tsf_us;
  if (std::abs(jump_us) > wander_us + most_drift * std::abs(by_tsf_us)) {
    from_ = next_from_ = now;
    return jump_us / us_per_s;
  }
  if (static_cast<double>(difference(now.tsf_us, next_from_.tsf_us)) > most_ratio_us / 2) {
    from_ = next_from_;
    next_from_ = now;
  }
  return 0;
}

std::uint64_t time_line::device_us(std::uint64_t ticks) const {
  // In whole numbers: the ticks since 1970 are more than a double holds.
  const std::uint64_t seconds = ticks / ticks_per_s_, rest = ticks % ticks_per_s_;
  return seconds * us_per_s + (rest * us_per_s + ticks_per_s_ / 2) / ticks_per_s_;
}

/// Microseconds of the radio that pass with one of the TSF.
double time_line::ratio() const {
  const auto by_tsf_us = static_cast<double>(difference(last_.tsf_us, from_.tsf_us));
  if (by_tsf_us < least_ratio_us) return 1;
  return static_cast<double>(difference(last_.ticks, from_.ticks)) * us_per_s / static_cast<double>(ticks_per_s_) / by_tsf_us;
}

std::uint64_t time_line::device_us_of_tsf(std::uint64_t tsf_us) const {
  const auto since_us = static_cast<double>(difference(tsf_us, last_.tsf_us));
  return device_us(last_.ticks) + static_cast<std::uint64_t>(std::llround(since_us * ratio()));
}

std::uint32_t time_line::shift_of(std::uint32_t tsf_low_us) const {
  const auto since_us = static_cast<std::int32_t>(tsf_low_us - static_cast<std::uint32_t>(last_.tsf_us));
  const std::uint64_t tsf_us = last_.tsf_us + static_cast<std::uint64_t>(static_cast<std::int64_t>(since_us));
  return static_cast<std::uint32_t>(device_us_of_tsf(tsf_us) - tsf_us);
}

}  // namespace perhop::drivers
