// SPDX-License-Identifier: GPL-2.0-or-later
//
// The round trip of a connection as its data and the TCP ACKs for it tell, one packet timed at a time, so that no queue of samples is
// needed; and its least value of the last 10 to 20 s. A packet sent again is not timed (P. Karn, C. Partridge, "Improving round-trip time
// estimates in reliable transport protocols", 1987).
//
// What of the round trip is a wire's: the least round trip less the least wireless delays that were told with a timed one, both of the
// same 10 to 20 s. The path headers tell mean delays, which rise with contention, while the least round trip is one that met little of
// it: less the delays of the present, it would hide a wire that is shorter than the contention.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "host/core/policy/time.hpp"

namespace perhop::shim {

using policy::time_us;

class round_trip_timer {
public:
  void on_sent(time_us now, std::uint32_t sequence, std::uint32_t payload_bytes) {
    if (payload_bytes == 0) return;
    const std::uint32_t end = sequence + payload_bytes;
    if (sent_any_ && policy::not_after(end, highest_end_sequence_)) {
      timing_ = false;  // sent again: an answer could belong to either
      return;
    }
    sent_any_ = true;
    highest_end_sequence_ = end;
    if (!timing_) {
      timing_ = true;
      timed_end_sequence_ = end;
      timed_since_us_ = static_cast<std::uint32_t>(now);
    }
  }

  /// @return a round trip, when this TCP ACK answers the packet that is timed
  std::optional<std::uint32_t> on_tcp_ack(time_us now, std::uint32_t tcp_ack) {
    if (!timing_ || !policy::not_after(timed_end_sequence_, tcp_ack)) return std::nullopt;
    timing_ = false;
    if (now - window_start_ >= window_us) {
      previous_ = window_;
      window_ = {};
      window_start_ = now;
    }
    const std::uint32_t sample_us = std::min(static_cast<std::uint32_t>(now) - timed_since_us_, UINT32_MAX - 1);
    window_.round_trip_us = std::min(window_.round_trip_us, sample_us);
    last_us_ = sample_us;
    return sample_us;
  }

  /// The path has a wired part. @param wireless_us mean delays both ways, as told by the TCP ACK that gave the last round trip
  void on_wireless(std::uint64_t wireless_us) {
    window_.wireless_us = static_cast<std::uint32_t>(std::min<std::uint64_t>(wireless_us, window_.wireless_us));
  }

  /// As told last; 0 when unknown.
  std::uint32_t last_us() const { return last_us_; }

  /// The smallest round trip has no queueing in it; 0 when unknown.
  std::uint32_t least_us() const { return known(std::min(window_.round_trip_us, previous_.round_trip_us)); }

  /// What of it is a wire's; 0 when unknown.
  std::uint32_t wired_us() const {
    const std::uint32_t wireless_us = std::min(window_.wireless_us, previous_.wireless_us);
    return least_us() - std::min(least_us(), wireless_us);
  }

private:
  static constexpr time_us window_us = 10'000'000;

  /// The least values of a window.
  struct least_values {
    std::uint32_t round_trip_us = UINT32_MAX;
    std::uint32_t wireless_us = UINT32_MAX;
  };

  static std::uint32_t known(std::uint32_t least) { return least == UINT32_MAX ? 0 : least; }

  bool timing_ = false;
  bool sent_any_ = false;
  std::uint32_t timed_end_sequence_ = 0;
  std::uint32_t highest_end_sequence_ = 0;
  std::uint32_t timed_since_us_ = 0;  // its low bits: TCP sends again long before they come round
  std::uint32_t last_us_ = 0;
  least_values window_;  // that runs now
  least_values previous_;
  time_us window_start_ = 0;
};

}  // namespace perhop::shim
