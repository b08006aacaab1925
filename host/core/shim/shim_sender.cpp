// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the shim does for a flow that this node sends: limit, pace, and what the combined policy finds out about the path.

#include <algorithm>

#include "host/core/shim/shim.hpp"

namespace perhop::shim {

namespace {

/// The combined policy: window and pace are found together.
bool tunes(const flow_policy& policy) {
  return policy.cwl.kind == policy::cwl_kind::pipeline && policy.pacing.kind == policy::pacing_kind::path;
}

}  // namespace

void shim::make_sender_policy(flow_state& state, const flow_policy& policy) {
  // What points to the old one goes first.
  state.limit = {};
  state.pacer = {};
  state.own = policy.own_at_sender() && policy.own != nullptr ? std::make_unique<policy::own_policy>(*policy.own) : nullptr;
  state.limit = policy::congestion_window_limit(policy.cwl, state.own.get());
  state.pacer = policy::pacer(policy.pacing, state.own.get());
}

void shim::make_receiver_policy(flow_state& state, const flow_policy& policy) {
  state.tcp_ack = {};
  state.own_at_receiver = policy.own_at_receiver() && policy.own != nullptr ? std::make_unique<policy::own_policy>(*policy.own) : nullptr;
  state.tcp_ack = policy::delayed_tcp_ack(policy.tcp_ack, state.own_at_receiver.get());
}

void shim::take_sender_policy(std::uint32_t slot, const flow_policy& policy) {
  flow_state& sent = flows_.at(slot);
  make_sender_policy(sent, policy);
  sent.tuner.forget_path();
  if (sent.last_path) sent.last_path->tuning = tunes(policy) ? sent.tuner.tuning() : policy::path_tuning{};
  if (sent.last_path) on_path(sent, flows_.key_at(slot), *sent.last_path);
}

/// What data and TCP ACKs of this connection cost on an idle medium, from the longest packet.
void shim::note_exchange(flow_state& state, const ip_packet_view& packet, const next_hop& hop) const {
  const std::uint32_t payload_bytes = packet.is_tcp() ? packet.tcp.payload_bytes : 0;
  if (payload_bytes == 0 || payload_bytes < state.largest_payload_bytes || hop.medium == hop_medium::wired) return;
  if (payload_bytes >= hop.mpdu_bytes) return;
  state.tuner.on_sent({.tcp_ack_us = delays_.uncontended_delay_us(hop.mpdu_bytes - payload_bytes, hop.rate_index),
                       .data_us = delays_.uncontended_delay_us(hop.mpdu_bytes, hop.rate_index)});
}

/// The receiver waits for all that it is told to be in flight: a sender that knows better how long it should wait tells no more.
std::uint32_t shim::told_in_flight(const flow_state& state, std::uint32_t packets_in_flight) {
  const std::uint32_t chosen = state.limit.tcp_ack_packets();
  return chosen == 0 ? packets_in_flight : std::min(packets_in_flight, chosen);
}

/// What a packet of the other end tells of this node's own data. @param delivered_bytes that its TCP ACK is the first to acknowledge
void shim::tune(time_us now, flow_state& state, const flow_policy& policy, std::uint32_t delivered_bytes, policy::path_measurement& path) {
  if (!tunes(policy)) return;
  path.tuning = state.tuner.tuning();
  if (delivered_bytes == 0) return;
  state.tuner.on_tcp_ack(now, delivered_bytes, state.largest_payload_bytes, path);
  path.tuning = state.tuner.tuning();
}

void shim::on_path(flow_state& state, const flow_key& originated, const policy::path_measurement& path,
                   std::uint32_t delivered_bytes) const {
  state.limit.on_path(path);
  if (state.own && originated.protocol == ip_protocol_tcp) {
    state.own->on_path(latest_, {.forward_hops = path.forward_hops,
                                 .return_hops = path.return_hops,
                                 .forward_total_us = path.forward_total_us,
                                 .forward_max_us = path.forward_max_us,
                                 .return_total_us = path.return_total_us,
                                 .wired_round_trip_us = path.wired_round_trip_us,
                                 .round_trip_us = state.round_trip.last_us(),
                                 .least_round_trip_us = state.round_trip.least_us(),
                                 .packets_in_flight = state.own_packets_in_flight,
                                 .delivered_bytes = delivered_bytes});
  }
  if (!state.pacer.paces()) return;
  // The receiver waits for no more packets than the limit lets this node send.
  const policy::tcp_ack_config& tcp_ack = policy_of(originated).tcp_ack;
  const std::uint32_t limit_packets = state.limit.limit_packets().value_or(0);
  const std::uint32_t window_packets =
      policy::packets_per_tcp_ack(tcp_ack, path.forward_hops, state.round_trip.least_us(), told_in_flight(state, limit_packets));
  // A receiver that waits for all that may be in flight answers over an empty path: its TCP ACKs take no time from data.
  const bool empty_path = limit_packets > 1 && window_packets == limit_packets && tcp_ack.kind == policy::tcp_ack_kind::dca;
  state.pacer.on_path(path, empty_path ? policy::pacing_path::tcp_acks_over_an_empty_path : window_packets);
}

void shim::on_record(time_us now, const completion_record& record) {
  const perhop_completion told{.peer = record.peer,
                               .delivered = record.result == tx_result::delivered || record.result == tx_result::group_sent ? 1U : 0U,
                               .mpdu_bytes = record.bytes,
                               .rate_index = record.rate,
                               .rts_attempts = record.rts_attempts,
                               .data_attempts = record.data_attempts,
                               .slots_drawn = record.slots_drawn,
                               .queue_us = record.queue_us,
                               .ifs_us = record.ifs_us,
                               .backoff_us = record.backoff_us,
                               .frozen_cca_us = record.frozen_cca_us,
                               .frozen_nav_us = record.frozen_nav_us,
                               .control_us = record.control_us,
                               .data_us = record.data_us,
                               .response_us = record.response_us,
                               .timeout_us = record.timeout_us,
                               .responder_us = record.responder_us,
                               .avg_contention_us16 = record.avg_contention_us16,
                               .avg_overhead_us16 = record.avg_overhead_us16,
                               .avg_data_attempts_256 = record.avg_data_attempts_256};
  flows_.for_each([&](std::uint32_t slot) {
    flow_state& state = flows_.at(slot);
    for (policy::own_policy* own : {state.own.get(), state.own_at_receiver.get()}) {
      if (own != nullptr && own->wants_completions()) own->on_completion(now, told);
    }
  });
}

}  // namespace perhop::shim
