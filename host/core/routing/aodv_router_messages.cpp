// SPDX-License-Identifier: GPL-2.0-or-later
//
// How routes are found and told.
#include <algorithm>
#include <utility>
#include <variant>

#include "host/core/routing/aodv_router.hpp"

namespace perhop::routing {

namespace {

constexpr time_us us_per_ms = 1000;
constexpr std::uint8_t most_hops = 254;

}  // namespace

void aodv_router::receive_message(time_us now, ipv4_address from, std::uint8_t ttl, const wire::aodv_message& message) {
  if (from == self_ || ttl == 0) return;
  std::visit([&](const auto& one) { on_message(now, from, ttl, one); }, message);
}

// ---- Requests

/// Asks for a route, unless one is there or it is too early to ask again.
void aodv_router::search(time_us now, ipv4_address destination, aodv_route& route) {
  if (route.is == condition::up || (route.search_ends_us && *route.search_ends_us > now)) return;
  if (route.searches >= config_.searches) {
    route.search_ends_us = now + config_.longest_search_us;
    route.searches = 0;
    drop_waiting(destination);
    return;
  }
  const std::uint8_t known_hops = std::max(route.last_ttl, route.lost_hops.value_or(0));
  std::uint8_t ttl = config_.network_diameter;
  if (!route.lost_hops && route.last_ttl < config_.first_ttl) {
    ttl = config_.first_ttl;
  } else if (known_hops < config_.ttl_threshold) {
    ttl = static_cast<std::uint8_t>(known_hops + config_.ttl_increment);
  }
  if (ttl >= config_.network_diameter) ++route.searches;
  route.last_ttl = ttl;
  const time_us lasts_us = 2 * ttl * route.hop_latency(config_.hop_traversal_us) * std::max(route.searches, 1U);
  route.search_ends_us = now + std::min(lasts_us, config_.longest_search_us);
  route.asked_us = now;
  own_sequence_ += 2;
  ++counters_.requests_sent;
  tell(wire::aodv_rreq{.identification = next_identification_++,
                       .destination = destination,
                       .destination_sequence = route.sequence,
                       .originator = self_,
                       .originator_sequence = own_sequence_},
       everybody, ttl);
}

/// Notes a request. @return whether it is the first time
bool aodv_router::is_new(time_us now, const wire::aodv_rreq& request) {
  while (!heard_.empty() && heard_.front().until_us <= now) heard_.pop_front();
  const bool known = std::ranges::any_of(heard_, [&request](const heard_request& heard) {
    return heard.originator == request.originator && heard.identification == request.identification;
  });
  if (known) return false;
  if (heard_.size() == config_.requests_remembered) heard_.pop_front();
  heard_.push_back(
      {.until_us = now + config_.request_memory_us, .originator = request.originator, .identification = request.identification});
  return true;
}

void aodv_router::on_message(time_us now, ipv4_address from, std::uint8_t ttl, const wire::aodv_rreq& request) {
  if (request.originator == self_ || request.hops >= most_hops || !is_new(now, request)) return;
  aodv_route& reverse = routes_[request.originator];
  accept_reverse(now, from, request, reverse);
  if (answer(now, request, reverse) || ttl <= 1) return;
  wire::aodv_rreq passed_on = request;
  ++passed_on.hops;
  const auto known = routes_.find(request.destination);
  if (known != routes_.end() && known->second.sequence) {
    const std::uint32_t sequence = *known->second.sequence;
    if (!passed_on.destination_sequence || is_newer(sequence, *passed_on.destination_sequence)) passed_on.destination_sequence = sequence;
  }
  ++counters_.requests_passed_on;
  tell_later(now + random_.draw(config_.jitter_us), passed_on, everybody, static_cast<std::uint8_t>(ttl - 1));
}

/// The way back to the originator.
void aodv_router::accept_reverse(time_us now, ipv4_address from, const wire::aodv_rreq& request, aodv_route& reverse) {
  const time_us until = std::max(reverse.expires_us, now + config_.reverse_route_us);
  reverse.expires_us = until;
  const auto hops = static_cast<std::uint8_t>(request.hops + 1);
  if (!reverse.is_worse_than(request.originator_sequence, hops)) return;
  if (reverse.is == condition::in_repair) ++counters_.repairs_done;
  reverse.set(request.originator_sequence, hops, from, until);
  arm_check(now);
  if (reverse.search_ends_us) {
    reverse.end_search();
    reverse.expires_us = now + config_.active_route_us;
  }
  time_us delay_us = 0;
  release(now, request.originator, reverse, 0, delay_us);
}

/// @return false when this node has nothing to say
bool aodv_router::answer(time_us now, const wire::aodv_rreq& request, aodv_route& reverse) {
  wire::aodv_rrep reply{.destination = request.destination, .originator = request.originator};
  if (request.destination == self_) {
    const std::uint32_t asked = request.destination_sequence.value_or(own_sequence_);
    if (is_newer(asked, own_sequence_)) own_sequence_ = asked;
    own_sequence_ += own_sequence_ % 2 == 0 ? 2 : 1;
    reply.destination_sequence = own_sequence_;
    reply.lifetime_ms = static_cast<std::uint32_t>(config_.own_route_us / us_per_ms);
    ++counters_.replies_sent;
  } else {
    const auto known = routes_.find(request.destination);
    if (known == routes_.end() || request.destination_only) return false;
    aodv_route& route = known->second;
    const bool good = route.is == condition::up || (route.is == condition::in_repair && config_.repair.answers_meanwhile);
    if (!good || (request.destination_sequence && is_newer(*request.destination_sequence, *route.sequence))) return false;
    reply.hops = route.hops;
    reply.destination_sequence = *route.sequence;
    const time_us left_us = route.is == condition::up ? std::max(route.expires_us, now) - now : config_.own_route_us;
    reply.lifetime_ms = static_cast<std::uint32_t>(left_us / us_per_ms);
    route.precursors.insert(reverse.next_hop);
    reverse.precursors.insert(route.next_hop);
    ++counters_.replies_from_routes;
  }
  if (reverse.is != condition::down) tell(reply, reverse.next_hop, config_.network_diameter);
  return true;
}

// ---- Replies

void aodv_router::on_message(time_us now, ipv4_address from, std::uint8_t ttl, const wire::aodv_rrep& reply) {
  if (reply.destination == self_ || reply.hops >= most_hops) return;
  aodv_route& route = routes_[reply.destination];
  const auto hops = static_cast<std::uint8_t>(reply.hops + 1);
  // What is no news here was none to those behind this node either.
  if (!route.is_worse_than(reply.destination_sequence, hops)) return;
  if (route.is == condition::in_repair) ++counters_.repairs_done;
  route.set(reply.destination_sequence, hops, from, now + reply.lifetime_ms * us_per_ms);
  arm_check(now);
  const bool for_here = reply.originator == self_;
  if (for_here) {
    route.latencies.push_back((now - route.asked_us) / hops);
    if (route.latencies.size() > config_.latencies) route.latencies.pop_front();
  }
  route.end_search();
  time_us delay_us = 0;
  release(now, reply.destination, route, config_.release_spacing_us, delay_us);
  if (for_here || ttl <= 1) return;
  const auto back = routes_.find(reply.originator);
  if (back == routes_.end() || back->second.is != condition::up) return;
  aodv_route& reverse = back->second;
  reverse.expires_us = now + config_.active_route_us;
  route.precursors.insert(reverse.next_hop);
  wire::aodv_rrep passed_on = reply;
  passed_on.hops = hops;
  tell(passed_on, reverse.next_hop, static_cast<std::uint8_t>(ttl - 1));
}

// ---- Errors

void aodv_router::on_neighbour_lost(ipv4_address neighbour) {
  own_sequence_ += 2;
  wire::aodv_rerr error;
  for (auto& [destination, route] : routes_) {
    if (route.is != condition::down && route.next_hop == neighbour) {
      route.outdate();
      route.take_down();
      if (error.lost.size() < wire::most_aodv_unreachable) error.lost.push_back({destination, *route.sequence});
    }
    route.precursors.erase(neighbour);
  }
  if (error.lost.empty()) return;
  ++counters_.errors_sent;
  tell(std::move(error), everybody, 1);
}

void aodv_router::on_message(time_us now, ipv4_address from, std::uint8_t, const wire::aodv_rerr& error) {
  wire::aodv_rerr passed_on{.no_delete = error.no_delete};
  bool any_lost = false;
  for (const wire::aodv_lost_route& lost : error.lost) {
    const auto known = routes_.find(lost.destination);
    if (known == routes_.end()) continue;
    aodv_route& route = known->second;
    if (route.is == condition::down || route.next_hop != from || is_newer(*route.sequence, lost.sequence)) continue;
    if (!route.precursors.empty()) passed_on.lost.push_back(lost);
    if (error.no_delete) continue;
    route.sequence = lost.sequence;
    route.take_down();
    route.precursors.clear();
    any_lost = true;
  }
  if (any_lost) actions_.push_back({.what = aodv_action::kind::purge, .next_hop = from});
  if (passed_on.lost.empty()) return;
  ++counters_.errors_sent;
  tell_later(now + random_.draw(config_.jitter_us), std::move(passed_on), everybody, 1);
}

}  // namespace perhop::routing
