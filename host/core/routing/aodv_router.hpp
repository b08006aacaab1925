// SPDX-License-Identifier: GPL-2.0-or-later
/// AODV on one node (RFC 3561): finds routes hop by hop, keeps them while they are used, and tells its neighbours of those that are gone.
///
/// Sans I/O: packets and time go in, what is to be done comes out by take(), the next deadline by next_deadline(). What a packet
/// carries stays with the host, which names it by a number. Time never goes back. Not thread safe.
///
/// A link has failed when the MAC gave a packet up, and has not otherwise: there are no HELLO messages. A packet that was given up on the
/// nearer half of its way costs this node all routes over that neighbour and all packets that wait for it (action `purge`); on the farther
/// half this node keeps it and looks for another way itself (local repair).
///
/// Where the RFC leaves a choice, and in its constants, ns-2.35's AODV decides, so that both can be compared:
/// - a destination answers only the first copy of a request; its own number is even, and an outdated one odd;
/// - a search asks the whole network when this node has never lost a route to the destination; else first as far as that was, and 2 hops;
/// - one search lasts twice as long as the last answers took for as many hops as it goes, and n times that for the nth of the whole
/// network.
///   After four of them what waits is dropped, and the next one begins 10 s later;
/// - expired routes and waiting packets are looked after every half second, at the same times on all nodes;
/// - requests and errors that are passed on wait at random 0 to 10 ms; what a node says first goes at once;
/// - packets that an answer sets free go 10 ms apart (which gave ns-2's ARP time);
/// - a packet of somebody else without a route is dropped, and all neighbours are told;
/// - repair: see aodv_repair_config, where ns-2.35 departs from the RFC.
/// Not in it: HELLO, acknowledgement of replies, the list of one-way links, gratuitous replies, multicast, external routes, a limit of
/// messages a second, the wait after a restart.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "host/core/policy/time.hpp"
#include "host/core/routing/aodv_route.hpp"
#include "host/core/routing/random_delay.hpp"
#include "host/core/routing/send_buffer.hpp"
#include "host/core/wire/aodv_message.hpp"

namespace perhop::routing {

using wire::everybody;

/// Local repair (RFC 3561, 6.12). The values are those of ns-2.35; the comments say what the RFC wants.
struct aodv_repair_config {
  bool enabled = true;
  /// The RFC asks for a newer route than the broken one. Without that neighbours answer from theirs, which are as old, so that no
  /// answer is better: a repair then succeeds only where the destination itself answers.
  bool asks_for_newer = false;
  /// Somebody else's request is answered with the route under repair. The RFC's routes are not valid then.
  bool answers_meanwhile = true;
  /// The RFC gives a repair up when its search ends, and tells the precursors. ns-2.35 waits for as long as the clock shows at the end of
  /// the search, which is about twice the time since the start of the run, and tells nobody.
  bool ends_with_search = false;
};

/// What RFC 3561 wants of a repair.
inline constexpr aodv_repair_config aodv_repair_by_rfc{.asks_for_newer = true, .answers_meanwhile = false, .ends_with_search = true};

struct aodv_config {
  std::uint8_t network_diameter = 30;      ///< NET_DIAMETER; time to live of packets and of far requests
  std::uint8_t first_ttl = 30;             ///< of a request for a destination that no route was ever lost to; the RFC begins with rings
  std::uint8_t ttl_increment = 2;          ///< TTL_INCREMENT
  std::uint8_t ttl_threshold = 7;          ///< TTL_THRESHOLD: from there on the whole network is asked
  unsigned searches = 4;                   ///< of the whole network: RREQ_RETRIES and the first one
  time_us hop_traversal_us = 30'000;       ///< NODE_TRAVERSAL_TIME, until answers tell
  std::size_t latencies = 3;               ///< answers that are averaged
  time_us longest_search_us = 10'000'000;  ///< and the pause after the last one
  time_us active_route_us = 10'000'000;    ///< ACTIVE_ROUTE_TIMEOUT
  time_us own_route_us = 10'000'000;       ///< MY_ROUTE_TIMEOUT
  time_us reverse_route_us = 6'000'000;    ///< that a request leaves behind, unless it is used
  time_us request_memory_us = 6'000'000;   ///< PATH_DISCOVERY_TIME
  std::size_t requests_remembered = 1024;  ///< the oldest makes room
  time_us check_period_us = 500'000;
  time_us jitter_us = 10'000;
  time_us release_spacing_us = 10'000;
  send_buffer_config buffer{};
  aodv_repair_config repair{};
};

struct aodv_packet {
  ipv4_address source = 0;
  ipv4_address destination = 0;
  std::uint8_t ttl = 0;       ///< as in its IP header, and network_diameter where it begins
  std::uint64_t content = 0;  ///< the host's name of it

