// SPDX-License-Identifier: GPL-2.0-or-later
/// How time is told at fidelity samples.
#pragma once

#include <cmath>

#include "sim/air/types.hpp"

namespace perhop::air::samples {

/// Time since the begin of the run in samples of a clock that is right: no offset of any node's own clock is in it.
using sample_time = double;

/// 11 Mchip/s, two samples a chip: parameters of radio_top. Two clocks a sample are as few as it can do with.
inline constexpr unsigned samples_per_us = 22;
inline constexpr unsigned clocks_per_sample = 2;
inline constexpr unsigned clocks_per_us = samples_per_us * clocks_per_sample;
inline constexpr double sample_rate_hz = samples_per_us * 1e6;

constexpr double us_of(sample_time samples) { return samples / samples_per_us; }
constexpr sample_time samples_of_us(double us) { return us * samples_per_us; }
inline tick nearest_tick(sample_time samples) { return static_cast<tick>(std::llround(us_of(samples))); }

}  // namespace perhop::air::samples
