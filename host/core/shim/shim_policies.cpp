// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which policy a flow has, and what happens to the flow when that changes or a connection begins.

#include <algorithm>

#include "host/core/shim/shim.hpp"

namespace perhop::shim {

void shim::set_flow_policy(const flow_key& flow, const flow_policy& policy) {
  flow_policies_.insert_or_assign(flow, policy);
  note_parts();
  if (const auto slot = flows_.slot_of(flow)) take_sender_policy(*slot, policy);
  if (const auto slot = flows_.slot_of(flow.reversed())) take_receiver_policy(*slot, policy);
}

void shim::set_policy(const flow_policy& policy) {
  config_.policy = policy;
  note_parts();
  flows_.for_each([this, &policy](std::uint32_t slot) {
    const flow_key& originated = flows_.key_at(slot);
    if (!flow_policies_.contains(originated)) take_sender_policy(slot, policy);
    if (!flow_policies_.contains(originated.reversed())) take_receiver_policy(slot, policy);
  });
}

/// What any flow's policy asks of the host.
void shim::note_parts() {
  const auto any = [this](bool (flow_policy::*has)() const) {
    return (config_.policy.*has)() ||
           std::any_of(flow_policies_.begin(), flow_policies_.end(), [has](const auto& entry) { return (entry.second.*has)(); });
  };
  holds_back_ = any(&flow_policy::holds_back);
  marks_ = any(&flow_policy::marks);
  brakes_ = any(&flow_policy::brakes);
  wants_records_ = any(&flow_policy::own_at_sender) || any(&flow_policy::own_at_receiver);
}

void shim::take_receiver_policy(std::uint32_t slot, const flow_policy& policy) {
  flow_state& received = flows_.at(slot);
  if (received.tcp_ack.holds()) flows_.release_hold(flows_.key_at(slot));
  make_receiver_policy(received, policy);
  flows_.set_deadline(slot, std::nullopt);
}

const flow_policy& shim::policy_of(const flow_key& flow) const {
  const auto own = flow_policies_.find(flow);
  return own != flow_policies_.end() ? own->second : config_.policy;
}

void shim::restart(flow_state& state, const flow_key& originated) {
  // Whoever sends a SYN may not be the other end: the TCP ACK that is kept goes out.
  if (state.tcp_ack.holds()) flows_.release_hold(originated);
  state = flow_state{};
  make_sender_policy(state, policy_of(originated));
  make_receiver_policy(state, policy_of(originated.reversed()));
}

}  // namespace perhop::shim
