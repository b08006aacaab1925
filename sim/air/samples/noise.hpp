// SPDX-License-Identifier: GPL-2.0-or-later
/// White Gaussian noise of a receiver, from a seed.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>

#include "sim/air/mix.hpp"

namespace perhop::air::samples {

class noise {
public:
  explicit noise(std::uint64_t seed) {
    for (std::uint64_t& word : state_) word = seed = splitmix64(seed);
  }

  /// In-phase and quadrature, each of mean 0 and variance 1: the polar method (G. Marsaglia, T. A. Bray, "A convenient
  /// method for generating normal variables", 1964).
  std::complex<double> next() {
    while (true) {
      const double x = uniform(), y = uniform();
      const double square = x * x + y * y;
      if (square >= 1 || square == 0) continue;
      const double scale = std::sqrt(-2 * std::log(square) / square);
      return {x * scale, y * scale};
    }
  }

private:
  /// xoshiro256+ (D. Blackman, S. Vigna, "Scrambled linear pseudorandom number generators", 2021), to [-1, 1).
  double uniform() {
    const auto rotated = [](std::uint64_t word, unsigned bits) { return word << bits | word >> (64 - bits); };
    const std::uint64_t sum = state_[0] + state_[3];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotated(state_[3], 45);
    return static_cast<double>(static_cast<std::int64_t>(sum) >> 11) * 0x1p-52;
  }

  std::uint64_t state_[4];
};

}  // namespace perhop::air::samples
