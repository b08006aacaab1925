// SPDX-License-Identifier: GPL-2.0-or-later
/// The ends of EXACT flows in this node: UDP packets that begin here wait until the rate of their path lets them go, and flows that
/// end here are reported on. Time is an argument. The rules are host/core's (exact_sender, exact_receiver).
///
/// Source: K. Chen, K. Nahrstedt, "Limitations of equation-based congestion control in mobile ad hoc networks", section VI. Ours:
///  - an application that does not say what it wants is taken to want 25 % more than it sent in the last second, and all it can get
///    while its packets have to wait;
///  - one that does asks the routers for a tenth more, so that packets that were late can catch up;
///  - a flow's queue is short and loses the newest: whoever asks (rate_server) is told how much room there is;
///  - a sender that begins to count anew (its daemon was started again) is met by a new receiver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/core/policy/exact_receiver.hpp"
#include "host/core/policy/exact_sender.hpp"
#include "host/core/policy/time.hpp"
#include "host/core/shim/flow_table.hpp"
#include "host/core/shim/ip_packet.hpp"
#include "host/core/shim/packet_view.hpp"

namespace perhop::node {

using policy::time_us;

struct exact_flows_config {
  bool all_udp = false;            ///< all UDP flows to one station; else those that an application has asked for
  std::size_t queue_packets = 16;  ///< of a flow, while it waits for its time
};

/// What an application may know of its flow. All rates are of IP packets.
struct exact_flow_state {
  bool reported = false;       ///< the receiver has told of the path
  std::uint64_t rate_bps = 0;  ///< what the flow may send now: never more than it asks for
  std::uint64_t path_bps = 0;  ///< smallest rate that a router of the path allows it; 0 before the first report
  std::uint8_t hops = 0;
  bool silent_router = false;
  bool full = false;  ///< no room until half of the queue has gone
  std::uint32_t waiting_packets = 0;
  std::uint32_t room_packets = 0;
  std::uint32_t window_packets = 0;
  std::uint32_t unacknowledged_packets = 0;
  std::uint32_t round_trip_us = 0;
  std::uint64_t sent_packets = 0;
  std::uint64_t refused_packets = 0;  ///< came while there was no room
  std::uint64_t reports = 0;
  std::uint64_t unreported_packets = 0;  ///< no report has come of them or later ones for so long that they count as lost
  std::uint64_t halvings = 0;
  std::uint64_t reroutes = 0;    ///< to another next hop, with a report from the new path
  std::uint32_t reroute_us = 0;  ///< of the last one: from the first packet on the new path to the first report of it
};

struct exact_flows_counters {
  std::uint64_t sent = 0;          ///< data packets that went
  std::uint64_t refused = 0;       ///< data packets that found no room
  std::uint64_t reports_sent = 0;  ///< by the receivers of this node
  std::uint64_t reports = 0;       ///< that came for senders of this node
  std::uint64_t unknown_reports = 0;
  std::uint64_t restarts = 0;  ///< senders elsewhere that began anew
};

class exact_flows {
public:
  explicit exact_flows(const exact_flows_config& config) : config_(config) {}

  /// What no flow can exceed: the rate of the link.
  void set_link_rate(std::uint64_t rate_bps);

  // ---- Flows that begin here

  /// Whether this packet of a local application is one of an EXACT flow.
  bool paces(const shim::ip_packet& packet) const;

  /// A packet of such a flow: kept until its time, or lost where there is no room.
  void on_packet(time_us now, const shim::flow_key& flow, std::span<const std::uint8_t> bytes);

  /// Time has passed: senders without reports slow down.
  void on_deadline(time_us now);

  /// Flows are forgotten, at both ends, of which nothing was heard for so long. Those that an application follows stay.
  void forget_idle(time_us now, time_us idle_us);

  struct outgoing {
    shim::flow_key flow;
    std::vector<std::uint8_t> bytes;
    policy::exact_outgoing exact;
  };
  /// A packet whose time has come. Ask again until there is none.
  std::optional<outgoing> take_packet(time_us now);

