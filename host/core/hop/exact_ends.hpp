// SPDX-License-Identifier: GPL-2.0-or-later
/// The ends of EXACT flows in a node, once for all hosts: packets of flows that begin here go when the rate of their path lets them,
/// flows that end here are reported on, and an account of each is kept. Sans I/O; time is microseconds and never goes back.
///
///   application has a packet -> [exact_sender: rate, window] -> serve() -> host sends -> hop path -> on_left()
///   report for here          -> on_report()
///   data for here            -> on_data() -> [exact_receiver: when] -> serve() -> host sends the report
///
/// `application` is what the host keeps of whatever sends over a flow, with
///
///   optional<next_packet> next(now)         what it would send now, and not before when; nothing: it has nothing to send
///   content take(now)                       that packet goes: what the host needs to send it
///   bool in_use() const                     the flow is not forgotten, however long it is silent
///
/// Source: K. Chen, K. Nahrstedt, "Limitations of equation-based congestion control in mobile ad hoc networks", section VI. Ours:
///  - a flow that was silent for so long that its routers have forgotten it begins as at first;
///  - so does one whose reports stay out, when its route changes; and its receiver reports again when the way back does;
///  - a sender that begins to count anew (its daemon was started again) is met by a new receiver.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "host/core/hop/outgoing.hpp"
#include "host/core/policy/exact_receiver.hpp"
#include "host/core/policy/exact_sender.hpp"
#include "host/core/policy/time.hpp"
#include "host/core/shim/packet_view.hpp"
#include "host/core/wire/path_header.hpp"

namespace perhop::hop {

using policy::time_us;

struct exact_ends_config {
  policy::exact_sender_config sender{};      ///< of flows that begin here; the length is each packet's own
  policy::exact_receiver_config receiver{};  ///< of flows that end here
};

struct exact_ends_counters {
  std::uint64_t sent = 0;          ///< data packets that went
  std::uint64_t reports_sent = 0;  ///< by the receivers of this node
  std::uint64_t reports = 0;       ///< that came for senders of this node, and told something new
  std::uint64_t unknown_reports = 0;
  std::uint64_t restarts = 0;  ///< senders elsewhere that began anew
};

/// What an application would send now.
struct next_packet {
  std::uint32_t ip_bytes = 0;
  time_us not_before = 0;
};

/// What a data packet of an EXACT flow says of it, when this node originates the packet.
inline shim::exact_view view_of(const policy::exact_outgoing& data) {
  return {.wanted_rate_bps = data.explicit_rate_bps, .current_rate_bps = data.current_rate_bps, .follows = true};
}

template <typename application_type>
class exact_ends {
public:
  using application = application_type;
  using content = decltype(std::declval<application&>().take(time_us{}));

  static constexpr std::size_t most_sources = 256;
  static constexpr std::size_t most_sinks = 1024;

  /// A flow that begins here.
  struct source {
    policy::exact_sender sender;
    application from;
    std::optional<time_us> release{};  ///< of its next packet; nothing: there is none, or a report must come first
    std::uint64_t path_bps = 0;        ///< smallest rate that a router of the path allows it; 0 before the first report
    std::uint8_t hops = 0;
    std::uint64_t next_hop = 0;                                   ///< MAC address; 0: nothing has gone yet
    std::optional<std::pair<std::uint32_t, time_us>> rerouted{};  ///< first number on a path without a report, and when it went
    std::uint64_t reroutes = 0;                                   ///< to another next hop, with a report from the new path
    std::uint32_t reroute_us = 0;  ///< of the last one: from the first packet on the new path to the first report of it
    std::uint64_t halvings_at_report = 0;
    time_us last_used = 0;
    bool ended = false;
  };

  explicit exact_ends(const exact_ends_config& config = {}) : config_(config) {}

  // ---- Flows that begin here

  /// What no new flow can exceed: the rate of the link.
  void set_link_rate(std::uint64_t rate_bps) { config_.sender.max_rate_bps = rate_bps; }

  /// The flow is used: made where it is new, by `application(arguments...)`; as at first where its routers have forgotten it.
  template <typename... arguments>
  source& use(time_us now, const shim::flow_key& flow, arguments&&... made_of) {
    auto found = sources_.find(flow);
    if (found == sources_.end()) {
      make_room(sources_, most_sources);
      found = sources_.emplace(flow, source{policy::exact_sender(config_.sender), application{std::forward<arguments>(made_of)...}}).first;
    } else if (now - found->second.last_used > forgotten_us && !found->second.from.next(now)) {
      found->second.sender.restart();
    }
    found->second.last_used = now;
    return found->second;
  }

