// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/exact_flows.hpp"

#include <algorithm>
#include <utility>

namespace perhop::node {

namespace {

constexpr std::size_t most_sources = 256;
constexpr std::size_t most_sinks = 1024;
constexpr time_us measured_us = 1'000'000;
constexpr double wanted_of_sent = 1.25;
// Pacing at just the rate at which packets come would never make up for one that was late.
constexpr double asked_of_wanted = 1.1;
// Routers forget a silent flow after at most so long: what they said of it no longer holds.
constexpr time_us forgotten_us = 5'000'000;
// A receiver's report tells of so many packets below the highest (wire::exact_report); what is older counts for nothing.
constexpr std::uint32_t reported_packets = 32;
constexpr std::uint32_t remembered_packets = 1024;

template <typename Table>
void make_room(Table& table, std::size_t most) {
  if (table.size() < most) return;
  const auto idle = std::min_element(table.begin(), table.end(),
                                     [](const auto& one, const auto& other) { return one.second.last_used < other.second.last_used; });
  table.erase(idle);
}

}  // namespace

void exact_flows::set_link_rate(std::uint64_t rate_bps) { link_rate_bps_ = rate_bps; }

// ---- Flows that begin here

bool exact_flows::paces(const shim::ip_packet& packet) const {
  if (packet.view.flow.protocol != shim::ip_protocol_udp || packet.group || packet.transport_at == 0) return false;
  // Routing daemons talk from link-local addresses: what they say must not wait for what they find out.
  const bool link_local = packet.ipv6 && packet.view.flow.destination.high >> 54 == 0xfe80 >> 6;
  if (config_.all_udp && !link_local) return true;
  const auto found = sources_.find(packet.view.flow);
  return found != sources_.end() && (found->second.followers != 0 || !found->second.waiting.empty());
}

exact_flows::source& exact_flows::source_of(time_us now, const shim::flow_key& flow) {
  auto found = sources_.find(flow);
  if (found == sources_.end()) {
    make_room(sources_, most_sources);
    found =
        sources_
            .emplace(flow, source{.sender = policy::exact_sender({.max_rate_bps = link_rate_bps_}), .queue_packets = config_.queue_packets})
            .first;
    found->second.measured_since = now;
  } else if (now - found->second.last_used > forgotten_us && found->second.waiting.empty()) {
    found->second.sender.restart();
  }
  found->second.last_used = now;
  return found->second;
}

void exact_flows::on_packet(time_us now, const shim::flow_key& flow, std::span<const std::uint8_t> bytes) {
  source& source = source_of(now, flow);
  measure(now, source, bytes.size());
  if (source.waiting.size() >= source.queue_packets) {
    source.full = true;
    ++source.refused;
    ++counters_.refused;
    return;
  }
  source.waiting.emplace_back(bytes.begin(), bytes.end());
  source.full |= source.waiting.size() == source.queue_packets;
}

/// What the application seems to want: so much that a router gives the rest to others, and that it can grow again.
void exact_flows::measure(time_us now, source& source, std::size_t bytes) {
  source.waited |= source.waiting.size() > 1;
  source.measured_bytes += bytes;
  const time_us passed = now - source.measured_since;
  if (passed < measured_us) return;
  if (!source.wanted_bps) {
    const double sent_bps = 8e6 * static_cast<double>(source.measured_bytes) / static_cast<double>(passed);
    source.sender.set_application_rate(source.waited ? wire::unlimited_rate_bps : static_cast<std::uint64_t>(wanted_of_sent * sent_bps));
  }
  source.measured_since = now;
  source.measured_bytes = 0;
  source.waited = false;
}

void exact_flows::on_deadline(time_us now) {
  for (auto& [key, source] : sources_) {
    if (const auto deadline = source.sender.deadline(); deadline && *deadline <= now) source.sender.on_deadline(now);
  }
}

void exact_flows::forget_idle(time_us now, time_us idle_us) {
  std::erase_if(sources_, [now, idle_us](const auto& entry) {
    const source& source = entry.second;
    return source.followers == 0 && source.waiting.empty() && now - source.last_used > idle_us;
  });
  std::erase_if(sinks_, [now, idle_us](const auto& entry) { return now - entry.second.last_used > idle_us; });
}

std::optional<exact_flows::outgoing> exact_flows::take_packet(time_us now) {
  for (auto& [key, source] : sources_) {
    if (source.waiting.empty()) continue;
    source.sender.set_packet_bytes(static_cast<std::uint32_t>(source.waiting.front().size()));
    source.release = source.sender.next_send(now);
    if (!source.release || *source.release > now) continue;
    outgoing found{.flow = key, .bytes = std::move(source.waiting.front()), .exact = source.sender.on_send(now)};
    source.waiting.pop_front();
    source.full = source.full && source.waiting.size() > source.queue_packets / 2;
    ++counters_.sent;
    return found;
  }
  return std::nullopt;
}

void exact_flows::on_first_hop(time_us now, const shim::flow_key& flow, const first_hop& hop) {
  const auto found = sources_.find(flow);
  if (found == sources_.end()) return;
  source& source = found->second;
  source.sender.on_first_hop(now, hop.explicit_rate_bps);
  if (source.next_hop != 0 && source.next_hop != hop.receiver_address) source.rerouted.emplace(hop.sequence, now);
  source.next_hop = hop.receiver_address;
}

void exact_flows::on_report(time_us now, const shim::flow_key& flow, const wire::exact_report& report,
                            std::optional<std::uint32_t> window_limit_packets) {
  const auto found = sources_.find(flow);
  if (found == sources_.end()) {
    ++counters_.unknown_reports;
    return;
  }
  source& source = found->second;
  source.sender.set_window_limit(window_limit_packets);
  if (!source.sender.on_report(now, report)) return;
  ++counters_.reports;
  source.path_bps = report.explicit_rate_bps;
  source.hops = report.hops;
  source.halvings_at_report = source.sender.counters().halvings;
  if (source.rerouted && static_cast<std::int32_t>(report.highest_sequence - source.rerouted->first) >= 0) {
    ++source.reroutes;
    source.reroute_us = static_cast<std::uint32_t>(now - source.rerouted->second);
    source.rerouted.reset();
  }
}

// ---- Flows that end here

void exact_flows::on_data(time_us now, const shim::ip_packet_view& packet, const wire::path_header& path, const wire::exact_header& exact,
                          std::uint64_t next_hop_back) {
  if (!sinks_.contains(packet.flow)) make_room(sinks_, most_sinks);
  sink& sink = sinks_[packet.flow];
  const auto behind = static_cast<std::int32_t>(sink.highest_sequence - exact.sequence);
  const bool begins_anew = behind > static_cast<std::int32_t>(reported_packets) &&
                           (exact.sequence < reported_packets || behind > static_cast<std::int32_t>(remembered_packets));
  if (sink.heard && begins_anew) {
    sink = exact_flows::sink();
    ++counters_.restarts;
  }
  if (!sink.heard || behind < 0) sink.highest_sequence = exact.sequence;
  sink.heard = true;
  sink.last_used = now;
  if (next_hop_back != 0) sink.next_hop = next_hop_back;
  sink.report_now |= sink.receiver.on_data(now, path, exact, shim::hops_from_ttl(packet.ttl));
}

bool exact_flows::is_live(time_us now, const sink& sink) { return now - sink.last_used <= forgotten_us; }

std::optional<exact_flows::due_report> exact_flows::take_report(time_us now) {
  for (auto& [key, sink] : sinks_) {
    const auto deadline = sink.receiver.deadline();
    if (!sink.report_now && (!deadline || *deadline > now)) continue;
    sink.report_now = false;
    ++counters_.reports_sent;
    return due_report{.flow = key, .report = sink.receiver.take_report(now)};
  }
  return std::nullopt;
}

// ---- Applications

void exact_flows::follow(time_us now, const shim::flow_key& flow, std::optional<std::uint64_t> wanted_bps,
                         std::optional<std::size_t> queue_packets) {
  source& source = source_of(now, flow);
  source.queue_packets = std::max<std::size_t>(queue_packets.value_or(config_.queue_packets), 1);
  ++source.followers;
  want(flow, wanted_bps);
}

void exact_flows::want(const shim::flow_key& flow, std::optional<std::uint64_t> wanted_bps) {
  const auto found = sources_.find(flow);
  if (found == sources_.end()) return;
  found->second.wanted_bps = wanted_bps;
  found->second.sender.set_application_rate(wanted_bps ? static_cast<std::uint64_t>(asked_of_wanted * static_cast<double>(*wanted_bps))
                                                       : wire::unlimited_rate_bps);
}

void exact_flows::unfollow(const shim::flow_key& flow) {
  const auto found = sources_.find(flow);
  if (found == sources_.end() || found->second.followers == 0 || --found->second.followers != 0) return;
  // What still waits goes; then the flow is one that nobody has asked for.
  found->second.wanted_bps.reset();
}

exact_flow_state exact_flows::state_of(const source& source) const {
  const policy::exact_sender& sender = source.sender;
  return {.reported = sender.started(),
          .rate_bps = sender.rate_bps(),
          .path_bps = source.path_bps,
          .hops = source.hops,
          .silent_router = sender.silent_router(),
          .full = source.full,
          .waiting_packets = static_cast<std::uint32_t>(source.waiting.size()),
          .room_packets = static_cast<std::uint32_t>(source.queue_packets - std::min(source.queue_packets, source.waiting.size())),
          .window_packets = sender.window_packets(),
          .unacknowledged_packets = sender.unacknowledged_packets(),
          .round_trip_us = sender.smoothed_round_trip_us(),
          .sent_packets = sender.counters().packets,
          .refused_packets = source.refused,
          .reports = sender.counters().reports,
          .unreported_packets = sender.counters().presumed_lost,
          .halvings = sender.counters().halvings,
          .reroutes = source.reroutes,
          .reroute_us = source.reroute_us};
}

std::optional<exact_flow_state> exact_flows::state(const shim::flow_key& flow) const {
  const auto found = sources_.find(flow);
  return found == sources_.end() ? std::nullopt : std::optional(state_of(found->second));
}

std::optional<time_us> exact_flows::next_deadline(bool can_send) const {
  std::optional<time_us> earliest;
  const auto consider = [&earliest](std::optional<time_us> due) {
    if (due) earliest = std::min(earliest.value_or(*due), *due);
  };
  for (const auto& [key, source] : sources_) {
    consider(source.sender.deadline());
    if (can_send && !source.waiting.empty()) consider(source.release);
  }
  for (const auto& [key, sink] : sinks_) consider(sink.receiver.deadline());
  return earliest;
}

}  // namespace perhop::node
