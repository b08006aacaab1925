// SPDX-License-Identifier: GPL-2.0-or-later
/// What a sequence of packets, completions and times is played to, whatever host of the hop path is behind it, and what is then seen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/core/hop/exact_ends.hpp"
#include "host/core/hop/hop_path.hpp"

namespace perhop::hop_test {

using bytes = std::vector<std::uint8_t>;
using hop::time_us;

/// Node 0 is the one that is looked at; all others are its neighbours.
inline constexpr std::uint32_t neighbours = 24;
inline constexpr std::size_t queue_packets = 12;
inline constexpr std::uint8_t data_rate_index = 1;
inline constexpr std::uint32_t mtu_bytes = 1500;
constexpr std::uint32_t ipv4_of(std::uint32_t node) { return 0x0a00'0001 + node; }
constexpr std::uint64_t mac_of(std::uint32_t node) { return node_address_base + node + 1; }

/// The MAC is done with the frame that it has.
struct completion {
  bool delivered = true;
  std::uint32_t contention_us = 0;
  std::uint32_t overhead_us = 0;
  std::uint32_t data_us = 0;
  std::uint8_t data_attempts = 1;
  std::uint32_t avg_contention_us16 = 0;
  std::uint32_t avg_overhead_us16 = 0;
  std::uint16_t avg_data_attempts_256 = 0;
};

/// Something that happens to a node.
struct event {
  enum class what : std::uint8_t { send, receive, forward, complete, begin } kind = what::send;
  time_us now = 0;
  bytes ip{};
  wire::path_header header{};
  hop::exact_rider rider{};
  completion done{};
  std::size_t flow = 0;  ///< begins
};

/// EXACT flows that begin and that end at node 0, and the length of their packets.
inline constexpr std::size_t exact_flows = 3;
inline constexpr std::uint32_t exact_ip_bytes = 1028;
inline constexpr std::uint16_t exact_port = 7000;
inline shim::flow_key exact_flow_from_here(std::size_t flow) {
  const auto port = static_cast<std::uint16_t>(exact_port + flow);
  return {.source = shim::ip_address::from_ipv4(ipv4_of(0)),
          .destination = shim::ip_address::from_ipv4(ipv4_of(1 + static_cast<std::uint32_t>(flow))),
          .source_port = port,
          .destination_port = port,
          .protocol = shim::ip_protocol_udp};
}
inline shim::flow_key exact_flow_to_here(std::size_t flow) {
  shim::flow_key key = exact_flow_from_here(flow).reversed();
  key.source_port = key.destination_port = static_cast<std::uint16_t>(key.source_port + 100);
  return key;
}
/// With its checksum left out.
bytes udp_of(const shim::flow_key& flow, std::size_t ip_bytes);

/// As a frame carries it.
inline wire::path_header rounded(const wire::path_header& header) { return *wire::decode(wire::encode(header)); }

class host_under_test {
public:
  virtual ~host_under_test() = default;

  /// Lets time pass: deadlines up to `now` are kept, each at its time.
  virtual void pass(time_us now) = 0;
  /// This node's IP sends a packet to a neighbour.
  virtual void send(time_us now, const bytes& ip) = 0;
  /// A packet for this node arrives. @return the window that its TCP header has then; nothing: as it came
  virtual std::optional<std::uint16_t> receive(time_us now, const wire::path_header& header, const hop::exact_rider& rider,
                                               const bytes& ip) = 0;
  /// A packet arrives and goes on to a neighbour.
  virtual void forward(time_us now, const wire::path_header& header, const hop::exact_rider& rider, const bytes& ip) = 0;
  /// The application of exact_flow_from_here(flow) sends as much as it may from now on.
  virtual void begin(time_us now, std::size_t flow) = 0;
  /// Requires has_frame().
  virtual void complete(time_us now, const completion& done) = 0;
  virtual bool has_frame() const = 0;

  /// Frames that the MAC got since this was last asked, with their path headers; queue, deadline and counters.
  virtual std::string state() = 0;
};

struct setting {
  shim::flow_policy policy{};
  bool exact = false;
};

std::unique_ptr<host_under_test> make_ns3_host(const setting& with);
std::unique_ptr<host_under_test> make_node_host(const setting& with);
std::unique_ptr<host_under_test> make_study_host(const setting& with);

/// In mode m1, which has no hellos: they begin at times drawn from the node's name, which each host has of its own.
inline std::optional<policy::exact_router_config> exact_of(const setting& with) {
  if (!with.exact) return std::nullopt;
  policy::exact_router_config exact;
  exact.profile = find_profile("dsss_long");
  exact.mode = policy::exact_mode::m1;
  return exact;
}

inline shim::shim_config shim_of(const setting& with) {
  shim::shim_config config;
  config.profile = find_profile("dsss_long");
  config.policy = with.policy;
  config.mtu_bytes = mtu_bytes;
  config.exact = exact_of(with);
  return config;
}

/// What no flow can exceed.
inline std::uint64_t link_rate_bps() { return find_profile("dsss_long")->rates[data_rate_index].bps; }

/// The daemon's, for all three: it alone has reports repeated when a flow falls silent.
inline hop::exact_ends_config ends_config() { return {.sender = {.max_rate_bps = link_rate_bps()}}; }

/// A frame that the MAC got, in one line.
inline std::string text_of(std::uint64_t receiver, std::uint8_t peer, std::uint32_t mpdu_bytes, const wire::path_header& header,
                           const hop::exact_rider& rider) {
  std::string text = " frame to " + std::to_string(receiver - node_address_base - 1) + " in slot " + std::to_string(peer) + " of " +
                     std::to_string(mpdu_bytes) + " header ";
  const auto encoded = wire::encode(header);
  bytes behind(encoded.begin(), encoded.end());
  hop::append_rider(behind, rider);
  for (const std::uint8_t byte : behind) {
    constexpr const char* digits = "0123456789abcdef";
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}

/// What can be seen of the ends of EXACT flows.
template <typename ends_type>
std::string text_of_ends(const ends_type& ends, bool has_room) {
  const hop::exact_ends_counters& counters = ends.counters();
  const std::optional<time_us> deadline = ends.next_deadline(has_room);
  std::string text = " ends: deadline " + (deadline ? std::to_string(*deadline) : "-") + " sinks " + std::to_string(ends.sinks()) +
                     " sent " + std::to_string(counters.sent) + " reported " + std::to_string(counters.reports_sent) + " reports " +
                     std::to_string(counters.reports) + " unknown " + std::to_string(counters.unknown_reports) + " restarts " +
                     std::to_string(counters.restarts);
  for (const auto& [key, source] : ends.sources()) {
    text += " | port " + std::to_string(key.source_port) + " rate " + std::to_string(source.sender.rate_bps()) + " window " +
            std::to_string(source.sender.window_packets()) + " of it " + std::to_string(source.sender.unacknowledged_packets()) + " path " +
            std::to_string(source.path_bps) + " hops " + std::to_string(source.hops) + " halvings " +
            std::to_string(source.sender.counters().halvings) + " reroutes " + std::to_string(source.reroutes);
  }
  return text;
}

/// What can be seen of a hop path.
template <typename path_type>
std::string text_of(const path_type& path) {
  const shim::shim_counters& counters = path.shim().counters();
  const std::optional<time_us> deadline = path.next_deadline();
  return " queue " + std::to_string(path.queue().size()) + " of " + std::to_string(path.queue().bytes()) + " room " +
         std::to_string(path.room().size()) + " deadline " + (deadline ? std::to_string(*deadline) : "-") + " originated " +
         std::to_string(counters.originated) + " forwarded " + std::to_string(counters.forwarded) + " held " +
         std::to_string(counters.tcp_acks_held) + " delayed " + std::to_string(counters.packets_delayed) + " rewritten " +
         std::to_string(counters.windows_rewritten);
}

}  // namespace perhop::hop_test
