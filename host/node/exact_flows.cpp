// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/exact_flows.hpp"

#include <algorithm>
#include <utility>

namespace perhop::node {

namespace {

constexpr time_us measured_us = 1'000'000;
constexpr double wanted_of_sent = 1.25;
// Pacing at just the rate at which packets come would never make up for one that was late.
constexpr double asked_of_wanted = 1.1;

}  // namespace

std::optional<hop::next_packet> local_application::next(time_us) const {
  if (waiting.empty()) return std::nullopt;
  return hop::next_packet{.ip_bytes = static_cast<std::uint32_t>(waiting.front().size())};
}

std::vector<std::uint8_t> local_application::take(time_us) {
  std::vector<std::uint8_t> first = std::move(waiting.front());
  waiting.pop_front();
  full = full && waiting.size() > queue_packets / 2;
  return first;
}

bool exact_flows::paces(const shim::ip_packet& packet) const {
  if (packet.view.flow.protocol != shim::ip_protocol_udp || packet.group || packet.transport_at == 0) return false;
  // Routing daemons talk from link-local addresses: what they say must not wait for what they find out.
  const bool link_local = packet.ipv6 && packet.view.flow.destination.high >> 54 == 0xfe80 >> 6;
  if (config_.all_udp && !link_local) return true;
  const source* known = find(packet.view.flow);
  return known != nullptr && known->from.in_use();
}

void exact_flows::on_packet(time_us now, const shim::flow_key& flow, std::span<const std::uint8_t> bytes) {
  source& source = used(now, flow);
  measure(now, source, bytes.size());
  local_application& from = source.from;
  if (from.waiting.size() >= from.queue_packets) {
    from.full = true;
    ++from.refused;
    ++refused_;
    return;
  }
  from.waiting.emplace_back(bytes.begin(), bytes.end());
  from.full |= from.waiting.size() == from.queue_packets;
}

std::optional<policy::exact_outgoing> exact_flows::on_segment(time_us now, const shim::ip_packet_view& segment) {
  policy::exact_sender& sender = used(now, segment.flow).sender;
  sender.set_packet_bytes(segment.ip_bytes);
  sender.next_send(now);  // what nobody has reported on for long is not under way any more
  if (sender.unacknowledged_packets() >= policy::exact_sender::most_under_way) return std::nullopt;
  return sender.on_send(now);
}

shim::flow_key exact_flows::reported_flow(shim::flow_key flow) const {
  if (find(flow) == nullptr) flow.protocol = shim::ip_protocol_tcp;
  return flow;
}

/// What the application seems to want: so much that a router gives the rest to others, and that it can grow again.
void exact_flows::measure(time_us now, source& source, std::size_t bytes) {
  local_application& from = source.from;
  from.waited |= from.waiting.size() > 1;
  from.measured_bytes += bytes;
  const time_us passed = now - from.measured_since;
  if (passed < measured_us) return;
  if (!from.wanted_bps) {
    const double sent_bps = 8e6 * static_cast<double>(from.measured_bytes) / static_cast<double>(passed);
    source.sender.set_application_rate(from.waited ? wire::unlimited_rate_bps : static_cast<std::uint64_t>(wanted_of_sent * sent_bps));
  }
  from.measured_since = now;
  from.measured_bytes = 0;
  from.waited = false;
}

void exact_flows::follow(time_us now, const shim::flow_key& flow, std::optional<std::uint64_t> wanted_bps,
                         std::optional<std::size_t> queue_packets) {
  local_application& from = used(now, flow).from;
  from.queue_packets = std::max<std::size_t>(queue_packets.value_or(config_.queue_packets), 1);
  ++from.followers;
  want(flow, wanted_bps);
}

void exact_flows::want(const shim::flow_key& flow, std::optional<std::uint64_t> wanted_bps) {
  source* known = find(flow);
  if (known == nullptr) return;
  known->from.wanted_bps = wanted_bps;
  known->sender.set_application_rate(wanted_bps ? static_cast<std::uint64_t>(asked_of_wanted * static_cast<double>(*wanted_bps))
                                                : wire::unlimited_rate_bps);
}

void exact_flows::unfollow(const shim::flow_key& flow) {
  source* known = find(flow);
  if (known == nullptr || known->from.followers == 0 || --known->from.followers != 0) return;
  // What still waits goes; then the flow is one that nobody has asked for.
  known->from.wanted_bps.reset();
}

exact_flow_state exact_flows::state_of(const source& source) {
  const policy::exact_sender& sender = source.sender;
  const local_application& from = source.from;
  return {.reported = sender.started(),
          .rate_bps = sender.rate_bps(),
          .path_bps = source.path_bps,
          .hops = source.hops,
          .silent_router = sender.silent_router(),
          .full = from.full,
          .waiting_packets = static_cast<std::uint32_t>(from.waiting.size()),
          .room_packets = static_cast<std::uint32_t>(from.queue_packets - std::min(from.queue_packets, from.waiting.size())),
          .window_packets = sender.window_packets(),
          .unacknowledged_packets = sender.unacknowledged_packets(),
          .round_trip_us = sender.smoothed_round_trip_us(),
          .sent_packets = sender.counters().packets,
          .refused_packets = from.refused,
          .reports = sender.counters().reports,
          .unreported_packets = sender.counters().presumed_lost,
          .halvings = sender.counters().halvings,
          .reroutes = source.reroutes,
          .reroute_us = source.reroute_us};
}

std::optional<exact_flow_state> exact_flows::state(const shim::flow_key& flow) const {
  const source* known = find(flow);
  return known == nullptr ? std::nullopt : std::optional(state_of(*known));
}

}  // namespace perhop::node
