// SPDX-License-Identifier: GPL-2.0-or-later
//
// Whose word counts for a connection: its own end, or a stranger; and which SYN opens it.

#include <algorithm>

#include "host/core/shim/shim.hpp"

namespace perhop::shim {

/// The connection of a packet that this node's own end sends. What a stranger can make any host send does not count as a word for it:
/// a RST, the answer to a SYN, and the bare TCP ACK that Linux sends for a second, different SYN before the handshake is over.
flow_table::access shim::own_flow_of(time_us now, const ip_packet_view& sent) {
  const tcp_view& tcp = sent.tcp;
  bool own = true;
  if (sent.is_tcp()) {
    const flow_state* known = flows_.find(sent.flow);
    const bool bare = tcp.payload_bytes == 0 && !tcp.fin;
    const bool answering = known != nullptr && known->phase == handshake::answering;
    own = !tcp.rst && !(tcp.syn && tcp.has_tcp_ack) && !(answering && bare);
  }
  const flow_table::access flow = flow_of(now, sent.flow, own ? flow_witness::own_end : flow_witness::stranger);
  if (!sent.is_tcp()) return flow;
  if (tcp.syn) {
    note_own_syn(now, flow, sent);
  } else if (own) {
    flow.state->phase = handshake::done;
  }
  flow.state->in_flight.on_segment(tcp.sequence, tcp.payload_bytes);
  return flow;
}

/// The own TCP opens a connection, or answers a SYN: only now what that SYN said holds. Told of a packet twice, it does nothing more.
void shim::note_own_syn(time_us now, const flow_table::access& flow, const ip_packet_view& sent) {
  flow_state& state = *flow.state;
  const tcp_view& tcp = sent.tcp;
  const std::optional<offered_syn> offered = take_answered(sent);
  // A listener whose queue was full answers again even after the other end's TCP ACK.
  const bool again =
      state.phase != handshake::unknown && state.initial_sequence == tcp.sequence && (state.phase != handshake::done || tcp.has_tcp_ack);
  const bool late = again && state.phase == handshake::done;
  // A SYN that came again is answered as the first one was: nothing but the handshake is known yet.
  if (!again || (offered && state.phase == handshake::answering)) {
    restart(state, sent.flow);
    state.initial_sequence = tcp.sequence;
    state.in_flight.on_syn(tcp.sequence);
  }
  if (late) return;
  state.phase = tcp.has_tcp_ack ? handshake::answering : handshake::opening;
  if (offered) take_arrival(now, flow, offered->header, offered->packet);
}

void shim::note_offered(const std::optional<wire::path_header>& header, const ip_packet_view& packet) {
  const auto same = std::find_if(offered_.begin(), offered_.end(), [&packet](const offered_syn& offered) {
    return offered.packet.flow == packet.flow && offered.packet.tcp.sequence == packet.tcp.sequence;
  });
  if (same != offered_.end()) {
    *same = {.header = header, .packet = packet};
  } else if (offered_.size() < most_offered_syns) {
    offered_.push_back({.header = header, .packet = packet});
  } else {
    offered_[next_offered_] = {.header = header, .packet = packet};
    next_offered_ = (next_offered_ + 1) % most_offered_syns;
  }
}

/// The SYN that this packet of the own end answers, once.
std::optional<shim::offered_syn> shim::take_answered(const ip_packet_view& sent) {
  if (!sent.tcp.has_tcp_ack) return std::nullopt;
  const auto found = std::find_if(offered_.begin(), offered_.end(), [&sent](const offered_syn& offered) {
    return offered.packet.flow == sent.flow.reversed() && sent.tcp.tcp_ack == offered.packet.tcp.sequence + 1;
  });
  if (found == offered_.end()) return std::nullopt;
  const offered_syn taken = *found;
  offered_.erase(found);
  return taken;
}

}  // namespace perhop::shim
