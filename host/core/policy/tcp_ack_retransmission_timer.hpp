// SPDX-License-Identifier: GPL-2.0-or-later
//
// Repeats a TCP ACK that may have been lost: with few TCP ACKs each one counts. Started when a TCP ACK is sent,
// cancelled when data arrives.
//
// Source: paper named in tcp_ack_window_table.hpp, section IV-D; the timeout is that of smoothed_round_trip.hpp.
// Ours adds what the paper leaves open: a TCP ACK is repeated at most 5 times, each time after twice the time before
// (1, 2, 4, 8, 16 s), because nobody tells the receiver that the transfer is over.

#pragma once

#include <cstdint>
#include <optional>

#include "host/core/policy/smoothed_round_trip.hpp"
#include "host/core/policy/time.hpp"

namespace perhop::policy {

class tcp_ack_retransmission_timer {
public:
  static constexpr std::uint32_t max_repeats = 5;

  explicit tcp_ack_retransmission_timer(deviation_order order = deviation_order::updated_first) : round_trip_(order) {}

  void on_rtt(std::uint32_t rtt_us) { round_trip_.on_sample(rtt_us); }

  void on_tcp_ack_sent(time_us now) {
    repeats_ = 0;
    deadline_ = now + round_trip_.timeout_us();
  }

  void on_data() { deadline_.reset(); }

  std::optional<time_us> deadline() const { return deadline_; }

  /// The deadline has come and the TCP ACK is repeated.
  void on_repeated(time_us now) {
    ++repeats_;
    if (repeats_ < max_repeats) {
      deadline_ = now + (round_trip_.timeout_us() << repeats_);
    } else {
      deadline_.reset();
    }
  }

  const smoothed_round_trip& round_trip() const { return round_trip_; }

private:
  smoothed_round_trip round_trip_;
  std::uint32_t repeats_ = 0;
  std::optional<time_us> deadline_;
};

}  // namespace perhop::policy
