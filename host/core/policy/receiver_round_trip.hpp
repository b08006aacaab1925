// SPDX-License-Identifier: GPL-2.0-or-later
//
// Round trips as the receiver of data sees them: from a TCP ACK sent to the first data packet that the sender sent after
// it had that TCP ACK. One TCP ACK is timed at a time.
//
// Source: paper named in tcp_ack_window_table.hpp, section IV-D, which names TCP timestamps and two-way data. Ours:
//  - timestamps: the data packet echoes the timestamp of the TCP ACK that is timed (or a later one);
//  - without them: the path header tells how many packets the sender had in flight, this one included. That many full
//    segments before its end lies what was acknowledged when it was sent. Small segments make it look earlier, so that
//    a sample can only be too long. A TCP ACK that acknowledges no more than an earlier one is not timed then: packets
//    that were sent before it look like its answer;
//  - samples are too long where the sender had nothing to send at once. The paper accepts that; the smallest is right;
//  - two-way data are the shim's business, which times what this node itself sends.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "host/core/policy/time.hpp"

namespace perhop::policy {

class receiver_round_trip {
public:
  /// @param timestamp_value of the TCP ACK, when the connection uses timestamps
  void on_tcp_ack_sent(time_us now, std::uint32_t tcp_ack, std::optional<std::uint32_t> timestamp_value) {
    const bool acknowledges_more = !acknowledged_ || !not_after(tcp_ack, highest_tcp_ack_);
    if (acknowledges_more) highest_tcp_ack_ = tcp_ack;
    acknowledged_ = true;
    if (timing_ || (!acknowledges_more && !timestamp_value)) return;
    timing_ = true;
    sent_at_ = now;
    tcp_ack_ = tcp_ack;
    timestamp_value_ = timestamp_value;
  }

  /// The timed TCP ACK was sent once more: an answer could belong to either.
  void on_repeated() { timing_ = false; }

  /// @param packets_in_flight 0: unknown
  /// @return a sample, when this packet answers the TCP ACK that is timed
  std::optional<std::uint32_t> on_data(time_us now, std::uint32_t sequence, std::uint32_t payload_bytes, std::uint32_t packets_in_flight,
                                       std::optional<std::uint32_t> timestamp_echo) {
    largest_payload_bytes_ = std::max(largest_payload_bytes_, payload_bytes);
    if (!timing_) return std::nullopt;
    if (timestamp_value_ && timestamp_echo) {
      if (!not_after(*timestamp_value_, *timestamp_echo)) return std::nullopt;
    } else if (packets_in_flight == 0) {
      return std::nullopt;
    } else {
      const std::uint32_t end = sequence + payload_bytes;
      if (not_after(end, tcp_ack_)) return std::nullopt;
      const std::uint64_t in_flight_bytes = std::uint64_t{packets_in_flight} * largest_payload_bytes_;
      if (in_flight_bytes > end - tcp_ack_) return std::nullopt;
    }
    timing_ = false;
    // Never 0, which means unknown elsewhere.
    const auto sample_us = static_cast<std::uint32_t>(std::clamp<time_us>(now - sent_at_, 1, UINT32_MAX));
    min_us_ = min_us_ == 0 ? sample_us : std::min(min_us_, sample_us);
    return sample_us;
  }

  /// The smallest sample; 0 before the first.
  std::uint32_t min_us() const { return min_us_; }

private:
  bool timing_ = false;
  bool acknowledged_ = false;
  time_us sent_at_ = 0;
  std::uint32_t tcp_ack_ = 0;
  std::uint32_t highest_tcp_ack_ = 0;  // of those sent, once acknowledged_
  std::optional<std::uint32_t> timestamp_value_;
  std::uint32_t largest_payload_bytes_ = 0;
  std::uint32_t min_us_ = 0;
};

}  // namespace perhop::policy
