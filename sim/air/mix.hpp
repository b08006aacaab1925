// SPDX-License-Identifier: GPL-2.0-or-later
/// Counter-based random bits: a pure function of its arguments, so a draw does not depend on how many came before it.
#pragma once

#include <cstdint>

namespace perhop::air {

/// The finaliser of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
constexpr std::uint64_t splitmix64(std::uint64_t state) {
  std::uint64_t mixed = state + 0x9e37'79b9'7f4a'7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58'476d'1ce4'e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d0'49bb'1331'11eb;
  return mixed ^ (mixed >> 31);
}

/// 64 random bits for the pair (first, second) under a seed.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t first, std::uint64_t second) {
  return splitmix64(splitmix64(splitmix64(seed) ^ first) ^ second);
}

}  // namespace perhop::air