  friend bool operator==(const aodv_packet&, const aodv_packet&) = default;
};

enum class aodv_drop : std::uint8_t {
  no_route,      ///< nobody knew one, or it waited for too long
  buffer_full,   ///< it made room for a newer one
  loop,          ///< it came back to its source
  ttl_spent,     ///< time to live
  link_failure,  ///< the MAC gave it up, and this node does not repair its route
};

struct aodv_action {
  enum class kind : std::uint8_t {
    send,     ///< `packet` to `next_hop`
    tell,     ///< `message`, with `ttl`, to `next_hop` (`everybody`: a broadcast)
    deliver,  ///< `packet` to IP here
    drop,     ///< `packet`
    purge,    ///< all that waits in the queue for `next_hop`, messages among them, is lost
  };
  kind what = kind::send;
  aodv_packet packet{};
  wire::aodv_message message{};
  ipv4_address next_hop = 0;
  std::uint8_t ttl = 0;
  aodv_drop reason{};
};

struct aodv_counters {
  std::uint64_t requests_sent = 0;  ///< of its own
  std::uint64_t requests_passed_on = 0;
  std::uint64_t replies_sent = 0;  ///< as destination
  std::uint64_t replies_from_routes = 0;
  std::uint64_t errors_sent = 0;
  std::uint64_t links_failed = 0;  ///< that cost routes
  std::uint64_t repairs_begun = 0;
  std::uint64_t repairs_done = 0;
};

class aodv_router {
public:
  /// @param seed of its random delays, another one for each node
  aodv_router(ipv4_address self, std::uint64_t seed, const aodv_config& config = {});

  /// This node sends a packet.
  void originate(time_us now, std::uint64_t content, ipv4_address destination);

  /// A packet came, for this node or for others.
  void receive(time_us now, aodv_packet packet);

  /// A message came. @param from the neighbour that sent it; @param ttl as it arrived
  void receive_message(time_us now, ipv4_address from, std::uint8_t ttl, const wire::aodv_message& message);

  /// The MAC gave a packet up. @param packet as take() told to send it. Messages that it gave up do not count.
  void on_link_failure(time_us now, ipv4_address next_hop, const aodv_packet& packet);

  std::optional<time_us> next_deadline() const;
  /// next_deadline() has come.
  void expire(time_us now);

  /// What is to be done next; nothing when all is done. Take all after each of the calls above.
  std::optional<aodv_action> take();

  ipv4_address address() const { return self_; }
  /// For tests and reports.
  const aodv_route* route_to(ipv4_address destination) const;
  std::size_t waiting() const { return buffer_.size(); }
  const aodv_counters& counters() const { return counters_; }

private:
  using condition = aodv_route::condition;

  struct delayed {
    time_us at_us = 0;
    aodv_action action{};
  };
  struct heard_request {
    time_us until_us = 0;
    ipv4_address originator = 0;
    std::uint32_t identification = 0;
  };
  struct repair_end {
    time_us at_us = 0;
    ipv4_address destination = 0;
  };

  // aodv_router_messages.cpp
  void search(time_us now, ipv4_address destination, aodv_route& route);
  bool is_new(time_us now, const wire::aodv_rreq& request);
  void on_message(time_us now, ipv4_address from, std::uint8_t ttl, const wire::aodv_rreq& request);
  void on_message(time_us now, ipv4_address from, std::uint8_t ttl, const wire::aodv_rrep& reply);
  void on_message(time_us now, ipv4_address from, std::uint8_t ttl, const wire::aodv_rerr& error);
  void accept_reverse(time_us now, ipv4_address from, const wire::aodv_rreq& request, aodv_route& reverse);
  bool answer(time_us now, const wire::aodv_rreq& request, aodv_route& reverse);
  void on_neighbour_lost(ipv4_address neighbour);

  // aodv_router.cpp
  void resolve(time_us now, const aodv_packet& packet);
  void send_along(time_us now, aodv_route& route, const aodv_packet& packet, time_us delay_us = 0);
  void begin_repair(time_us now, aodv_route& route, const aodv_packet& packet);
  void end_repair(ipv4_address destination);
  void release(time_us now, ipv4_address destination, aodv_route& route, time_us spacing_us, time_us& delay_us);
  void drop_waiting(ipv4_address destination);
  void look_after_routes(time_us now);
  void wait(time_us now, const aodv_packet& packet);
  bool is_waiting_for(ipv4_address destination) const;
  void tell(wire::aodv_message&& message, ipv4_address next_hop, std::uint8_t ttl);
  void tell_later(time_us at, wire::aodv_message&& message, ipv4_address next_hop, std::uint8_t ttl);
  void schedule(time_us at, aodv_action&& action);
  void drop(const aodv_packet& packet, aodv_drop reason);
  void arm_check(time_us now);

  ipv4_address self_;
  random_delay random_;
  aodv_config config_;
  std::uint32_t own_sequence_ = 2;
  std::uint32_t next_identification_ = 1;
  std::map<ipv4_address, aodv_route> routes_{};
  std::deque<heard_request> heard_{};  ///< by time
  send_buffer<aodv_packet> buffer_;
  std::deque<aodv_action> actions_{};
  std::vector<delayed> delayed_{};     ///< by time
  std::vector<repair_end> repairs_{};  ///< by time
  std::optional<time_us> next_check_us_{};
  aodv_counters counters_{};
};

}  // namespace perhop::routing
