// SPDX-License-Identifier: GPL-2.0-or-later
/// A wave between its samples: windowed sinc over 16 of them, as in host/python/perhop/phy/channel.py.
///
/// The kernel stands in a table of phases; between two of them it is a straight line (error below -90 dB).
#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace perhop::air::samples {

class interpolator {
public:
  /// Samples before and after the place in question that are used.
  static constexpr int half_samples = 8;
  static constexpr int taps = 2 * half_samples;

  /// Weights of the samples at -half_samples + 1, ..., half_samples from the one before the place.
  using weights = std::array<double, taps>;

  interpolator() : table_(phases + 1) {
    for (int phase = 0; phase <= phases; ++phase) {
      for (int tap = 0; tap < taps; ++tap) {
        table_[static_cast<std::size_t>(phase)][static_cast<std::size_t>(tap)] =
            kernel(static_cast<double>(phase) / phases - (tap - half_samples + 1));
      }
    }
  }

  /// @param fraction of a sample, in [0, 1)
  weights at(double fraction) const {
    const double place = fraction * phases;
    const auto phase = static_cast<std::size_t>(place);
    const double share = place - static_cast<double>(phase);
    const weights &before = table_[phase], &after = table_[phase + 1];
    weights result;
    for (std::size_t tap = 0; tap < taps; ++tap) result[tap] = before[tap] + share * (after[tap] - before[tap]);
    return result;
  }

private:
  static constexpr int phases = 512;

  static double kernel(double samples) {
    if (std::abs(samples) >= half_samples) return 0;
    const double angle = std::numbers::pi * samples;
    const double sinc = samples == 0 ? 1 : std::sin(angle) / angle;
    const double window = std::cos(angle / (2 * half_samples));
    return sinc * window * window;
  }

  std::vector<weights> table_;
};

}  // namespace perhop::air::samples
