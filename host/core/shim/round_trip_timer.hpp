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

/// The least value of the last 10 to 20 s.
class recent_least {
public:
  void take(time_us now, std::uint32_t value) {
    if (now - window_start_ >= window_us) {
      previous_ = window_;
      window_ = UINT32_MAX;
      window_start_ = now;
    }
    window_ = std::min(window_, value);
  }

  /// Nothing when there was none.
  std::optional<std::uint32_t> value() const {
    const std::uint32_t least = std::min(window_, previous_);
    return least == UINT32_MAX ? std::nullopt : std::optional(least);
  }

private:
  static constexpr time_us window_us = 10'000'000;

  time_us window_start_ = 0;
  std::uint32_t window_ = UINT32_MAX;    // of the window that runs now
  std::uint32_t previous_ = UINT32_MAX;  // of the window before
};

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
    const auto sample_us = static_cast<std::uint32_t>(std::min<time_us>(now - timed_since_, UINT32_MAX - 1));
    round_trip_us_.take(now, sample_us);
    return sample_us;
  }

  /// A path with a wired part. @param wireless_us mean delays both ways, as told by the TCP ACK that gave this round trip
  void on_wireless(time_us now, std::uint32_t round_trip_us, std::uint64_t wireless_us) {
    with_wire_us_.take(now, round_trip_us);
    wireless_us_.take(now, static_cast<std::uint32_t>(std::min<std::uint64_t>(wireless_us, UINT32_MAX - 1)));
  }

  /// The smallest round trip has no queueing in it; 0 when unknown.
  std::uint32_t least_us() const { return round_trip_us_.value().value_or(0); }

  /// What of it is a wire's; 0 when unknown.
  std::uint32_t wired_us() const {
    const std::uint32_t round_trip_us = with_wire_us_.value().value_or(0);
    return round_trip_us - std::min(round_trip_us, wireless_us_.value().value_or(0));
  }

private:
  bool timing_ = false;
  std::uint32_t timed_end_sequence_ = 0;
  time_us timed_since_ = 0;
  bool sent_any_ = false;
  std::uint32_t highest_end_sequence_ = 0;
  recent_least round_trip_us_;
  recent_least with_wire_us_;  // those with wireless delays
  recent_least wireless_us_;
};

}  // namespace perhop::shim
