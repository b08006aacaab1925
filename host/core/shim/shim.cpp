// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/shim/shim.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>

namespace perhop::shim {

namespace {

/// The segment that every host takes (RFC 9293, 3.7.1): the least MSS that is believed, and the full segment of a TCP whose SYN was
/// not seen.
constexpr std::uint32_t least_mss_ipv4_bytes = 536, least_mss_ipv6_bytes = 1220;
constexpr std::uint32_t ipv4_and_tcp_header_bytes = 40, ipv6_and_tcp_header_bytes = 60;

/// What the timestamps option takes from every segment (RFC 7323: 10 bytes, padded).
constexpr std::uint32_t timestamps_option_bytes = 12;

std::uint32_t segment_bytes_of(const flow_state& state, const flow_key& flow, std::uint32_t mtu_bytes) {
  if (state.segment_bytes != 0) return state.segment_bytes;
  const bool ipv4 = flow.source.is_ipv4();
  const std::uint32_t least_bytes = ipv4 ? least_mss_ipv4_bytes : least_mss_ipv6_bytes;
  // A window of one short packet would keep all later ones as short.
  if (state.mss_option_bytes == 0) return std::max(state.largest_payload_bytes, least_bytes);
  const std::uint32_t header_bytes = ipv4 ? ipv4_and_tcp_header_bytes : ipv6_and_tcp_header_bytes;
  const std::uint32_t most_bytes = std::max(mtu_bytes, header_bytes + least_bytes) - header_bytes;
  const std::uint32_t mss_bytes = std::clamp<std::uint32_t>(state.mss_option_bytes, least_bytes, most_bytes);
  return mss_bytes - (state.timestamps ? timestamps_option_bytes : 0);
}

/// Reads what both directions of the handshake negotiate. The smaller MSS counts: it is what this node may send (the
/// other end's option) and what its own interface takes (its own option).
void note_options(flow_state& state, const tcp_view& tcp) {
  if (tcp.segment_bytes != 0) state.segment_bytes = tcp.segment_bytes;
  if (tcp.syn && tcp.mss_option_bytes != 0 && (state.mss_option_bytes == 0 || tcp.mss_option_bytes < state.mss_option_bytes)) {
    state.mss_option_bytes = tcp.mss_option_bytes;
  }
  // The first SYN only offers timestamps; the one that answers it decides (RFC 7323, 3.2).
  if (tcp.syn) state.timestamps = tcp.timestamps;
}

constexpr std::uint32_t least_window_of_syn_packets = 2;

}  // namespace

std::uint64_t shim_counters::malformed() const {
  return std::accumulate(malformed_by_reason.begin(), malformed_by_reason.end(), std::uint64_t{0});
}

shim::shim(const shim_config& config)
    : config_(config),
      delays_((assert(config.profile != nullptr), *config.profile), config.rts_threshold_bytes),
      flows_(config.max_flows, config.flow_idle_us, config.max_stranger_flows) {
  offered_.reserve(most_offered_syns);
  note_parts();
  if (config_.exact) {
    if (config_.exact->profile == nullptr) config_.exact->profile = config_.profile;
    exact_.emplace(*config_.exact);
  }
}

flow_table::access shim::flow_of(time_us now, const flow_key& originated, flow_witness witness) {
  const flow_table::access access = flows_.use(now, originated, witness);
  counters_.flows_expired += access.expired;
  counters_.flows_evicted += access.evicted ? 1 : 0;
  if (access.created) restart(*access.state, originated);
  return access;
}

std::uint32_t shim::hop_delay_us(const next_hop& hop) const {
  if (hop.medium == hop_medium::wired) return 0;
  return wire::quantise_delay_us(delays_.delay_us(hop.peer, hop.mpdu_bytes, hop.rate_index));
}

void shim::add_hop(wire::path_header& header, const next_hop& hop) const {
  if (hop.medium == hop_medium::wired) {
    header.wired_hop_seen = true;
    return;
  }
  const std::uint32_t delay_us = hop_delay_us(hop);
  header.total_delay_us = std::min(header.total_delay_us + delay_us, wire::max_delay_us);
  header.max_delay_us = std::max(header.max_delay_us, delay_us);
  if (header.hops != UINT8_MAX) {
    ++header.hops;
  } else {
    // The count stands still: the sum must not outgrow it, or the next node would refuse the header.
    header.total_delay_us = std::min(header.total_delay_us, header.hops * header.max_delay_us);
  }
}

wire::path_header shim::on_originate(time_us now, const ip_packet_view& packet, const next_hop& hop,
                                     std::optional<std::uint32_t> packets_in_flight) {
  ++counters_.originated;
  latest_ = now;
  flow_state& state = *own_flow_of(now, packet).state;
  if (packet.is_tcp()) {
    if (state.phase != handshake::done || !packet.tcp.syn) note_options(state, packet.tcp);
    state.signed_segments |= packet.tcp.is_signed;
    if (packet.tcp.is_signed && rewrites(state)) ++counters_.signed_segments;
    if (const std::uint32_t counted = state.in_flight.packets_with(packet.tcp.sequence, packet.tcp.payload_bytes)) {
      state.packets_in_flight = counted;
    }
    state.largest_payload_bytes = std::max(state.largest_payload_bytes, packet.tcp.payload_bytes);
    state.round_trip.on_sent(now, packet.tcp.sequence, packet.tcp.payload_bytes);
  }
  state.sent = true;

  note_exchange(state, packet, hop);

  const std::uint32_t in_flight = packets_in_flight.value_or(state.packets_in_flight);
  if (state.own && packet.is_tcp()) {
    state.own_packets_in_flight = in_flight;
    state.own->on_sent(now, {.payload_bytes = packet.tcp.payload_bytes, .packets_in_flight = in_flight});
  }

  wire::path_header header;
  header.packets_in_flight = static_cast<std::uint8_t>(std::min<std::uint32_t>(told_in_flight(state, in_flight), UINT8_MAX));
  if (state.heard) header.echo = state.echo;
  header.exact_follows = packet.exact.follows;
  if (packet.exact.current_rate_bps != 0) {
    header.explicit_rate_bps = wire::quantise_rate_down_bps(packet.exact.wanted_rate_bps);
    header.current_rate_bps = std::max<std::uint64_t>(wire::quantise_rate_bps(packet.exact.current_rate_bps), 1);
  }
  add_hop(header, hop);
  lower_rate(now, header, packet, hop);
  return header;
}

bool shim::strip_window_scaling(const ip_packet_view& packet) const {
  return config_.rewrite_windows && packet.is_tcp() && packet.tcp.syn && !packet.tcp.is_signed &&
         policy_of(packet.flow).cwl.kind != policy::cwl_kind::none;
}

void shim::set_exact_weight(const flow_key& flow, double weight) {
  assert(weight > 0);
  const std::uint64_t identity = flow_identity(flow);
  const auto known =
      std::find_if(exact_weights_.begin(), exact_weights_.end(), [identity](const auto& entry) { return entry.first == identity; });
  if (known != exact_weights_.end()) {
    known->second = weight;
  } else {
    exact_weights_.emplace_back(identity, weight);
  }
}

// What this node's EXACT router allows the packet's flow. It hears of all packets, as all take channel time.
void shim::lower_rate(time_us now, wire::path_header& header, const ip_packet_view& packet, const next_hop& hop) {
  if (!exact_ || hop.medium == hop_medium::wired) return;
  const std::uint64_t flow = flow_identity(packet.flow);
  const auto weighted =
      std::find_if(exact_weights_.begin(), exact_weights_.end(), [flow](const auto& entry) { return entry.first == flow; });
  const policy::exact_packet seen{.flow = flow,
                                  .peer = hop.peer,
                                  .rate_index = hop.rate_index,
                                  .ip_bytes = packet.ip_bytes,
                                  .mpdu_bytes = hop.mpdu_bytes,
                                  .explicit_rate_bps = header.explicit_rate_bps,
                                  .current_rate_bps = header.current_rate_bps,
                                  .weight = weighted != exact_weights_.end() ? weighted->second : 1};
  if (header.current_rate_bps != 0) {
    header.explicit_rate_bps = exact_->on_packet(now, seen);
  } else {
    // Reports go back; what they cost is in the costs of the data.
    exact_->on_other_packet(now, seen, header.exact_follows);
  }
}

void shim::on_forward(time_us now, wire::path_header& header, const ip_packet_view& packet, const next_hop& hop) {
  ++counters_.forwarded;
  add_hop(header, hop);
  lower_rate(now, header, packet, hop);
}

wire::path_header shim::on_forward_plain(time_us now, const ip_packet_view& packet, const next_hop& hop) {
  wire::path_header header;
  header.silent_router_seen = true;
  on_forward(now, header, packet, hop);
  return header;
}

std::optional<wire::path_header> shim::parse(std::span<const std::uint8_t> bytes) {
  const wire::decode_result decoded = wire::decode(bytes);
  if (decoded) return *decoded;
  ++counters_.malformed_by_reason[static_cast<std::size_t>(decoded.error())];
  return std::nullopt;
}

receive_verdict shim::on_receive(time_us now, const std::optional<wire::path_header>& header, const ip_packet_view& packet) {
  ++counters_.received;
  latest_ = now;
  if (!header || header->silent_router_seen) ++counters_.silent_router_seen;
  const flow_key originated = packet.flow.reversed();
  const tcp_view& tcp = packet.tcp;
  if (!packet.is_tcp()) {
    take_arrival(now, flow_of(now, originated, flow_witness::stranger), header, packet);
    return {};
  }

  receive_verdict verdict;
  verdict.strip_window_scaling =
      tcp.syn && !tcp.is_signed && config_.rewrite_windows && policy_of(originated).cwl.kind != policy::cwl_kind::none;
  const flow_state* known = flows_.find(originated);
  const bool opening = known != nullptr && (known->phase == handshake::opening || known->phase == handshake::answering);
  const bool acknowledges_own_syn = opening && tcp.has_tcp_ack && tcp.tcp_ack == known->initial_sequence + 1;
  const flow_table::access flow = flow_of(now, originated, acknowledges_own_syn ? flow_witness::own_end : flow_witness::stranger);
  flow_state& state = *flow.state;
  if (!tcp.syn) {
    if (acknowledges_own_syn) state.phase = handshake::done;
    take_arrival(now, flow, header, packet);
  } else if (acknowledges_own_syn) {
    take_arrival(now, flow, header, packet);
  } else {
    if (tcp.has_tcp_ack || state.phase == handshake::done) ++counters_.late_syns;
    if (!tcp.has_tcp_ack) note_offered(header, packet);
  }

  if (tcp.is_signed) {
    if (rewrites(state)) ++counters_.signed_segments;
  } else if (rewrites(state) && tcp.has_tcp_ack) {
    if (const std::optional<std::uint32_t> limit_packets = state.limit.limit_packets()) {
      // Linux takes half of the largest window ever advertised for its largest segment (tcp_bound_to_half_wnd): one segment in the
      // SYN's answer would halve all segments of the connection. A sender that begins with one segment is limited all the same.
      const std::uint32_t limit =
          limit_bytes(state, originated, tcp.syn ? std::max(*limit_packets, least_window_of_syn_packets) : *limit_packets);
      if (limit < tcp.window_bytes) {
        verdict.window_bytes = limit;
        ++counters_.windows_rewritten;
      }
    }
  }
  return verdict;
}

/// Never below one segment that the own end has sent: with less, it could send nothing.
std::uint32_t shim::limit_bytes(const flow_state& state, const flow_key& flow, std::uint32_t limit_packets) const {
  const std::uint64_t bytes = std::uint64_t{limit_packets} * segment_bytes_of(state, flow, config_.mtu_bytes);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes, std::max(state.largest_payload_bytes, 1U), UINT32_MAX));
}

