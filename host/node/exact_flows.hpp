// SPDX-License-Identifier: GPL-2.0-or-later
/// EXACT flows of this host's applications: their UDP packets wait here until the ends of EXACT flows (host/core/hop/exact_ends.hpp)
/// let them go. Time is an argument.
///
/// Segments of TCP never wait here. Where the policy is `paced exact`, they carry what UDP packets of EXACT carry, and whoever has the
/// sender's socket gives the flow's rate to it (SO_MAX_PACING_RATE).
///
///  - An application that does not say what it wants is taken to want 25 % more than it sent in the last second, and all it can get
///    while its packets have to wait;
///  - one that does asks the routers for a tenth more, so that packets that were late can catch up;
///  - a flow's queue is short and loses the newest: whoever asks (rate_server) is told how much room there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "host/core/hop/exact_ends.hpp"
#include "host/core/shim/ip_packet.hpp"

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

/// An application of this host, as the ends of EXACT flows see it: packets that wait.
struct local_application {
  std::size_t queue_packets = 0;
  time_us measured_since = 0;  ///< what it sends, when nobody says what it wants
  std::uint64_t measured_bytes = 0;
  bool waited = false;
  std::deque<std::vector<std::uint8_t>> waiting{};
  bool full = false;
  std::uint64_t refused = 0;
  std::uint32_t followers = 0;
  std::optional<std::uint64_t> wanted_bps{};

  std::optional<hop::next_packet> next(time_us) const;
  std::vector<std::uint8_t> take(time_us now);
  bool in_use() const { return followers != 0 || !waiting.empty(); }
};

class exact_flows : public hop::exact_ends<local_application> {
public:
  explicit exact_flows(const exact_flows_config& config) : config_(config) {}

  /// Whether this packet of a local application is one of an EXACT flow.
  bool paces(const shim::ip_packet& packet) const;

  /// A packet of such a flow: kept until its time, or lost where there is no room.
  void on_packet(time_us now, const shim::flow_key& flow, std::span<const std::uint8_t> bytes);

  /// A segment with data of a TCP flow of this host leaves. @return what it says to the routers; nothing: too many are under way to say
  /// more
  std::optional<policy::exact_outgoing> on_segment(time_us now, const shim::ip_packet_view& segment);

  /// Which flow a report is about that came for this one: a flow of TCP is reported on in UDP packets with its ports.
  shim::flow_key reported_flow(shim::flow_key flow) const;

  /// An application asks for a flow to be one of EXACT from now on. @param wanted_bps nothing: as much as it sends
  /// @param queue_packets how many may wait, at least 1; nothing: as configured
  void follow(time_us now, const shim::flow_key& flow, std::optional<std::uint64_t> wanted_bps,
              std::optional<std::size_t> queue_packets = std::nullopt);
  void want(const shim::flow_key& flow, std::optional<std::uint64_t> wanted_bps);
  void unfollow(const shim::flow_key& flow);

  std::optional<exact_flow_state> state(const shim::flow_key& flow) const;
  static exact_flow_state state_of(const source& source);

  /// Data packets that found no room.
  std::uint64_t refused() const { return refused_; }

private:
  source& used(time_us now, const shim::flow_key& flow) { return use(now, flow, config_.queue_packets, now); }
  static void measure(time_us now, source& source, std::size_t bytes);

  exact_flows_config config_;
  std::uint64_t refused_ = 0;
};

}  // namespace perhop::node
