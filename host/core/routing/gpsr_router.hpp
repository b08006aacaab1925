// SPDX-License-Identifier: GPL-2.0-or-later
/// GPSR on one node: sends each packet to the neighbour nearest to its destination, and around voids by the right-hand rule.
///
/// Source: B. Karp, H. T. Kung, "GPSR: Greedy Perimeter Stateless Routing for Wireless Networks", MobiCom 2000.
///
/// Sans I/O: packets and time go in, what is to be done comes out by take(), the next deadline by next_deadline(). What a packet
/// carries stays with the host, which names it by a number. Time never goes back. Not thread safe.
///
/// Where nodes stand is asked of the host: of this node as a receiver of GPS would tell it, of destinations as an ideal location service
/// would, at once and without a packet (as in the paper's evaluation). A packet keeps the place that its source was told; nodes on the way
/// know their neighbours' places from beacons and from the frames that they get.
///
/// A neighbour is forgotten when it was not heard for 4.5 beacon intervals, or when the MAC gave a packet for it up; that packet, and
/// those that wait for the same neighbour, go another way at once. They are not kept: a packet without any way is lost.
///
/// How it differs from the paper's:
/// - a node whose destination is a neighbour sends to it, wherever the packet says that it stands;
/// - frames for others are not heard: what they say of their sender is for their receiver alone, and sending one delays no beacon;
/// - an edge that touches the line to the destination in a node is taken: from there a packet goes greedily.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "host/core/policy/time.hpp"
#include "host/core/routing/gpsr_neighbours.hpp"
#include "host/core/routing/random_delay.hpp"
#include "host/core/wire/gpsr_header.hpp"

namespace perhop::routing {

using wire::everybody;

struct gpsr_config {
  time_us beacon_interval_us = 1'000'000;  ///< B; each interval is drawn anew from half of it to one and a half times it
  time_us neighbour_timeout_us = 4'500'000;
  planar_graph graph = planar_graph::gabriel;
};

/// Where a node stands at a time.
using gpsr_locator = std::function<gpsr_position(ipv4_address node, time_us now)>;

struct gpsr_packet {
  ipv4_address source = 0;
  ipv4_address destination = 0;
  std::uint8_t ttl = 255;  ///< as in its IP header
  wire::gpsr_header header{};
  wire::gpsr_header came{};                ///< as it was when it came to the node that sends it: from there another way is looked for
  std::optional<std::uint64_t> content{};  ///< the host's name of what it carries; nothing: a beacon
};

enum class gpsr_drop : std::uint8_t {
  no_neighbour,  ///< there is nobody to send it to
  unreachable,   ///< it has been all around the void, and no edge leads nearer
  malformed,     ///< no packet that GPSR sends
  ttl_spent      ///< time to live
};

struct gpsr_action {
  enum class kind : std::uint8_t { send, deliver, drop };
  kind what = kind::send;
  gpsr_packet packet{};
  ipv4_address next_hop = 0;  ///< send: `everybody` for a beacon
  gpsr_drop reason{};         ///< drop; of packets with content only
};

struct gpsr_counters {
  std::uint64_t beacons_sent = 0;
  std::uint64_t sent_greedily = 0;
  std::uint64_t sent_around = 0;  ///< in perimeter mode
  std::uint64_t links_failed = 0;
  std::uint64_t forwarded_anew = 0;  ///< after a failed link
};

class gpsr_router {
public:
  /// @param start when it begins; @param seed of its random delays, another one for each node
  gpsr_router(ipv4_address self, time_us start, std::uint64_t seed, gpsr_locator locate, const gpsr_config& config = {});

  /// This node sends a packet. @param protocol IP protocol of the content
  void originate(time_us now, std::uint64_t content, ipv4_address destination, std::uint8_t protocol, std::uint8_t ttl);

  /// A packet came for this node, as destination or next hop, or for everybody.
  void receive(time_us now, const gpsr_packet& packet);

  /// The MAC gave a packet up. @param packet as take() told to send it
  void on_link_failure(time_us now, ipv4_address next_hop, const gpsr_packet& packet);

  /// A packet that waited for a neighbour which has just failed was taken out of the queue.
  void on_unsent(time_us now, ipv4_address next_hop, const gpsr_packet& packet);

  std::optional<time_us> next_deadline() const { return next_beacon_us_; }
  /// next_deadline() has come.
  void expire(time_us now);

  /// What is to be done next; nothing when all is done. Take all after each of the calls above.
  std::optional<gpsr_action> take();

  ipv4_address address() const { return self_; }
  const gpsr_neighbours& neighbours() const { return neighbours_; }
  const gpsr_counters& counters() const { return counters_; }

private:
  struct choice {
    ipv4_address next_hop = 0;
    wire::gpsr_route route{};
  };

  void forward(time_us now, const gpsr_packet& packet);
  std::optional<choice> choose(const gpsr_packet& packet, const gpsr_position& here, gpsr_drop& why_not) const;
  std::optional<choice> enter_perimeter(wire::gpsr_route route, const gpsr_position& here, gpsr_drop& why_not) const;
  std::optional<choice> follow_perimeter(const gpsr_packet& packet, const gpsr_position& here, gpsr_drop& why_not) const;
  void drop(const gpsr_packet& packet, gpsr_drop reason);

  ipv4_address self_;
  random_delay random_;
  gpsr_locator locate_;
  gpsr_config config_;
  gpsr_neighbours neighbours_{};
  std::deque<gpsr_action> actions_{};
  time_us next_beacon_us_;
  gpsr_counters counters_{};
};

}  // namespace perhop::routing
