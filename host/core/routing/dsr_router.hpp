// SPDX-License-Identifier: GPL-2.0-or-later
/// DSR on one node (RFC 4728): finds routes, sends packets along them by the list that each carries, and tells sources of links that fail.
///
/// Sans I/O: packets and time go in, what is to be done comes out by take(), the next deadline by next_deadline(). What a packet
/// carries stays with the host, which names it by a number. Time never goes back. Not thread safe.
///
/// A link has failed when the MAC gave a packet up, and has not otherwise: no acknowledgement option is sent or asked for. Links
/// carry in both directions, as 802.11's unicast frames need them to: replies and errors go back the way that the packet came.
///
/// Where the RFC leaves a choice, ns-2.35's DSR decides, so that both can be compared:
/// - a target answers every copy of a request; an answer from a cache goes at once, without the delay that spares replies;
/// - requests, and the target's answers, wait at random 0 to 10 ms; what waits for a route is looked after every 30 to 60 ms;
/// - packets that a reply sets free go 30 ms apart (which gave ns-2's ARP time);
/// - a packet of somebody else that has no other route waits here, and this node asks its neighbours for one, once;
/// - the error told last to this node goes with its next request, within 1 s;
/// - a route that overhearing shows to be longer than it need be is told to its source at most once a second;
/// - routes have at most 16 nodes.
/// Not in it: flow state (RFC 4728, 5; ns-2.35 has an early form of it in use, so that most of its packets carry no list), network-layer
/// acknowledgements, external hops, several interfaces, multicast. Request back-off: see dsr_request_table.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "host/core/policy/time.hpp"
#include "host/core/routing/dsr_request_table.hpp"
#include "host/core/routing/dsr_route_cache.hpp"
#include "host/core/routing/random_delay.hpp"
#include "host/core/routing/send_buffer.hpp"
#include "host/core/wire/dsr_header.hpp"

namespace perhop::routing {

using wire::everybody;

struct dsr_config {
  dsr_route_cache_config cache{};
  dsr_request_config requests{};
  send_buffer_config buffer{};
  time_us jitter_us = 10'000;          ///< BroadcastJitter
  time_us shortest_check_us = 30'000;  ///< from one look at the send buffer to the next, and up to as much again at random
  time_us release_spacing_us = 30'000;
  time_us error_hold_us = 1'000'000;
  time_us gratuitous_hold_us = 1'000'000;  ///< GratReplyHoldoff
  std::size_t gratuitous_routes = 64;      ///< of which it is remembered when their source was told
  std::size_t most_nodes = 16;             ///< of a route, both ends among them; at most most_dsr_addresses
  std::size_t most_errors = 3;             ///< in one packet
};

struct dsr_packet {
  ipv4_address source = 0;
  ipv4_address destination = 0;
  std::uint8_t ttl = 255;  ///< as in its IP header
  wire::dsr_header header{};
  std::optional<std::uint64_t> content{};  ///< the host's name of what it carries; nothing: options alone
};

enum class dsr_drop : std::uint8_t {
  no_route,      ///< nobody knew one: it waited for too long, or somebody else's packet was not to be saved
  buffer_full,   ///< it made room for a newer one
  malformed,     ///< its route does not lead here, or twice over one node
  ttl_spent,     ///< time to live
  salvage_spent  ///< saved too often
};

struct dsr_action {
  enum class kind : std::uint8_t { send, deliver, drop };
  kind what = kind::send;
  dsr_packet packet{};
  ipv4_address next_hop = 0;       ///< send: `everybody` for a broadcast
  std::optional<unsigned> hops{};  ///< deliver: that it came over, where its route tells
  dsr_drop reason{};               ///< drop; of packets with content only
};

struct dsr_counters {
  std::uint64_t requests_sent = 0;  ///< of its own
  std::uint64_t requests_passed_on = 0;
  std::uint64_t replies_sent = 0;  ///< as target
  std::uint64_t replies_from_cache = 0;
  std::uint64_t gratuitous_replies = 0;
  std::uint64_t errors_sent = 0;
  std::uint64_t links_failed = 0;
  std::uint64_t salvaged = 0;
};

class dsr_router {
public:
  /// @param seed of its random delays, another one for each node
  dsr_router(ipv4_address self, std::uint64_t seed, const dsr_config& config = {});

