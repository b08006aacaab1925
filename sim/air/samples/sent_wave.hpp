// SPDX-License-Identifier: GPL-2.0-or-later
/// The newest samples that a transmitter has sent, by their number.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "sim/air/samples/interpolator.hpp"

namespace perhop::air::samples {

class sent_wave {
public:
  /// Samples that are kept: what arrives later than that has been forgotten.
  static constexpr std::size_t capacity = std::size_t{1} << 15;
  /// The largest delay that a reader may have.
  static constexpr double longest_delay_samples = capacity - 2 * interpolator::taps;

  sent_wave() : ring_(capacity) {}

  void push(std::complex<float> sample) {
    ring_[count_ % capacity] = sample;
    ++count_;
    if (sample != std::complex<float>()) heard_until_ = count_;
  }

  /// Number of the sample to come.
  std::uint64_t count() const { return count_; }

  /// Whether the wave is other than 0 around that place.
  bool sounds_at(double place) const { return place < static_cast<double>(heard_until_ + interpolator::half_samples); }

  /// The wave at a place between samples. Before the first one it is 0. Requires place + half_samples < count().
  std::complex<double> at(double place, const interpolator& between) const {
    const double whole = std::floor(place);
    const auto first = static_cast<std::int64_t>(whole) - interpolator::half_samples + 1;
    if (first < 0) return 0;
    const interpolator::weights weights = between.at(place - whole);
    double in_phase = 0, quadrature = 0;
    for (std::size_t tap = 0; tap < weights.size(); ++tap) {
      const std::complex<float> sample = ring_[(static_cast<std::size_t>(first) + tap) % capacity];
      in_phase += weights[tap] * static_cast<double>(sample.real());
      quadrature += weights[tap] * static_cast<double>(sample.imag());
    }
    return {in_phase, quadrature};
  }

private:
  std::vector<std::complex<float>> ring_;
  std::uint64_t count_ = 0;
  std::uint64_t heard_until_ = 0;  // one more than the number of the last sample that is not 0
};

}  // namespace perhop::air::samples
