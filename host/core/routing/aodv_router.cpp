// SPDX-License-Identifier: GPL-2.0-or-later
//
// What becomes of packets, and time.
#include "host/core/routing/aodv_router.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace perhop::routing {

aodv_router::aodv_router(ipv4_address self, std::uint64_t seed, const aodv_config& config)
    : self_(self), random_(seed), config_(config), buffer_(config.buffer) {
  assert(config.network_diameter >= 1 && config.check_period_us >= 1);
}

const aodv_route* aodv_router::route_to(ipv4_address destination) const {
  const auto known = routes_.find(destination);
  return known == routes_.end() ? nullptr : &known->second;
}

// ---- Packets

void aodv_router::originate(time_us now, std::uint64_t content, ipv4_address destination) {
  const aodv_packet packet{.source = self_, .destination = destination, .ttl = config_.network_diameter, .content = content};
  if (destination == self_) {
    actions_.push_back({.what = aodv_action::kind::deliver, .packet = packet});
    return;
  }
  resolve(now, packet);
}

void aodv_router::receive(time_us now, aodv_packet packet) {
  if (packet.destination == self_) {
    actions_.push_back({.what = aodv_action::kind::deliver, .packet = packet});
  } else if (packet.source == self_) {
    drop(packet, aodv_drop::loop);
  } else if (packet.ttl <= 1) {
    drop(packet, aodv_drop::ttl_spent);
  } else {
    --packet.ttl;
    resolve(now, packet);
  }
}

void aodv_router::resolve(time_us now, const aodv_packet& packet) {
  aodv_route& route = routes_[packet.destination];
  if (route.is == condition::up) {
    send_along(now, route, packet);
  } else if (packet.source == self_) {
    wait(now, packet);
    search(now, packet.destination, route);
  } else if (route.is == condition::in_repair) {
    wait(now, packet);
  } else {
    ++counters_.errors_sent;
    tell(wire::aodv_rerr{.lost = {{.destination = packet.destination, .sequence = route.sequence.value_or(0)}}}, everybody, 1);
    drop(packet, aodv_drop::no_route);
  }
}

void aodv_router::send_along(time_us now, aodv_route& route, const aodv_packet& packet, time_us delay_us) {
  assert(route.is == condition::up);
  route.expires_us = now + config_.active_route_us;
  arm_check(now);
  aodv_action action{.what = aodv_action::kind::send, .packet = packet, .next_hop = route.next_hop};
  if (delay_us == 0) {
    actions_.push_back(std::move(action));
  } else {
    schedule(now + delay_us, std::move(action));
  }
}

void aodv_router::on_link_failure(time_us now, ipv4_address next_hop, const aodv_packet& packet) {
  const auto known = routes_.find(packet.destination);
  if (known == routes_.end()) {
    drop(packet, aodv_drop::link_failure);
    return;
  }
  aodv_route& route = known->second;
  const int hops_done = config_.network_diameter - packet.ttl;
  if (config_.repair.enabled && route.is != condition::down && hops_done > route.hops) {
    begin_repair(now, route, packet);
    return;
  }
  drop(packet, aodv_drop::link_failure);
  actions_.push_back({.what = aodv_action::kind::purge, .next_hop = next_hop});
  ++counters_.links_failed;
  on_neighbour_lost(next_hop);
}

// ---- Repair

void aodv_router::begin_repair(time_us now, aodv_route& route, const aodv_packet& packet) {
  wait(now, packet);
  if (route.is != condition::in_repair) {
    ++counters_.repairs_begun;
    if (config_.repair.asks_for_newer) route.outdate();
  }
  route.is = condition::in_repair;
  search(now, packet.destination, route);
  if (!route.search_ends_us) return;
  const time_us ends = *route.search_ends_us + (config_.repair.ends_with_search ? 0 : now);
  const auto place = std::ranges::upper_bound(repairs_, ends, {}, &repair_end::at_us);
  repairs_.insert(place, {.at_us = ends, .destination = packet.destination});
}

/// It had its time.
void aodv_router::end_repair(ipv4_address destination) {
  const auto known = routes_.find(destination);
  if (known == routes_.end() || known->second.is == condition::up) return;
  aodv_route& route = known->second;
  const bool gives_up = route.is == condition::in_repair;
  route.take_down();
  if (!gives_up || !config_.repair.ends_with_search) return;
  drop_waiting(destination);
  if (route.precursors.empty()) return;
  ++counters_.errors_sent;
  tell(wire::aodv_rerr{.lost = {{.destination = destination, .sequence = route.sequence.value_or(0)}}}, everybody, 1);
  route.precursors.clear();
}

