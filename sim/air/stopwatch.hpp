// SPDX-License-Identifier: GPL-2.0-or-later
/// Cheap interval timing for the shares of CPU time: the processor's time stamp counter where there is one.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace perhop::air {

inline std::uint64_t stopwatch_now() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Turns differences of stopwatch_now() into seconds, by comparison with the steady clock since construction.
class stopwatch_scale {
public:
  double seconds(std::uint64_t counts) const {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - steady_start_;
    const std::uint64_t elapsed_counts = stopwatch_now() - start_;
    return elapsed_counts == 0 ? 0 : elapsed.count() * static_cast<double>(counts) / static_cast<double>(elapsed_counts);
  }

private:
  std::chrono::steady_clock::time_point steady_start_ = std::chrono::steady_clock::now();
  std::uint64_t start_ = stopwatch_now();
};

}  // namespace perhop::air