  /// How the packet just taken left this node.
  struct first_hop {
    std::uint32_t sequence = 0;
    std::uint64_t receiver_address = 0;
    std::uint64_t explicit_rate_bps = 0;
  };
  void on_first_hop(time_us now, const shim::flow_key& flow, const first_hop& hop);

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
      sink.report_now |= sink.next_hop != 0 && is_live(now, sink);
      sink.next_hop = next;
    }
  }

  /// @param window_limit_packets a congestion window limit of the flow; nothing: none
  void on_report(time_us now, const shim::flow_key& flow, const wire::exact_report& report,
                 std::optional<std::uint32_t> window_limit_packets);

  // ---- Flows that end here

  /// @param next_hop_back MAC address of the next hop to the source; 0: there is none
  void on_data(time_us now, const shim::ip_packet_view& packet, const wire::path_header& path, const wire::exact_header& exact,
               std::uint64_t next_hop_back);

  struct due_report {
    shim::flow_key flow;  ///< as its data packets carry it
    wire::exact_report report;
  };
  std::optional<due_report> take_report(time_us now);

  // ---- Applications

  /// An application asks for a flow to be one of EXACT from now on. @param wanted_bps nothing: as much as it sends
  /// @param queue_packets how many may wait, at least 1; nothing: as configured
  void follow(time_us now, const shim::flow_key& flow, std::optional<std::uint64_t> wanted_bps,
              std::optional<std::size_t> queue_packets = std::nullopt);
  void want(const shim::flow_key& flow, std::optional<std::uint64_t> wanted_bps);
  void unfollow(const shim::flow_key& flow);
  std::optional<exact_flow_state> state(const shim::flow_key& flow) const;

  /// When something is due. @param can_send false: packets cannot go, whatever their time
  std::optional<time_us> next_deadline(bool can_send) const;

  /// Calls visit(flow, state) for each flow that begins here.
  template <typename Visitor>
  void for_each_source(Visitor&& visit) const {
    for (const auto& [key, source] : sources_) visit(key, state_of(source));
  }
  std::size_t sources() const { return sources_.size(); }
  std::size_t sinks() const { return sinks_.size(); }
  const exact_flows_counters& counters() const { return counters_; }

private:
  struct source {
    policy::exact_sender sender;
    std::deque<std::vector<std::uint8_t>> waiting;
    std::optional<time_us> release;  ///< of the first that waits; nothing: a report must come first
    std::size_t queue_packets;
    bool full = false;
    std::uint64_t path_bps = 0;
    std::uint8_t hops = 0;
    std::uint64_t refused = 0;
    std::uint64_t next_hop = 0;                                 ///< 0: nothing has gone yet
    std::optional<std::pair<std::uint32_t, time_us>> rerouted;  ///< first number on a path of which no report has come, and when it went
    std::uint64_t reroutes = 0;
    std::uint32_t reroute_us = 0;
    std::uint64_t halvings_at_report = 0;
    time_us last_used = 0;
    std::uint32_t followers = 0;
    std::optional<std::uint64_t> wanted_bps;
    // What it sends when nobody says what it wants.
    time_us measured_since = 0;
    std::uint64_t measured_bytes = 0;
    bool waited = false;
  };
  struct sink {
    policy::exact_receiver receiver{{.repeat_after_us = 100'000}};
    std::uint32_t highest_sequence = 0;
    bool heard = false;
    bool report_now = false;
    std::uint64_t next_hop = 0;  ///< of reports, as on_routes last heard; 0: never
    time_us last_used = 0;
  };
  struct key_hash {
    std::size_t operator()(const shim::flow_key& key) const { return static_cast<std::size_t>(shim::flow_table::hash(key)); }
  };

  source& source_of(time_us now, const shim::flow_key& flow);
  /// The routers still know the flow.
  static bool is_live(time_us now, const sink& sink);
  void measure(time_us now, source& source, std::size_t bytes);
  exact_flow_state state_of(const source& source) const;

  exact_flows_config config_;
  std::uint64_t link_rate_bps_ = 2'000'000;
  std::unordered_map<shim::flow_key, source, key_hash> sources_;
  std::unordered_map<shim::flow_key, sink, key_hash> sinks_;
  exact_flows_counters counters_;
};

}  // namespace perhop::node
