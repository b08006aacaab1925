// SPDX-License-Identifier: GPL-2.0-or-later
//
// How routes are found and told: requests and replies.
#include <algorithm>
#include <utility>

#include "host/core/routing/dsr_router.hpp"

namespace perhop::routing {

void dsr_router::ask(time_us now, ipv4_address target, bool neighbours_only) {
  dsr_packet packet{.source = self_, .destination = everybody};
  packet.ttl = neighbours_only ? std::uint8_t{1} : static_cast<std::uint8_t>(config_.most_nodes);
  packet.header.request = {.identification = next_identification_++, .target = target};
  if (held_error_ && now - held_since_us_ < config_.error_hold_us) {
    packet.header.errors.push_back(*held_error_);
    if (!neighbours_only) held_error_.reset();
  }
  ++counters_.requests_sent;
  emit_later(now + random_us(config_.jitter_us), std::move(packet), everybody);
}

void dsr_router::on_request(time_us now, dsr_packet&& packet) {
  wire::dsr_route_request& request = *packet.header.request;
  node_path route{packet.source};
  route.insert(route.end(), request.route.begin(), request.route.end());
  if (std::ranges::find(route, self_) != route.end() || !is_simple(route) || route.size() >= config_.most_nodes) return;
  if (request.target == self_) {
    route.push_back(self_);
    ++counters_.replies_sent;
    node_path back(route.rbegin(), route.rend());
    send_reply(now, std::move(route), std::move(back), random_us(config_.jitter_us));
    return;
  }
  if (!requests_.is_new(packet.source, request.identification) || answer_from_cache(now, packet)) return;
  // There must be room for the target behind this node.
  if (packet.ttl <= 1 || route.size() + 2 > config_.most_nodes) return;
  --packet.ttl;
  request.route.push_back(self_);
  packet.header.source_route.reset();  // a request has none
  ++counters_.requests_passed_on;
  emit_later(now + random_us(config_.jitter_us), std::move(packet), everybody);
}

/// @return false when this node knows no route, or none that goes with the way that the request came
bool dsr_router::answer_from_cache(time_us now, const dsr_packet& request) {
  const auto rest = cache_.find(now, request.header.request->target, false);
  if (!rest) return false;
  node_path route{request.source};
  route.insert(route.end(), request.header.request->route.begin(), request.header.request->route.end());
  node_path back{self_};
  back.insert(back.end(), route.rbegin(), route.rend());
  route.insert(route.end(), rest->begin(), rest->end());
  if (route.size() > config_.most_nodes || !is_simple(route)) return false;
  ++counters_.replies_from_cache;
  send_reply(now, std::move(route), std::move(back), 0);
  return true;
}

/// @param route that is told, from whom it is told; @param back from this node to there
void dsr_router::send_reply(time_us now, node_path&& route, node_path&& back, time_us delay_us) {
  cache_.add(now, back);
  dsr_packet packet{.source = self_, .destination = route.front()};
  packet.header.replies.push_back({.route = {route.begin() + 1, route.end()}});
  packet.header.source_route = {.segments_left = static_cast<std::uint8_t>(back.size() - 2), .route = {back.begin() + 1, back.end() - 1}};
  if (delay_us == 0) {
    emit(std::move(packet), back[1]);
  } else {
    emit_later(now + delay_us, std::move(packet), back[1]);
  }
}

void dsr_router::accept_reply(time_us now, const wire::dsr_route_reply& reply) {
  node_path route{self_};
  route.insert(route.end(), reply.route.begin(), reply.route.end());
  if (route.size() > config_.most_nodes || !is_simple(route)) return;
  cache_.add(now, route);
  requests_.on_found(route.back());
  time_us at = now;
  std::optional<node_path> found;
  buffer_.take_chosen(
      [&](const dsr_packet& packet) {
        found = cache_.find(now, packet.destination, true);
        return found.has_value();
      },
      [&](dsr_packet&& packet) {
        const std::size_t before = actions_.size();
        send_along(std::move(packet), *found);
        const bool sends = actions_.size() > before && actions_.back().what == dsr_action::kind::send;
        if (!sends || at == now) {
          at += sends ? config_.release_spacing_us : 0;
          return;
        }
        dsr_action later = std::move(actions_.back());
        actions_.pop_back();
        emit_later(at, std::move(later.packet), later.next_hop);
        at += config_.release_spacing_us;
      });
}

/// A packet was heard from its transmitter here, which it need not have passed the nodes between for.
void dsr_router::tell_shorter(time_us now, std::size_t transmitter_at, std::size_t self_at, const node_path& route) {
  const auto known = std::ranges::find(told_, route, &told_route::route);
  if (known != told_.end()) {
    if (now - known->at_us < config_.gratuitous_hold_us) return;
    known->at_us = now;
  } else {
    if (told_.size() == config_.gratuitous_routes) told_.pop_front();
    told_.push_back({.route = route, .at_us = now});
  }
  const auto behind_transmitter = route.begin() + static_cast<std::ptrdiff_t>(transmitter_at) + 1;
  node_path shorter(route.begin(), behind_transmitter);
  node_path back{self_};
  back.insert(back.end(), shorter.rbegin(), shorter.rend());
  shorter.insert(shorter.end(), route.begin() + static_cast<std::ptrdiff_t>(self_at), route.end());
  ++counters_.gratuitous_replies;
  send_reply(now, std::move(shorter), std::move(back), 0);
}

}  // namespace perhop::routing
