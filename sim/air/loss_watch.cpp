// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/loss_watch.hpp"

#include <algorithm>
#include <utility>

namespace perhop::air {

std::string name_of(node_id node) { return "n" + std::to_string(node); }

std::string to_string(const lost_frame& lost) {
  std::string text = "lost at " + name_of(lost.at) + ": ";
  switch (lost.cause) {
    case loss_cause::collision:
      return text + "collided with a frame of " + name_of(lost.other);
    case loss_cause::sending:
      return text + "it was sending";
    case loss_cause::error:
      break;
  }
  return text + "received in error";
}

loss_watch::loss_watch(std::size_t nodes, double sensitivity_w, tell tell)
    : receivers_(nodes), sensitivity_w_(sensitivity_w), tell_(std::move(tell)) {}

void loss_watch::frame_starts(tick now, const transmission& frame, std::span<const link> receivers) {
  for (const link& to : receivers) {
    receiver& at = receivers_[to.node];
    heard_frame added{.id = frame.id, .transmitter = frame.node, .sending = now < at.sends_until};
    for (heard_frame& other : at.heard) {
      if (!other.met) other.other = frame.node;
      other.met = added.met = true;
      added.other = other.transmitter;
    }
    at.heard.push_back(added);
  }
}

void loss_watch::frame_ends(const transmission& frame, frame_slot slot, std::span<const link> receivers, const indication_board& board) {
  const bool group = (frame.ra >> group_address_bit & 1) != 0;
  for (const link& to : receivers) {
    std::vector<heard_frame>& heard = receivers_[to.node].heard;
    const auto found = std::ranges::find(heard, frame.id, &heard_frame::id);
    if (found == heard.end()) continue;  // it started before anybody looked on
    const heard_frame ended = *found;
    heard.erase(found);
    if (!(group || frame.ra == mac_address(to.node)) || to.power_w < sensitivity_w_) continue;
    const indication& news = board[to.node];
    if (news.rx_end && news.rx_slot == slot && news.rx_ok) continue;
    const loss_cause cause = ended.sending ? loss_cause::sending : ended.met ? loss_cause::collision : loss_cause::error;
    tell_({.id = frame.id, .at = to.node, .cause = cause, .other = ended.other});
  }
}

void loss_watch::node_transmits(node_id node, tick until) {
  receiver& at = receivers_[node];
  at.sends_until = until;
  for (heard_frame& frame : at.heard) frame.sending = true;
}

}  // namespace perhop::air
