// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/reception_ns2.hpp"

#include <algorithm>

namespace perhop::air {

reception_ns2::reception_ns2(std::size_t nodes, double sensitivity_w, double capture_ratio, std::uint16_t capture_eifs_us,
                             frame_errors errors)
    : receivers_(nodes), sensitivity_w_(sensitivity_w), capture_ratio_(capture_ratio), capture_eifs_us_(capture_eifs_us), errors_(errors) {}

void reception_ns2::frame_starts(tick now, const incoming_frame& frame, std::span<const link> receivers, indication_board& board) {
  for (const link& to : receivers) {
    receiver& at = receivers_[to.node];
    if (at.slot == no_frame) {
      at.slot = frame.slot;
      at.power_w = to.power_w;
      at.end = frame.last_arrival;
      at.error = to.power_w < sensitivity_w_ || now < at.sends_until;
      board.set_carrier(to.node, true);
    } else if (at.power_w >= capture_ratio_ * to.power_w) {
      if (capture_eifs_us_ != 0) {
        // A Duration field holds 15 bits.
        const std::uint32_t reserve_us = std::uint32_t{capture_eifs_us_} + frame.airtime_us;
        board.reserve(to.node, static_cast<std::uint16_t>(std::min<std::uint32_t>(reserve_us, 0x7fff)));
      }
    } else {
      at.error = true;
      if (frame.last_arrival > at.end) {
        at.slot = frame.slot;
        at.power_w = to.power_w;
        at.end = frame.last_arrival;
      }
    }
  }
}

void reception_ns2::frame_ends(tick now, const incoming_frame& frame, std::span<const link> receivers, indication_board& board) {
  for (const link& to : receivers) {
    receiver& at = receivers_[to.node];
    if (at.slot != frame.slot) continue;
    at.slot = no_frame;
    board.set_carrier(to.node, false);
    if (now < at.sends_until) continue;
    board.end_frame(to.node, frame.slot, !at.error && !(frame.is_data && errors_.lost(frame.id, to.node)));
  }
}

void reception_ns2::node_transmits(node_id node, tick until) {
  receivers_[node].sends_until = until;
  receivers_[node].error = true;
}

}  // namespace perhop::air