/// A packet of the other end, as far as can be told.
void shim::take_arrival(time_us now, const flow_table::access& flow, const std::optional<wire::path_header>& header,
                        const ip_packet_view& packet) {
  flow_state& state = *flow.state;
  const flow_key originated = packet.flow.reversed();
  const bool tcp = packet.is_tcp();
  std::uint32_t delivered_bytes = 0;
  std::optional<std::uint32_t> round_trip_us;
  if (tcp) {
    note_options(state, packet.tcp);
    if (packet.tcp.has_tcp_ack) {
      delivered_bytes = state.in_flight.on_tcp_ack(packet.tcp.tcp_ack);
      round_trip_us = state.round_trip.on_tcp_ack(now, packet.tcp.tcp_ack);
      if (round_trip_us) on_round_trip_sample(state, *round_trip_us);
    }
  }

  // How this packet came here. A silent router makes the header's sums too small, so only the hops remain.
  const bool silent = !header || header->silent_router_seen;
  wire::path_echo arrived;
  if (header) {
    arrived = {.total_delay_us = header->total_delay_us,
               .max_delay_us = header->max_delay_us,
               .hops = header->hops,
               .rate_bps = header->explicit_rate_bps};
  }
  if (silent) {
    arrived.total_delay_us = 0;
    arrived.max_delay_us = 0;
    arrived.hops = std::max(arrived.hops, hops_from_ttl(packet.ttl));
  }

  // The echo is to tell the delays of packets of the size that matters: once data flows, those of the data.
  const bool with_payload = !tcp || packet.tcp.payload_bytes != 0;
  if (with_payload || !state.heard_with_payload) {
    state.heard = true;
    state.heard_with_payload = with_payload;
    if (brakes_ && tcp) arrived.rate_bps = counted_marks(state, header, packet, arrived.rate_bps);
    state.echo = arrived;
  }

  const bool has_echo = header && header->echo;
  if (has_echo && !state.sent) {
    ++counters_.unknown_flow;
  } else if (has_echo || silent) {
    policy::path_measurement path;
    path.return_hops = arrived.hops;
    path.return_total_us = arrived.total_delay_us;
    if (has_echo) {
      path.forward_hops = header->echo->hops;
      path.forward_total_us = header->echo->total_delay_us;
      path.forward_max_us = header->echo->max_delay_us;
    }
    // Without an echo only this direction is known; the other is taken to be as long.
    if (silent && path.forward_hops == 0) path.forward_hops = path.return_hops;
    if (header && header->wired_hop_seen && !silent) {
      const std::uint64_t wireless_us = std::uint64_t{path.forward_total_us} + path.return_total_us;
      if (round_trip_us) state.round_trip.on_wireless(wireless_us);
      path.wired_round_trip_us = state.round_trip.wired_us();
    }
    const flow_policy& own = policy_of(originated);
    if (own.brakes() && has_echo) take_marks(state, *header->echo);
    tune(now, state, own, delivered_bytes, path);
    state.last_path = path;
    on_path(state, originated, path, delivered_bytes);
  }
  if (tcp && state.tcp_ack.thins()) on_data(now, flow, header ? &*header : nullptr, arrived, packet.tcp);
}