// ---- Packets that wait

void aodv_router::wait(time_us now, const aodv_packet& packet) {
  buffer_.take_old(now, [this](const aodv_packet& old) { drop(old, aodv_drop::no_route); });
  if (const auto out = buffer_.put(now, aodv_packet(packet))) drop(*out, aodv_drop::buffer_full);
  arm_check(now);
}

bool aodv_router::is_waiting_for(ipv4_address destination) const {
  return buffer_.any_of([destination](const aodv_packet& packet) { return packet.destination == destination; });
}

/// @param delay_us from now to the next packet
void aodv_router::release(time_us now, ipv4_address destination, aodv_route& route, time_us spacing_us, time_us& delay_us) {
  buffer_.take_old(now, [this](const aodv_packet& old) { drop(old, aodv_drop::no_route); });
  buffer_.take_chosen([destination](const aodv_packet& packet) { return packet.destination == destination; },
                      [&](const aodv_packet& packet) {
                        send_along(now, route, packet, delay_us);
                        delay_us += spacing_us;
                      });
}

void aodv_router::drop_waiting(ipv4_address destination) {
  buffer_.take_chosen([destination](const aodv_packet& packet) { return packet.destination == destination; },
                      [this](const aodv_packet& packet) { drop(packet, aodv_drop::no_route); });
}

// ---- Time and what comes out

void aodv_router::look_after_routes(time_us now) {
  time_us delay_us = 0;
  for (auto& [destination, route] : routes_) {
    if (route.is == condition::up && route.expires_us < now) {
      drop_waiting(destination);
      route.outdate();
      route.take_down();
    } else if (route.is == condition::up) {
      release(now, destination, route, config_.release_spacing_us, delay_us);
    } else if (is_waiting_for(destination)) {
      search(now, destination, route);
    }
  }
  const bool any_up = std::ranges::any_of(routes_, [](const auto& row) { return row.second.is == condition::up; });
  if (any_up || !buffer_.empty()) arm_check(now);
}

void aodv_router::arm_check(time_us now) {
  if (!next_check_us_) next_check_us_ = (now / config_.check_period_us + 1) * config_.check_period_us;
}

void aodv_router::tell(wire::aodv_message&& message, ipv4_address next_hop, std::uint8_t ttl) {
  actions_.push_back({.what = aodv_action::kind::tell, .message = std::move(message), .next_hop = next_hop, .ttl = ttl});
}

void aodv_router::tell_later(time_us at, wire::aodv_message&& message, ipv4_address next_hop, std::uint8_t ttl) {
  schedule(at, {.what = aodv_action::kind::tell, .message = std::move(message), .next_hop = next_hop, .ttl = ttl});
}

void aodv_router::schedule(time_us at, aodv_action&& action) {
  const auto place = std::ranges::upper_bound(delayed_, at, {}, &delayed::at_us);
  delayed_.insert(place, {.at_us = at, .action = std::move(action)});
}

void aodv_router::drop(const aodv_packet& packet, aodv_drop reason) {
  actions_.push_back({.what = aodv_action::kind::drop, .packet = packet, .reason = reason});
}

std::optional<time_us> aodv_router::next_deadline() const {
  std::optional<time_us> next = next_check_us_;
  if (!delayed_.empty()) next = std::min(next.value_or(delayed_.front().at_us), delayed_.front().at_us);
  if (!repairs_.empty()) next = std::min(next.value_or(repairs_.front().at_us), repairs_.front().at_us);
  return next;
}

void aodv_router::expire(time_us now) {
  const auto due = std::ranges::upper_bound(delayed_, now, {}, &delayed::at_us);
  for (auto one = delayed_.begin(); one != due; ++one) actions_.push_back(std::move(one->action));
  delayed_.erase(delayed_.begin(), due);
  while (!repairs_.empty() && repairs_.front().at_us <= now) {
    const ipv4_address destination = repairs_.front().destination;
    repairs_.erase(repairs_.begin());
    end_repair(destination);
  }
  if (next_check_us_ && *next_check_us_ <= now) {
    next_check_us_.reset();
    look_after_routes(now);
  }
}

std::optional<aodv_action> aodv_router::take() {
  std::optional<aodv_action> first;
  if (!actions_.empty()) {
    first.emplace(std::move(actions_.front()));
    actions_.pop_front();
  }
  return first;
}

}  // namespace perhop::routing
