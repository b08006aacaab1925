// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/reception_sinr.hpp"

#include <algorithm>
#include <utility>

namespace perhop::air {

reception_sinr::reception_sinr(std::size_t nodes, settings settings, frame_errors errors)
    : receivers_(nodes), settings_(std::move(settings)), errors_(errors) {}

void reception_sinr::sense(receiver& at, node_id node, indication_board& board) const {
  const bool busy = at.total_w >= settings_.carrier_sense_w;
  if (busy == at.carrier_busy) return;
  at.carrier_busy = busy;
  board.set_carrier(node, busy);
}

void reception_sinr::frame_starts(tick now, const incoming_frame& frame, std::span<const link> receivers, indication_board& board) {
  for (const link& to : receivers) {
    receiver& at = receivers_[to.node];
    at.total_w += to.power_w;
    ++at.frames;
    const bool free = at.slot == no_frame;
    const bool stronger = !free && settings_.relock_ratio && to.power_w >= *settings_.relock_ratio * at.power_w;
    const double new_sinr = sinr(at, to.power_w);
    if ((free || stronger) && now >= at.sends_until && to.power_w >= settings_.sensitivity_w &&
        new_sinr >= settings_.threshold_ratio.front()) {
      at.slot = frame.slot;
      at.power_w = to.power_w;
      at.worst_sinr = new_sinr;
    } else if (!free) {
      at.worst_sinr = std::min(at.worst_sinr, sinr(at, at.power_w));
    }
    sense(at, to.node, board);
  }
}

void reception_sinr::frame_ends(tick, const incoming_frame& frame, std::span<const link> receivers, indication_board& board) {
  for (const link& to : receivers) {
    receiver& at = receivers_[to.node];
    // Sums and differences of doubles leave a residue, so silence is set, not computed.
    at.total_w = --at.frames == 0 ? 0 : std::max(0.0, at.total_w - to.power_w);
    sense(at, to.node, board);
    if (at.slot != frame.slot) continue;
    at.slot = no_frame;
    const bool ok = at.worst_sinr >= settings_.threshold_ratio[frame.rate_index] && !(frame.is_data && errors_.lost(frame.id, to.node));
    board.end_frame(to.node, frame.slot, ok);
  }
}

void reception_sinr::node_transmits(node_id node, tick until) {
  receivers_[node].sends_until = until;
  receivers_[node].slot = no_frame;
}

}  // namespace perhop::air
