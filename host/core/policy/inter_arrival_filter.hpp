// SPDX-License-Identifier: GPL-2.0-or-later
//
// Smoothed time between data packets that arrive: eq. (1),
//
//   I_avg <- beta * I_avg + (1 - beta) * I_s,   beta = 0.8,
//
// I_s being the time between any two consecutive arrivals, in order or not: inflated on purpose.
//
// Source: paper named in tcp_ack_window_table.hpp, section III-A. Ours adds that the first sample starts the average.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "host/core/policy/time.hpp"

namespace perhop::policy {

class inter_arrival_filter {
public:
  void on_arrival(time_us now) {
    if (arrived_) on_sample(static_cast<std::uint32_t>(std::min<time_us>(now - last_arrival_, UINT32_MAX)));
    arrived_ = true;
    last_arrival_ = now;
  }

  /// The next arrival is not one to measure from this one.
  void on_break() { arrived_ = false; }

  void on_sample(std::uint32_t interval_us) {
    const std::uint64_t sample_us256 = std::uint64_t{interval_us} << 8;
    average_us256_ = measured_ ? (4 * average_us256_ + sample_us256 + 2) / 5 : sample_us256;
    measured_ = true;
  }

  /// Unit 1/256 us, so that whole numbers lose nothing that matters; nothing before the second arrival.
  std::optional<std::uint64_t> average_us256() const { return measured_ ? std::optional(average_us256_) : std::nullopt; }

private:
  bool arrived_ = false;
  bool measured_ = false;
  time_us last_arrival_ = 0;
  std::uint64_t average_us256_ = 0;
};

}  // namespace perhop::policy
