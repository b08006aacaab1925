// SPDX-License-Identifier: GPL-2.0-or-later
//
// Whether TCP data arrives in order, told from the segments' sequence numbers and from what the local TCP acknowledges.
// The local TCP is the authority: it may have dropped a segment that was seen here.

#pragma once

#include <cstdint>

#include "host/core/policy/time.hpp"

namespace perhop::policy {

enum class arrival_order : std::uint8_t {
  in_order,
  out_of_order,  ///< lies behind a gap
  fills_gap,     ///< fills a gap, or a part of one
  duplicate,     ///< brings again what was here already, wholly or in part
};

class tcp_data_order {
public:
  /// The connection opened: data starts after this sequence number.
  void on_syn(std::uint32_t sequence) { start(sequence + 1); }

  /// @param segment_bytes sequence space that the segment takes: payload, and 1 for a FIN
  arrival_order on_data(std::uint32_t sequence, std::uint32_t segment_bytes) {
    if (!started_) start(sequence);
    const std::uint32_t end = sequence + segment_bytes;
    if (!not_after(sequence, next_)) {
      raise_highest(end);
      return arrival_order::out_of_order;
    }
    if (not_after(end, next_)) return arrival_order::duplicate;
    const bool overlaps = sequence != next_;
    const bool filled = has_gap();
    next_ = end;
    raise_highest(end);
    return overlaps ? arrival_order::duplicate : filled ? arrival_order::fills_gap : arrival_order::in_order;
  }

  void on_tcp_ack(std::uint32_t tcp_ack) {
    if (!started_ || not_after(tcp_ack, next_)) return;
    next_ = tcp_ack;
    raise_highest(tcp_ack);
  }

  /// Something has arrived that lies behind a gap.
  bool has_gap() const { return started_ && next_ != highest_end_; }

  /// Bytes that arrived in order and that this TCP ACK does not cover yet.
  std::uint32_t bytes_beyond(std::uint32_t tcp_ack) const { return started_ && !not_after(next_, tcp_ack) ? next_ - tcp_ack : 0; }

private:
  void start(std::uint32_t next) {
    started_ = true;
    next_ = next;
    highest_end_ = next;
  }
  void raise_highest(std::uint32_t end) {
    if (!not_after(end, highest_end_)) highest_end_ = end;
  }

  bool started_ = false;
  std::uint32_t next_ = 0;         // all before it has arrived
  std::uint32_t highest_end_ = 0;  // end of the furthest segment that has arrived
};

}  // namespace perhop::policy
