// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a TCP sender has in flight, and the window that it sends by, told from its segments and the TCP ACKs for them: for
// hosts that cannot ask their TCP.
//
//   in flight with a segment = its end - first byte not acknowledged, in largest segments
//   window                   = largest in flight of this round and the last
//
// A round ends when all that was sent by its beginning is acknowledged. A sender with enough to send fills its window (the
// smaller of congestion window and advertised one) in every round, so that its largest flight is its window; one with less
// to send has no window that matters. A segment sent again counts from the first byte not acknowledged as TCP itself does
// after a timeout: one packet. A window that falls is believed after the round in which it fell.
//
// Give it each segment as TCP makes it, before any pacing.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "host/core/policy/time.hpp"

namespace perhop::shim {

class sent_window {
public:
  /// The own SYN: the other end waits for what follows it.
  void on_syn(std::uint32_t sequence) {
    *this = sent_window{};
    first_unconfirmed_ = highest_end_ = round_end_ = sequence + 1;
    sent_any_ = confirmed_ = true;
  }

  void on_segment(std::uint32_t sequence, std::uint32_t payload_bytes) {
    if (payload_bytes == 0) return;
    const std::uint32_t end = sequence + payload_bytes;
    largest_bytes_ = std::max(largest_bytes_, payload_bytes);
    if (!sent_any_) {
      sent_any_ = true;
      highest_end_ = round_end_ = end;
    } else if (policy::not_after(highest_end_, end)) {
      highest_end_ = end;
    }
    this_round_packets_ = std::max(this_round_packets_, packets_to(end));
  }

  /// One that acknowledges more than was ever sent is not the other end's.
  /// @return bytes that this one is the first to acknowledge; 0 also where it is the first one seen
  std::uint32_t on_tcp_ack(std::uint32_t tcp_ack) {
    if (!sent_any_ || !policy::not_after(tcp_ack, highest_end_)) return 0;
    if (confirmed_ && policy::not_after(tcp_ack, first_unconfirmed_)) return 0;
    const std::uint32_t bytes = confirmed_ ? tcp_ack - first_unconfirmed_ : 0;
    confirmed_ = true;
    first_unconfirmed_ = tcp_ack;
    if (policy::not_after(round_end_, tcp_ack)) {
      last_round_packets_ = this_round_packets_;
      this_round_packets_ = 0;
      round_end_ = highest_end_;
    }
    return bytes;
  }

  /// In flight with this segment, it counted. 0: unknown, or no payload
  std::uint32_t packets_with(std::uint32_t sequence, std::uint32_t payload_bytes) const {
    return payload_bytes == 0 ? 0 : packets_to(sequence + payload_bytes);
  }

  /// What TCP sends by. 0: unknown
  std::uint32_t window_packets() const { return std::max(this_round_packets_, last_round_packets_); }

private:
  std::uint32_t packets_to(std::uint32_t end) const {
    if (!confirmed_ || policy::not_after(end, first_unconfirmed_)) return 0;
    return (end - first_unconfirmed_ + largest_bytes_ - 1) / largest_bytes_;
  }

  bool sent_any_ = false;
  bool confirmed_ = false;               // a TCP ACK of the other end, or the own SYN, told the first byte not acknowledged
  std::uint32_t first_unconfirmed_ = 0;  // sequence number that the other end waits for
  std::uint32_t highest_end_ = 0;
  std::uint32_t round_end_ = 0;
  std::uint32_t largest_bytes_ = 1;
  std::uint32_t this_round_packets_ = 0;
  std::uint32_t last_round_packets_ = 0;
};

}  // namespace perhop::shim
