// SPDX-License-Identifier: GPL-2.0-or-later
/// Errors beside those that the reception rule finds: each reception of a DATA frame fails independently with one probability.
/// Whether it does is a function of (seed, transmission, receiver), whatever the order of evaluation.
#pragma once

#include <cmath>
#include <cstdint>

#include "sim/air/mix.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

class frame_errors {
public:
  /// @param frame_error_rate in [0, 1]
  frame_errors(std::uint64_t seed, double frame_error_rate)
      : seed_(splitmix64(seed ^ 0x66'7261'6d65'6572)),  // apart from the streams of the nodes
        always_(frame_error_rate >= 1),
        threshold_(always_ ? 0 : static_cast<std::uint64_t>(std::ldexp(frame_error_rate, 64))) {}

  bool lost(std::uint64_t transmission_id, node_id receiver) const {
    if (threshold_ == 0) return always_;
    return random_bits(seed_, transmission_id, receiver) < threshold_;
  }

private:
  std::uint64_t seed_;
  bool always_;
  std::uint64_t threshold_;
};

}  // namespace perhop::air
