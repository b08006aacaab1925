// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/routing/gpsr_router.hpp"

#include <cassert>
#include <span>
#include <utility>

namespace perhop::routing {

namespace {

/// The right-hand rule: the neighbour that is the next one counterclockwise from `direction`. @param last the neighbour that the direction
/// is that of: it comes after all others
const gpsr_neighbour* next_counterclockwise(std::span<const gpsr_neighbour> planar, const gpsr_position& here,
                                            const plane_vector& direction, ipv4_address last) {
  const gpsr_neighbour* best = nullptr;
  double best_turn = 0;
  for (const gpsr_neighbour& one : planar) {
    const double turn = one.node == last ? 3 * std::numbers::pi : counterclockwise_turn(direction, between(here, one.at));
    if (best == nullptr || turn < best_turn) {
      best = &one;
      best_turn = turn;
    }
  }
  return best;
}

}  // namespace

gpsr_router::gpsr_router(ipv4_address self, time_us start, std::uint64_t seed, gpsr_locator locate, const gpsr_config& config)
    : self_(self), random_(seed), locate_(std::move(locate)), config_(config), next_beacon_us_(start) {
  assert(config.beacon_interval_us > 1);
  next_beacon_us_ += random_.draw(config.beacon_interval_us);
}

// ---- Sending

void gpsr_router::originate(time_us now, std::uint64_t content, ipv4_address destination, std::uint8_t protocol, std::uint8_t ttl) {
  gpsr_packet packet{.source = self_, .destination = destination, .ttl = ttl, .content = content};
  if (destination == self_) {
    actions_.push_back({.what = gpsr_action::kind::deliver, .packet = packet});
    return;
  }
  packet.header = {.sender = self_, .sender_at = locate_(self_, now)};
  packet.header.route = {.next_header = protocol, .destination = locate_(destination, now)};
  packet.came = packet.header;
  forward(now, packet);
}

/// @param packet `came` says how it got here
void gpsr_router::forward(time_us now, const gpsr_packet& packet) {
  neighbours_.forget_silent(now, config_.neighbour_timeout_us);
  const gpsr_position here = locate_(self_, now);
  gpsr_drop why_not{};
  const std::optional<choice> chosen = choose(packet, here, why_not);
  if (!chosen) {
    drop(packet, why_not);
    return;
  }
  ++(chosen->route.perimeter ? counters_.sent_around : counters_.sent_greedily);
  gpsr_action& action = actions_.emplace_back(gpsr_action{.what = gpsr_action::kind::send, .packet = packet, .next_hop = chosen->next_hop});
  action.packet.header = {.sender = self_, .sender_at = here, .route = chosen->route};
}

std::optional<gpsr_router::choice> gpsr_router::choose(const gpsr_packet& packet, const gpsr_position& here, gpsr_drop& why_not) const {
  wire::gpsr_route route = *packet.came.route;
  if (neighbours_.find(packet.destination) != nullptr) {
    route.perimeter.reset();
    return choice{packet.destination, route};
  }
  const gpsr_position goal = route.destination;
  if (route.perimeter && squared_distance(here, goal) >= squared_distance(route.perimeter->entered, goal)) {
    return follow_perimeter(packet, here, why_not);
  }
  route.perimeter.reset();
  if (const gpsr_neighbour* next = neighbours_.nearest(here, goal)) return choice{next->node, route};
  return enter_perimeter(route, here, why_not);
}

/// No neighbour is nearer to the destination: the packet begins to go around the void, by the first edge counterclockwise from the line to
/// there.
std::optional<gpsr_router::choice> gpsr_router::enter_perimeter(wire::gpsr_route route, const gpsr_position& here,
                                                                gpsr_drop& why_not) const {
  const auto planar = neighbours_.planar(here, config_.graph);
  const gpsr_neighbour* next = next_counterclockwise(planar, here, between(here, route.destination), self_);
  if (next == nullptr) {
    why_not = gpsr_drop::no_neighbour;
    return std::nullopt;
  }
  route.perimeter = {.entered = here, .face = here, .first_edge_from = self_, .first_edge_to = next->node};
  return choice{next->node, route};
}

/// The next edge of the face. One that crosses the line to the destination nearer to it than the packet was before leads into the next
/// face: it is not taken, but the one behind it.
std::optional<gpsr_router::choice> gpsr_router::follow_perimeter(const gpsr_packet& packet, const gpsr_position& here,
                                                                 gpsr_drop& why_not) const {
  wire::gpsr_route route = *packet.came.route;
  wire::gpsr_perimeter& perimeter = *route.perimeter;
  const gpsr_position goal = route.destination;
  const auto planar = neighbours_.planar(here, config_.graph);
  const gpsr_neighbour* next = next_counterclockwise(planar, here, between(here, packet.came.sender_at), packet.came.sender);
  if (next == nullptr) {
    why_not = gpsr_drop::no_neighbour;
    return std::nullopt;
  }
  bool new_face = false;
  for (std::size_t edges = planar.size(); edges != 0; --edges) {
    const auto share = crossing(perimeter.entered, goal, here, next->at);
    if (!share) break;
    const gpsr_position at = part_of_way(perimeter.entered, goal, *share);
    if (squared_distance(at, goal) >= squared_distance(perimeter.face, goal)) break;
    perimeter.face = at;
    next = next_counterclockwise(planar, here, between(here, next->at), next->node);
    perimeter.first_edge_from = self_;
    perimeter.first_edge_to = next->node;
    new_face = true;
  }
  if (!new_face && perimeter.first_edge_from == self_ && perimeter.first_edge_to == next->node) {
    why_not = gpsr_drop::unreachable;
    return std::nullopt;
  }
  return choice{next->node, route};
}

// ---- Receiving

void gpsr_router::receive(time_us now, const gpsr_packet& packet) {
  if (packet.header.sender != self_ && packet.header.sender != everybody) {
    neighbours_.hear(now, packet.header.sender, packet.header.sender_at);
  }
  if (!packet.header.route) {
    drop(packet, gpsr_drop::malformed);
    return;
  }
  if (packet.destination == self_) {
    if (packet.content) actions_.push_back({.what = gpsr_action::kind::deliver, .packet = packet});
    return;
  }
  if (packet.ttl <= 1) {
    drop(packet, gpsr_drop::ttl_spent);
    return;
  }
  gpsr_packet onward = packet;
  --onward.ttl;
  onward.came = packet.header;
  forward(now, onward);
}

void gpsr_router::on_link_failure(time_us now, ipv4_address next_hop, const gpsr_packet& packet) {
  ++counters_.links_failed;
  on_unsent(now, next_hop, packet);
}

void gpsr_router::on_unsent(time_us now, ipv4_address next_hop, const gpsr_packet& packet) {
  neighbours_.forget(next_hop);
  if (!packet.came.route) {
    drop(packet, gpsr_drop::malformed);
    return;
  }
  ++counters_.forwarded_anew;
  forward(now, packet);
}

// ---- Time and what comes out

void gpsr_router::expire(time_us now) {
  if (now < next_beacon_us_) return;
  ++counters_.beacons_sent;
  gpsr_packet beacon{.source = self_, .destination = everybody, .ttl = 1};
  beacon.header = {.sender = self_, .sender_at = locate_(self_, now)};
  actions_.push_back({.what = gpsr_action::kind::send, .packet = beacon, .next_hop = everybody});
  next_beacon_us_ = now + config_.beacon_interval_us / 2 + random_.draw(config_.beacon_interval_us);
}

std::optional<gpsr_action> gpsr_router::take() {
  std::optional<gpsr_action> first;
  if (!actions_.empty()) {
    first = actions_.front();
    actions_.pop_front();
  }
  return first;
}

void gpsr_router::drop(const gpsr_packet& packet, gpsr_drop reason) {
  if (packet.content) actions_.push_back({.what = gpsr_action::kind::drop, .packet = packet, .reason = reason});
}

}  // namespace perhop::routing
