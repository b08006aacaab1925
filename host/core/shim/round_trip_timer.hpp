// SPDX-License-Identifier: GPL-2.0-or-later
//
// The round trip of a connection as its data and the TCP ACKs for it tell, one packet timed at a time, so that no queue of samples is
// needed; and its least value of the last 10 to 20 s. A packet sent again is not timed (P. Karn, C. Partridge, "Improving round-trip time
// estimates in reliable transport protocols", 1987).

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
      timed_since_ = now;
    }
  }

  /// @return a round trip, when this TCP ACK answers the packet that is timed
  std::optional<std::uint32_t> on_tcp_ack(time_us now, std::uint32_t tcp_ack) {
    if (!timing_ || !policy::not_after(timed_end_sequence_, tcp_ack)) return std::nullopt;
    timing_ = false;
    if (now - window_start_ >= window_us) {
      previous_least_us_ = window_least_us_;
      window_least_us_ = UINT32_MAX;
      window_start_ = now;
    }
    const auto sample_us = static_cast<std::uint32_t>(std::min<time_us>(now - timed_since_, UINT32_MAX - 1));
    window_least_us_ = std::min(window_least_us_, sample_us);
    return sample_us;
  }

  /// The smallest round trip has no queueing in it; 0 when unknown.
  std::uint32_t least_us() const {
    const std::uint32_t round_trip_us = std::min(window_least_us_, previous_least_us_);
    return round_trip_us == UINT32_MAX ? 0 : round_trip_us;
  }

  /// What of it is not wireless.
  std::uint32_t least_beside_us(std::uint64_t wireless_us) const {
    return least_us() <= wireless_us ? 0 : static_cast<std::uint32_t>(least_us() - wireless_us);
  }

private:
  static constexpr time_us window_us = 10'000'000;

  bool timing_ = false;
  std::uint32_t timed_end_sequence_ = 0;
  time_us timed_since_ = 0;
  bool sent_any_ = false;
  std::uint32_t highest_end_sequence_ = 0;
  time_us window_start_ = 0;
  std::uint32_t window_least_us_ = UINT32_MAX;    // of the window that runs now
  std::uint32_t previous_least_us_ = UINT32_MAX;  // of the window before
};

}  // namespace perhop::shim
