// SPDX-License-Identifier: GPL-2.0-or-later
/// Random delays of a routing protocol.
#pragma once

#include <cstdint>

#include "host/core/policy/time.hpp"

namespace perhop::routing {

/// SplitMix64 (Steele, Lea, Flood 2014).
class random_delay {
public:
  explicit random_delay(std::uint64_t seed) : state_(seed) {}

  /// @return at least 0, below `below`; 0 for 0
  policy::time_us draw(policy::time_us below) {
    state_ += 0x9e37'79b9'7f4a'7c15U;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xbf58'476d'1ce4'e5b9U;
    bits = (bits ^ (bits >> 27)) * 0x94d0'49bb'1331'11ebU;
    bits ^= bits >> 31;
    return below == 0 ? 0 : bits % below;
  }

private:
  std::uint64_t state_;
};

}  // namespace perhop::routing