  /// This node sends a packet. @param protocol IP protocol of the content
  void originate(time_us now, std::uint64_t content, ipv4_address destination, std::uint8_t protocol, std::uint8_t ttl);

  /// A packet came for this node, as destination or next hop, or for everybody.
  void receive(time_us now, dsr_packet&& packet);

  /// A packet to another node was heard. @param transmitter which sent it
  void overhear(time_us now, const dsr_packet& packet, ipv4_address transmitter);

  /// The MAC gave a packet up. @param packet as take() told to send it
  void on_link_failure(time_us now, ipv4_address next_hop, dsr_packet&& packet);

  /// A packet that waited for a neighbour which has just failed was taken out of the queue.
  void on_unsent(time_us now, ipv4_address next_hop, dsr_packet&& packet);

  std::optional<time_us> next_deadline() const;
  /// next_deadline() has come.
  void expire(time_us now);

  /// What is to be done next; nothing when all is done. Take all after each of the calls above.
  std::optional<dsr_action> take();

  ipv4_address address() const { return self_; }
  /// That the node would use now; for tests and reports.
  std::optional<node_path> route_to(time_us now, ipv4_address destination) { return cache_.find(now, destination, false); }
  std::size_t waiting() const { return buffer_.size(); }
  const dsr_counters& counters() const { return counters_; }

private:
  struct delayed {
    time_us at_us = 0;
    dsr_action action{};
  };
  struct told_route {
    node_path route{};
    time_us at_us = 0;
  };

  // dsr_router_requests.cpp
  void ask(time_us now, ipv4_address target, bool neighbours_only);
  void on_request(time_us now, dsr_packet&& packet);
  bool answer_from_cache(time_us now, const dsr_packet& request);
  void send_reply(time_us now, node_path&& route, node_path&& back, time_us delay_us);
  void accept_reply(time_us now, const wire::dsr_route_reply& reply);
  void tell_shorter(time_us now, std::size_t transmitter_at, std::size_t self_at, const node_path& route);

  // dsr_router.cpp
  void route_or_wait(time_us now, dsr_packet&& packet, bool ask_now);
  void send_along(dsr_packet&& packet, const node_path& route);
  void forward(time_us now, dsr_packet&& packet);
  void take_errors(time_us now, dsr_packet& packet);
  void send_error(ipv4_address next_hop, const dsr_packet& failed);
  void wait_for_route(time_us now, dsr_packet&& packet);
  void look_after_waiting(time_us now);
  bool follow_search(time_us now, const dsr_packet& packet);
  void emit(dsr_packet&& packet, ipv4_address next_hop) {
    actions_.push_back({.what = dsr_action::kind::send, .packet = std::move(packet), .next_hop = next_hop});
  }
  void emit_later(time_us at, dsr_packet&& packet, ipv4_address next_hop);
  void drop(dsr_packet&& packet, dsr_drop reason);
  bool is_own(const dsr_packet& packet) const { return packet.source == self_; }
  time_us random_us(time_us below) { return random_.draw(below); }

  ipv4_address self_;
  random_delay random_;
  dsr_config config_;
  dsr_route_cache cache_;
  dsr_request_table requests_;
  send_buffer<dsr_packet> buffer_;
  std::deque<dsr_action> actions_{};
  std::vector<delayed> delayed_{};  ///< by time
  std::optional<time_us> next_check_us_{};
  std::uint16_t next_identification_ = 0;
  std::optional<wire::dsr_route_error> held_error_{};
  time_us held_since_us_ = 0;
  std::deque<told_route> told_{};
  dsr_counters counters_{};
};

/// All nodes of the route that a packet follows, from its source, or from the node that saved it, to its destination. Requires a source
/// route.
node_path route_of(const dsr_packet& packet);

}  // namespace perhop::routing
