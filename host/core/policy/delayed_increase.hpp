// SPDX-License-Identifier: GPL-2.0-or-later
//
// Delayed increase, immediate decrease (DIID): an application follows a falling rate at once, and a rising one only when it
// has stayed up for a while. It sees far fewer changes, and is never above the signal.
//
//   signal < allowed                                      allowed = signal
//   else, if the smallest signal of the last T > allowed  allowed = that smallest signal
//
// Source: K. Chen, K. Nahrstedt, "Limitations of equation-based congestion control in mobile ad hoc networks", section VI.C;
// T = 5 s in their test-bed. The paper does not say which rate is taken on an increase. Ours is the smallest of the window,
// the largest rate that was allowed all that time; the variant takes the current signal. A signal counts from its arrival
// until the next one, so the one that was in force when the window began belongs to it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perhop::policy {

enum class delayed_increase_rule : std::uint8_t {
  window_minimum,  ///< raise to the smallest signal of the window
  current          ///< raise to the signal of the moment
};

struct delayed_increase_config {
  std::uint64_t window_us = 5'000'000;
  delayed_increase_rule rule = delayed_increase_rule::window_minimum;
  std::size_t max_signals = 4096;  ///< remembered; with more in a window the oldest are joined, which only delays an increase
};

class delayed_increase {
public:
  explicit delayed_increase(const delayed_increase_config& config = {});

  /// A rate signal arrived. @return the rate allowed now. O(1) on average
  std::uint64_t on_signal(std::uint64_t now_us, std::uint64_t signal_bps);

  /// The rate allowed now: time alone can raise it.
  std::uint64_t allowed_bps(std::uint64_t now_us);

  std::uint64_t changes() const { return changes_; }

private:
  // Signals that can still be the smallest of a window, rising in time and in rate: a ring.
  struct signal {
    std::uint64_t until_us;  // the largest time while no signal has followed
    std::uint64_t rate_bps;
  };
  signal& at(std::size_t place) { return ring_[(first_ + place) % ring_.size()]; }
  void settle(std::uint64_t now_us);

  delayed_increase_config config_;
  std::vector<signal> ring_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::uint64_t started_us_ = 0;
  std::uint64_t current_bps_ = 0;
  std::uint64_t allowed_bps_ = 0;
  std::uint64_t changes_ = 0;
  bool started_ = false;
};

}  // namespace perhop::policy
