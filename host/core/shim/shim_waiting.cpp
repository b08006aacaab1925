// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the shim lets a TCP wait for: TCP ACKs that stand for several packets, data that is paced; and when that is over.

#include <algorithm>

#include "host/core/shim/shim.hpp"

namespace perhop::shim {

namespace {

/// TCP's initial window, also after a pause (RFC 6928). A smaller one is not believed of what was seen: a sender that has little to
/// send has small flights, too, and its next burst would wait for a round trip.
constexpr std::uint32_t initial_window_packets = 10;

}  // namespace

policy::tcp_ack_action shim::on_tcp_ack(time_us now, const ip_packet_view& packet) {
  const tcp_view& tcp = packet.tcp;
  if (!packet.is_tcp()) return policy::tcp_ack_action::pass;
  const flow_table::access flow = own_flow_of(now, packet);
  // This packet takes the place of one that is kept, of a connection that was forgotten too: perhaps just now.
  flows_.settle_hold(packet.flow);
  policy::delayed_tcp_ack& tcp_ack = flow.state->tcp_ack;
  if (!tcp.has_tcp_ack) {
    tcp_ack.drop_held();
    flows_.set_deadline(flow.slot, tcp_ack.deadline());
    return policy::tcp_ack_action::pass;
  }
  if (!tcp_ack.thins()) return policy::tcp_ack_action::pass;
  const bool bare = tcp.is_bare_tcp_ack();
  const policy::tcp_ack_verdict verdict = tcp_ack.on_tcp_ack(now, {.tcp_ack = tcp.tcp_ack,
                                                                   .window_bytes = tcp.window_bytes,
                                                                   .bare = bare,
                                                                   .sack_blocks = tcp.sack_blocks,
                                                                   .timestamp_value = tcp.timestamp_value});
  flows_.set_deadline(flow.slot, tcp_ack.deadline());
  if (verdict.action == policy::tcp_ack_action::hold) {
    ++counters_.tcp_acks_held;
  } else if (bare) {
    count(verdict.reason);
  }
  return verdict.action;
}

policy::tcp_ack_reason shim::last_tcp_ack_reason(const flow_key& flow) const {
  const flow_state* state = flows_.find(flow);
  return state != nullptr ? state->tcp_ack.last_reason() : policy::tcp_ack_reason::at_once;
}

time_us shim::release_time(time_us now, const ip_packet_view& packet, std::uint32_t waiting_packets) {
  const tcp_view& tcp = packet.tcp;
  if (!packet.is_tcp() || tcp.syn || (tcp.payload_bytes == 0 && !tcp.fin)) return now;
  flow_state& state = *own_flow_of(now, packet).state;
  if (!state.pacer.paces()) return now;
  const std::uint32_t told_packets = tcp.congestion_window_packets;
  const std::uint32_t seen_packets = state.in_flight.window_packets();
  const std::uint32_t window_packets =
      told_packets != 0 || seen_packets == 0 ? told_packets : std::max(seen_packets, initial_window_packets);
  const std::uint32_t limit_packets = state.limit.limit_packets().value_or(UINT32_MAX);
  const std::uint32_t allowed_packets = std::min(limit_packets, window_packets != 0 ? window_packets : UINT32_MAX);
  state.pacer.on_window(allowed_packets != UINT32_MAX ? std::max(allowed_packets, waiting_packets) : 0);
  const time_us release = tcp.payload_bytes != 0 ? state.pacer.release_time(now, tcp.payload_bytes) : state.pacer.earliest(now);
  counters_.packets_delayed += release > now ? 1 : 0;
  return release;
}

std::optional<time_us> shim::next_deadline() const {
  if (!flows_.forgotten_holds().empty()) return 0;
  const auto first = flows_.first_deadline();
  std::optional<time_us> next = first ? std::optional(first->deadline) : std::nullopt;
  if (const std::optional<time_us> exact = exact_ ? exact_->deadline() : std::nullopt) next = std::min(next.value_or(*exact), *exact);
  return next;
}

std::size_t shim::expire(time_us now, std::span<tcp_ack_due> due) {
  if (exact_) exact_->on_deadline(now);
  std::size_t written = 0;
  std::vector<flow_key>& forgotten = flows_.forgotten_holds();
  while (written < due.size() && !forgotten.empty()) {
    due[written++] = {.flow = forgotten.back(), .release = policy::tcp_ack_release::send_held};
    forgotten.pop_back();
    count(policy::tcp_ack_reason::at_once);
  }
  while (written < due.size()) {
    const auto first = flows_.first_deadline();
    if (!first || first->deadline > now) break;
    policy::delayed_tcp_ack& tcp_ack = flows_.at(first->slot).tcp_ack;
    const policy::tcp_ack_release_verdict verdict = tcp_ack.on_deadline(now);
    flows_.set_deadline(first->slot, tcp_ack.deadline());
    if (verdict.release == policy::tcp_ack_release::nothing) continue;
    due[written++] = {.flow = flows_.key_at(first->slot), .release = verdict.release};
    count(verdict.reason);
  }
  return written;
}

}  // namespace perhop::shim