void shim::on_round_trip_sample(flow_state& state, std::uint32_t rtt_us) const {
  state.pacer.on_rtt(rtt_us);
  state.tcp_ack.on_rtt(rtt_us);
}

/// Packets in flight at the sender of data; 0: nothing tells them. The header is put on by the sender itself; what TCP carries
/// comes also through routers that take the header off.
std::uint32_t shim::window_told_by(flow_state& state, const wire::path_header* header, const tcp_view& tcp) const {
  if (header != nullptr && header->packets_in_flight != 0) return header->packets_in_flight;
  if (tcp.told_window_packets != 0) return tcp.told_window_packets;
  // An IP packet's length has 16 bits.
  const std::uint32_t payload_bytes = std::min<std::uint32_t>(tcp.payload_bytes, std::numeric_limits<std::uint16_t>::max());
  state.largest_arrival_bytes = std::max(state.largest_arrival_bytes, static_cast<std::uint16_t>(payload_bytes));
  if (!config_.window_field_tells || state.largest_arrival_bytes == 0) return 0;
  return std::max(1U, tcp.window_bytes / state.largest_arrival_bytes);
}

void shim::on_data(time_us now, const flow_table::access& flow, const wire::path_header* header, const wire::path_echo& arrived,
                   const tcp_view& tcp) {
  if (tcp.payload_bytes == 0 && !tcp.syn && !tcp.fin) return;
  flow_state& state = *flow.state;
  state.tcp_ack.on_data(now, {.sequence = tcp.sequence,
                              .payload_bytes = tcp.payload_bytes,
                              .packets_in_flight = window_told_by(state, header, tcp),
                              .forward_hops = arrived.hops,
                              .min_rtt_us = state.round_trip.least_us(),
                              .syn = tcp.syn,
                              .fin = tcp.fin,
                              .timestamp_echo = tcp.timestamp_echo});
  flows_.set_deadline(flow.slot, state.tcp_ack.deadline());
}

