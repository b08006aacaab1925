// SPDX-License-Identifier: GPL-2.0-or-later
//
// Smoothed round trip and its mean deviation, and the timeout made of them:
//
//   SRTT   <- 7/8 SRTT + 1/8 R
//   RTTvar <- 3/4 RTTvar + 1/4 |R - SRTT|
//   RTO     = SRTT + 4 RTTvar, at least 1 s
//
// Source: paper named in tcp_ack_window_table.hpp, section IV-D; V. Paxson, M. Allman, J. Chu, M. Sargent, RFC 6298.
//  - The paper prints "SRTO + 4 RTTvar"; SRTO is defined nowhere and read as SRTT.
//  - The paper's deviation is taken from the SRTT just updated, RFC 6298's from the one before: the paper's is 7/8 of it.
//  - The first sample R starts SRTT = R, RTTvar = R/2 (RFC 6298; the paper says nothing). Before it RTO is 1 s.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "host/core/policy/time.hpp"

namespace perhop::policy {

/// Which SRTT the deviation is taken from.
enum class deviation_order : std::uint8_t { updated_first, rfc_6298 };

class smoothed_round_trip {
public:
  static constexpr time_us min_timeout_us = 1'000'000;

  explicit smoothed_round_trip(deviation_order order = deviation_order::updated_first) : order_(order) {}

  void on_sample(std::uint32_t rtt_us) {
    const std::uint64_t sample_us256 = std::uint64_t{rtt_us} << 8;
    if (!measured_) {
      measured_ = true;
      srtt_us256_ = sample_us256;
      deviation_us256_ = sample_us256 / 2;
      return;
    }
    const std::uint64_t before_us256 = srtt_us256_;
    srtt_us256_ = (7 * srtt_us256_ + sample_us256 + 4) / 8;
    const std::uint64_t reference_us256 = order_ == deviation_order::rfc_6298 ? before_us256 : srtt_us256_;
    const std::uint64_t off_us256 = sample_us256 > reference_us256 ? sample_us256 - reference_us256 : reference_us256 - sample_us256;
    deviation_us256_ = (3 * deviation_us256_ + off_us256 + 2) / 4;
  }

  std::optional<time_us> srtt_us() const { return measured_ ? std::optional<time_us>((srtt_us256_ + 128) >> 8) : std::nullopt; }
  std::optional<time_us> deviation_us() const { return measured_ ? std::optional<time_us>((deviation_us256_ + 128) >> 8) : std::nullopt; }

  time_us timeout_us() const { return std::max<time_us>((srtt_us256_ + 4 * deviation_us256_ + 128) >> 8, min_timeout_us); }

private:
  deviation_order order_;
  bool measured_ = false;
  std::uint64_t srtt_us256_ = 0;  // unit 1/256 us
  std::uint64_t deviation_us256_ = 0;
};

}  // namespace perhop::policy