  /// @return null when no such flow begins here
  source* find(const shim::flow_key& flow) {
    const auto found = sources_.find(flow);
    return found == sources_.end() ? nullptr : &found->second;
  }
  const source* find(const shim::flow_key& flow) const { return const_cast<exact_ends*>(this)->find(flow); }

  struct sent {
    shim::flow_key flow;
    content what;
    policy::exact_outgoing exact;
  };

  /// A packet whose time has come. Ask again until there is none.
  std::optional<sent> take_packet(time_us now) {
    for (auto& [key, source] : sources_) {
      if (source.ended) continue;
      const std::optional<next_packet> next = source.from.next(now);
      source.release.reset();
      if (!next) continue;
      source.sender.set_packet_bytes(next->ip_bytes);
      const std::optional<time_us> allowed = source.sender.next_send(now);
      if (!allowed) continue;
      source.release = std::max(*allowed, next->not_before);
      if (*source.release <= now) return take(now, key, source, false);
    }
    return std::nullopt;
  }

  /// The flow ends: its last packet goes at once, and tells the routers that no other comes. Requires that the flow begins here.
  sent finish(time_us now, const shim::flow_key& flow) {
    source& source = *find(flow);
    source.ended = true;
    return take(now, flow, source, true);
  }

  /// A packet has passed the router (hop_path calls its host's on_left). @param receiver MAC address of the next hop
  template <typename packet>
  void on_left(time_us now, const packet& what, std::uint64_t receiver, const wire::path_header& header) {
    const auto* data = std::get_if<wire::exact_header>(&what.rider);
    source* source = data != nullptr && what.from == origin::here ? find(what.view.flow) : nullptr;
    if (source == nullptr) return;
    source->sender.on_first_hop(now, header.explicit_rate_bps);
    if (source->next_hop != 0 && source->next_hop != receiver) source->rerouted.emplace(data->sequence, now);
    source->next_hop = receiver;
  }

  /// @param window_limit_packets a congestion window limit of the flow; nothing: none
  /// @return the flow, when the report told something new; else null
  source* on_report(time_us now, const shim::flow_key& flow, const wire::exact_report& report,
                    std::optional<std::uint32_t> window_limit_packets) {
    source* source = find(flow);
    if (source == nullptr) {
      ++counters_.unknown_reports;
      return nullptr;
    }
    source->sender.set_window_limit(window_limit_packets);
    if (!source->sender.on_report(now, report)) return nullptr;
    ++counters_.reports;
    source->path_bps = report.explicit_rate_bps;
    source->hops = report.hops;
    source->halvings_at_report = source->sender.counters().halvings;
    if (source->rerouted && static_cast<std::int32_t>(report.highest_sequence - source->rerouted->first) >= 0) {
      ++source->reroutes;
      source->reroute_us = static_cast<std::uint32_t>(now - source->rerouted->second);
      source->rerouted.reset();
    }
    return source;
  }

  // ---- Flows that end here

  /// A data packet arrived. @param next_hop_back MAC address of the next hop to the source; 0: there is none
  void on_data(time_us now, const shim::ip_packet_view& packet, const wire::path_header& path, const wire::exact_header& exact,
               std::uint64_t next_hop_back) {
    auto found = sinks_.find(packet.flow);
    if (found == sinks_.end()) {
      make_room(sinks_, most_sinks);
      found = sinks_.emplace(packet.flow, sink{policy::exact_receiver(config_.receiver)}).first;
    }
    sink& sink = found->second;
    const auto behind = static_cast<std::int32_t>(sink.highest_sequence - exact.sequence);
    const bool begins_anew = behind > static_cast<std::int32_t>(reported_packets) &&
                             (exact.sequence < reported_packets || behind > static_cast<std::int32_t>(remembered_packets));
    if (sink.heard && begins_anew) {
      sink = exact_ends::sink{policy::exact_receiver(config_.receiver)};
      ++counters_.restarts;
    }
    if (!sink.heard || behind < 0) sink.highest_sequence = exact.sequence;
    sink.heard = true;
    sink.last_used = now;
    if (next_hop_back != 0) sink.next_hop = next_hop_back;
    sink.report_now |= sink.receiver.on_data(now, path, exact, shim::hops_from_ttl(packet.ttl));
  }

  /// @return null when no such flow ends here
  const policy::exact_receiver* receiver_of(const shim::flow_key& flow) const {
    const auto found = sinks_.find(flow);
    return found == sinks_.end() ? nullptr : &found->second.receiver;
  }

  struct due_report {
    shim::flow_key flow;  ///< as its data packets carry it
    wire::exact_report report;
  };

  /// A report whose time has come. Ask again until there is none.
  std::optional<due_report> take_report(time_us now) {
    for (auto& [key, sink] : sinks_) {
      const auto deadline = sink.receiver.deadline();
      if (!sink.report_now && (!deadline || *deadline > now)) continue;
      sink.report_now = false;
      ++counters_.reports_sent;
      return due_report{.flow = key, .report = sink.receiver.take_report(now)};
    }
    return std::nullopt;
  }