void shim::on_round_trip(time_us now, const flow_key& flow, std::uint32_t rtt_us) {
  on_round_trip_sample(*flow_of(now, flow).state, rtt_us);
}

bool shim::on_completion(time_us now, const policy::neighbour_averages& averages, bool delivered) {
  if (!delays_.on_completion(averages)) {
    ++counters_.unknown_peer;
    return false;
  }
  return exact_ && exact_->on_completion(now, {.averages = averages, .delivered = delivered});
}

void shim::on_neighbour_replaced(std::uint8_t peer) {
  delays_.forget(peer);
  if (exact_) exact_->on_peer_replaced(peer);
}

std::uint32_t shim::packets_in_flight(const flow_key& flow) const {
  const flow_state* state = flows_.find(flow);
  return state != nullptr ? state->packets_in_flight : 0;
}

no_effect shim::limit_without_effect(const flow_key& flow) const {
  const flow_state* state = flows_.find(flow);
  if (state == nullptr || !state->limit.enforces()) return no_effect::none;
  if (rewrites(*state) && state->signed_segments) return no_effect::signed_segments;
  if (state->own && state->own->failed()) return no_effect::own_failed;
  return state->limit.limit_packets() ? no_effect::none : no_effect::path_unknown;
}

no_effect shim::pacing_without_effect(const flow_key& flow) const {
  const flow_state* state = flows_.find(flow);
  if (state == nullptr || !state->pacer.paces() || state->pacer.interval_us() != 0) return no_effect::none;
  switch (policy_of(flow).pacing.kind) {
    case policy::pacing_kind::none:
    case policy::pacing_kind::exact:
      return no_effect::none;
    case policy::pacing_kind::window:
      return state->in_flight.window_packets() == 0 && !state->limit.limit_packets() ? no_effect::window_unknown
                                                                                     : no_effect::round_trip_unknown;
    case policy::pacing_kind::adaptive:
      return state->round_trip.least_us() == 0 ? no_effect::round_trip_unknown : no_effect::path_unknown;
    case policy::pacing_kind::own:
      return state->own && state->own->failed() ? no_effect::own_failed : no_effect::none;
    case policy::pacing_kind::path:
      break;
  }
  const bool measured = state->last_path && state->last_path->forward_hops != 0 && state->last_path->forward_total_us != 0;
  return measured ? no_effect::one_medium : no_effect::path_unknown;
}

time_us shim::pacing_interval_us(const flow_key& flow) const {
  const flow_state* state = flows_.find(flow);
  return state != nullptr ? state->pacer.interval_us() : 0;
}

std::optional<std::uint32_t> shim::cwl_packets(const flow_key& flow) const {
  const flow_state* state = flows_.find(flow);
  return state != nullptr ? state->limit.limit_packets() : std::nullopt;
}

std::optional<policy::path_measurement> shim::last_path(const flow_key& flow) const {
  const flow_state* state = flows_.find(flow);
  return state != nullptr ? state->last_path : std::nullopt;
}

}  // namespace perhop::shim
