// SPDX-License-Identifier: GPL-2.0-or-later
/// Where the CPU time of the air goes, from a sample: one step in so many is timed with the processor's time stamp counter.
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

class sampled_times {
public:
  /// @param longest_counts of stopwatch_now(); a step that takes longer does not count: the processor did something else meanwhile
  explicit sampled_times(std::uint64_t longest_counts) : longest_counts_(longest_counts) {}

  /// A step begins. Only if it is a sampled one are its laps taken.
  void begin() {
    sampling_ = ++steps_ % steps_per_sample == 0;
    if (!sampling_) return;
    rtl_ = listener_ = 0;
    start_ = stopwatch_now();
  }
  bool sampling() const { return sampling_; }
  void add_rtl(std::uint64_t counts) { rtl_ += counts; }
  void add_listener(std::uint64_t counts) { listener_ += counts; }
  std::uint64_t listener() const { return listener_; }
  void end() {
    if (!sampling_) return;
    sampling_ = false;
    const std::uint64_t all = stopwatch_now() - start_;
    if (all > longest_counts_) return;
    ++samples_;
    rtl_sum_ += rtl_;
    medium_sum_ += all > rtl_ + listener_ ? all - rtl_ - listener_ : 0;
  }

  double rtl_s() const { return seconds(rtl_sum_); }
  /// In steps, outside MAC cores and listener.
  double medium_s() const { return seconds(medium_sum_); }

private:
  static constexpr std::uint64_t steps_per_sample = 64;

  double seconds(std::uint64_t counts) const {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - steady_start_;
    const std::uint64_t elapsed_counts = stopwatch_now() - counts_start_;
    if (samples_ == 0 || elapsed_counts == 0) return 0;
    const double all_counts = static_cast<double>(counts) * static_cast<double>(steps_) / static_cast<double>(samples_);
    return all_counts * elapsed.count() / static_cast<double>(elapsed_counts);
  }

  std::chrono::steady_clock::time_point steady_start_ = std::chrono::steady_clock::now();
  std::uint64_t counts_start_ = stopwatch_now();
  std::uint64_t longest_counts_;
  bool sampling_ = false;
  std::uint64_t start_ = 0;
  std::uint64_t rtl_ = 0;
  std::uint64_t listener_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t rtl_sum_ = 0;
  std::uint64_t medium_sum_ = 0;
};

/// As long as it lives, time goes to MAC cores, but for the listener's.
class rtl_lap {
public:
  explicit rtl_lap(sampled_times& times) : times_(times) {
    if (!times_.sampling()) return;
    listener_before_ = times_.listener();
    start_ = stopwatch_now();
  }
  ~rtl_lap() {
    if (times_.sampling()) times_.add_rtl(stopwatch_now() - start_ - (times_.listener() - listener_before_));
  }
  rtl_lap(const rtl_lap&) = delete;
  rtl_lap& operator=(const rtl_lap&) = delete;

private:
  sampled_times& times_;
  std::uint64_t listener_before_ = 0;
  std::uint64_t start_ = 0;
};

}  // namespace perhop::air