  // ---- Both

  /// Routes have changed. A flow whose reports stay out has nothing to lose on a path that is new: it begins as at first. A report
  /// that may have been lost goes again on the new path.
  /// @param next_hop_of gives the MAC address of the next hop to an address; 0: there is none
  template <typename Lookup>
  void on_routes(time_us now, Lookup&& next_hop_of) {
    for (auto& [key, source] : sources_) {
      if (source.next_hop == 0 || source.sender.counters().halvings == source.halvings_at_report) continue;
      if (const std::uint64_t next = next_hop_of(key.destination); next != 0 && next != source.next_hop) source.sender.restart();
    }
    for (auto& [key, sink] : sinks_) {
      const std::uint64_t next = next_hop_of(key.source);
      if (next == 0 || next == sink.next_hop) continue;
      const bool routers_know_it = now - sink.last_used <= forgotten_us;
      sink.report_now |= sink.next_hop != 0 && routers_know_it;
      sink.next_hop = next;
    }
  }

  /// Time has passed: senders without reports slow down.
  void on_deadline(time_us now) {
    for (auto& [key, source] : sources_) {
      if (source.ended) continue;
      if (const auto deadline = source.sender.deadline(); deadline && *deadline <= now) source.sender.on_deadline(now);
    }
  }

  /// Sends what may go now.
  /// @param host has  bool has_room() const            for a packet of data; it is asked again before each
  ///                  void send_report(due_report&&)
  ///                  void send_data(sent&&)           on_left() is called within it, or never
  template <typename host_type>
  void serve(time_us now, host_type& host) {
    on_deadline(now);
    while (auto due = take_report(now)) host.send_report(std::move(*due));
    while (host.has_room()) {
      auto packet = take_packet(now);
      if (!packet) break;
      host.send_data(std::move(*packet));
    }
  }

  /// When serve() wants to be called. @param has_room false: data cannot go, whatever its time
  std::optional<time_us> next_deadline(bool has_room) const {
    std::optional<time_us> earliest;
    const auto consider = [&earliest](std::optional<time_us> due) {
      if (due) earliest = std::min(earliest.value_or(*due), *due);
    };
    for (const auto& [key, source] : sources_) {
      if (source.ended) continue;
      consider(source.sender.deadline());
      if (has_room) consider(source.release);
    }
    for (const auto& [key, sink] : sinks_) consider(sink.report_now ? std::optional<time_us>(0) : sink.receiver.deadline());
    return earliest;
  }

  /// Flows are forgotten, at both ends, of which nothing was heard for so long. Those in use stay.
  void forget_idle(time_us now, time_us idle_us) {
    const auto idle = [now, idle_us](const auto& end) { return now - end.last_used > idle_us; };
    std::erase_if(sources_, [&idle](const auto& entry) { return !entry.second.from.in_use() && idle(entry.second); });
    std::erase_if(sinks_, [&idle](const auto& entry) { return idle(entry.second); });
  }

  /// Flows that begin here, by their keys.
  const auto& sources() const { return sources_; }
  std::size_t sinks() const { return sinks_.size(); }
  const exact_ends_counters& counters() const { return counters_; }

private:
  // Routers forget a silent flow after at most so long: what they said of it no longer holds.
  static constexpr time_us forgotten_us = 5'000'000;
  // A receiver's report tells of so many packets below the highest (wire::exact_report); what is older counts for nothing.
  static constexpr std::uint32_t reported_packets = 32;
  static constexpr std::uint32_t remembered_packets = 1024;

  struct sink {
    policy::exact_receiver receiver;
    std::uint32_t highest_sequence = 0;
    bool heard = false;
    bool report_now = false;
    std::uint64_t next_hop = 0;  ///< of reports, as on_routes last heard; 0: never
    time_us last_used = 0;
  };

  sent take(time_us now, const shim::flow_key& key, source& source, bool last) {
    ++counters_.sent;
    return {.flow = key, .what = source.from.take(now), .exact = source.sender.on_send(now, last)};
  }

  /// The flow idle longest goes.
  template <typename table>
  static void make_room(table& flows, std::size_t most) {
    if (flows.size() < most) return;
    flows.erase(std::min_element(flows.begin(), flows.end(),
                                 [](const auto& one, const auto& other) { return one.second.last_used < other.second.last_used; }));
  }

  exact_ends_config config_;
  std::map<shim::flow_key, source> sources_;  // in an order that does not hang on a hash: it decides who goes first
  std::map<shim::flow_key, sink> sinks_;
  exact_ends_counters counters_;
};

}  // namespace perhop::hop
