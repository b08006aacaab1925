// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/routing/dsr_router.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace perhop::routing {

dsr_router::dsr_router(ipv4_address self, std::uint64_t seed, const dsr_config& config)
    : self_(self), random_(seed), config_(config), cache_(self, config.cache), requests_(config.requests), buffer_(config.buffer) {
  assert(config.most_nodes >= 2 && config.most_nodes <= wire::most_dsr_addresses);
}

node_path route_of(const dsr_packet& packet) {
  const wire::dsr_source_route& list = *packet.header.source_route;
  node_path route;
  // A node that saves a packet is itself the first of the list.
  if (list.salvage == 0) route.push_back(packet.source);
  route.insert(route.end(), list.route.begin(), list.route.end());
  route.push_back(packet.destination);
  return route;
}

// ---- Sending

void dsr_router::originate(time_us now, std::uint64_t content, ipv4_address destination, std::uint8_t protocol, std::uint8_t ttl) {
  dsr_packet packet{.source = self_, .destination = destination, .ttl = ttl, .header = {.next_header = protocol}, .content = content};
  if (destination == self_) {
    actions_.push_back({.what = dsr_action::kind::deliver, .packet = std::move(packet), .hops = 0});
    return;
  }
  route_or_wait(now, std::move(packet), true);
}

void dsr_router::route_or_wait(time_us now, dsr_packet&& packet, bool ask_now) {
  if (const auto route = cache_.find(now, packet.destination, true)) {
    send_along(std::move(packet), *route);
    return;
  }
  if (ask_now && !follow_search(now, packet)) {
    drop(std::move(packet), dsr_drop::no_route);
    return;
  }
  wait_for_route(now, std::move(packet));
}

/// Puts a route on a packet, which begins at this node, and sends it. A packet of somebody else is saved by that.
void dsr_router::send_along(dsr_packet&& packet, const node_path& route) {
  assert(route.size() >= 2 && route.front() == self_ && route.back() == packet.destination);
  const std::uint8_t salvaged = packet.header.source_route ? packet.header.source_route->salvage : std::uint8_t{0};
  wire::dsr_source_route list;
  list.route.assign(route.begin() + (is_own(packet) ? 1 : 0), route.end() - 1);
  list.segments_left = static_cast<std::uint8_t>(route.size() - 2);
  if (!is_own(packet)) {
    if (salvaged == wire::most_dsr_salvages) {
      drop(std::move(packet), dsr_drop::salvage_spent);
      return;
    }
    list.salvage = static_cast<std::uint8_t>(salvaged + 1);
    ++counters_.salvaged;
  }
  packet.header.source_route = std::move(list);
  emit(std::move(packet), route[1]);
}

void dsr_router::wait_for_route(time_us now, dsr_packet&& packet) {
  if (auto out = buffer_.put(now, std::move(packet))) drop(std::move(*out), dsr_drop::buffer_full);
  // The checks of ns-2.35 go on all the time: the next one is anywhere within its period.
  if (!next_check_us_) next_check_us_ = now + random_us(config_.shortest_check_us + random_us(config_.shortest_check_us));
}

/// Asks for a route where it is time to. @return false when the packet is not worth it any more
bool dsr_router::follow_search(time_us now, const dsr_packet& packet) {
  switch (requests_.next_step(now, packet.destination, is_own(packet))) {
    case dsr_request_table::step::ask_neighbours:
      ask(now, packet.destination, true);
      return true;
    case dsr_request_table::step::ask_all:
      ask(now, packet.destination, false);
      return true;
    case dsr_request_table::step::give_up:
      return false;
    case dsr_request_table::step::wait:
      return true;
  }
  return true;
}

void dsr_router::look_after_waiting(time_us now) {
  buffer_.take_old(now, [this](dsr_packet&& packet) { drop(std::move(packet), dsr_drop::no_route); });
  bool give_up = false;
  std::optional<node_path> route;
  buffer_.take_chosen(
      [&](const dsr_packet& packet) {
        route = cache_.find(now, packet.destination, true);
        give_up = !route && !follow_search(now, packet);
        return route || give_up;
      },
      [&](dsr_packet&& packet) {
        if (give_up) {
          drop(std::move(packet), dsr_drop::no_route);
        } else {
          send_along(std::move(packet), *route);
        }
      });
}

// ---- Receiving

void dsr_router::receive(time_us now, dsr_packet&& packet) {
  take_errors(now, packet);
  if (packet.header.request) {
    on_request(now, std::move(packet));
    return;
  }
  if (packet.destination != self_) {
    forward(now, std::move(packet));
    return;
  }
  for (const wire::dsr_route_reply& reply : packet.header.replies) accept_reply(now, reply);
  if (!packet.content) return;
  std::optional<unsigned> hops;
  if (const auto& list = packet.header.source_route; list && list->salvage == 0) hops = static_cast<unsigned>(list->route.size() + 1);
  actions_.push_back({.what = dsr_action::kind::deliver, .packet = std::move(packet), .hops = hops});
}

void dsr_router::forward(time_us now, dsr_packet&& packet) {
  auto& list = packet.header.source_route;
  const bool leads_here =
      list && list->segments_left != 0 && list->route[list->route.size() - list->segments_left] == self_ && is_simple(route_of(packet));
  if (!leads_here) {
    drop(std::move(packet), dsr_drop::malformed);
    return;
  }
  if (packet.ttl <= 1) {
    drop(std::move(packet), dsr_drop::ttl_spent);
    return;
  }
  --packet.ttl;
  const node_path route = route_of(packet);
  const auto here = std::ranges::find(route, self_);
  cache_.notice(now, {here, route.end()});
  for (const wire::dsr_route_reply& reply : packet.header.replies) {
    const auto place = std::ranges::find(reply.route, self_);
    cache_.notice(now, {place, reply.route.end()});
  }
  --list->segments_left;
  const ipv4_address next_hop = *(here + 1);
  emit(std::move(packet), next_hop);
}

/// Learns of failed links. An error that is for this node is kept for its next request; one behind it, which could not be told on
/// its own, goes on to whom it is for.
void dsr_router::take_errors(time_us now, dsr_packet& packet) {
  std::vector<wire::dsr_route_error>& errors = packet.header.errors;
  for (const wire::dsr_route_error& error : errors) cache_.remove_link(error.source, error.unreachable);
  if (packet.header.request || errors.empty() || errors.back().destination != self_) return;
  held_error_ = errors.back();
  held_since_us_ = now;
  errors.pop_back();
  if (packet.destination != self_ || errors.empty()) return;
  dsr_packet rest{.source = self_, .destination = errors.back().destination};
  rest.header.errors = std::exchange(errors, {});
  if (rest.destination != self_) route_or_wait(now, std::move(rest), true);
}

void dsr_router::overhear(time_us now, const dsr_packet& packet, ipv4_address transmitter) {
  if (is_own(packet)) return;
  for (const wire::dsr_route_error& error : packet.header.errors) cache_.remove_link(error.source, error.unreachable);
  for (const wire::dsr_route_reply& reply : packet.header.replies) {
    const auto place = std::ranges::find(reply.route, self_);
    cache_.notice(now, {place, reply.route.end()});
  }
  // Who sends a request may not be reached by unicast.
  if (packet.header.request || !packet.header.source_route) return;
  const node_path route = route_of(packet);
  if (!is_simple(route)) return;
  const auto from = std::ranges::find(route, transmitter), here = std::ranges::find(route, self_);
  if (here != route.end()) {
    cache_.notice(now, {here, route.end()});
    const bool saved = packet.header.source_route->salvage != 0;
    if (packet.content && !saved && from < here - 1) {
      tell_shorter(now, static_cast<std::size_t>(from - route.begin()), static_cast<std::size_t>(here - route.begin()), route);
    }
  } else if (from != route.end()) {
    node_path beside{self_};
    beside.insert(beside.end(), from, route.end());
    cache_.notice(now, beside);
  }
}

// ---- Links that fail

void dsr_router::on_link_failure(time_us now, ipv4_address next_hop, dsr_packet&& packet) {
  ++counters_.links_failed;
  cache_.remove_link(self_, next_hop);
  const dsr_packet failed{.source = packet.source, .destination = packet.destination, .header = packet.header};
  on_unsent(now, next_hop, std::move(packet));
  send_error(next_hop, failed);
}

void dsr_router::on_unsent(time_us now, ipv4_address next_hop, dsr_packet&& packet) {
  if (packet.header.request) return;
  if (is_own(packet)) {
    packet.header.source_route.reset();
    route_or_wait(now, std::move(packet), true);
    return;
  }
  // A reply that tells of the link which has just failed would do harm.
  std::erase_if(packet.header.replies, [&](const wire::dsr_route_reply& reply) {
    const auto link = std::ranges::adjacent_find(reply.route, [&](ipv4_address one, ipv4_address next) {
      return (one == self_ && next == next_hop) || (one == next_hop && next == self_);
    });
    return link != reply.route.end();
  });
  if (!packet.content && packet.header.replies.empty() && packet.header.errors.empty()) return;
  if (packet.header.source_route && packet.header.source_route->salvage == wire::most_dsr_salvages) {
    drop(std::move(packet), dsr_drop::salvage_spent);
    return;
  }
  route_or_wait(now, std::move(packet), false);
}

/// Tells who put the route on the packet, along the way that it came.
void dsr_router::send_error(ipv4_address next_hop, const dsr_packet& failed) {
  if (!failed.header.source_route || failed.header.errors.size() >= config_.most_errors) return;
  const node_path route = route_of(failed);
  const auto here = std::ranges::find(route, self_);
  if (here == route.begin() || here == route.end() || !is_simple(route)) return;
  node_path back(std::make_reverse_iterator(here + 1), route.rend());
  dsr_packet error{.source = self_, .destination = route.front()};
  error.header.errors = failed.header.errors;
  error.header.errors.push_back(
      {.salvage = failed.header.source_route->salvage, .source = self_, .destination = route.front(), .unreachable = next_hop});
  ++counters_.errors_sent;
  send_along(std::move(error), back);
}

// ---- Time and what comes out

void dsr_router::emit_later(time_us at, dsr_packet&& packet, ipv4_address next_hop) {
  const auto place = std::ranges::upper_bound(delayed_, at, {}, &delayed::at_us);
  delayed_.insert(place, {.at_us = at, .action = {.what = dsr_action::kind::send, .packet = std::move(packet), .next_hop = next_hop}});
}

std::optional<time_us> dsr_router::next_deadline() const {
  if (delayed_.empty()) return next_check_us_;
  return next_check_us_ ? std::min(*next_check_us_, delayed_.front().at_us) : delayed_.front().at_us;
}

void dsr_router::expire(time_us now) {
  const auto due = std::ranges::upper_bound(delayed_, now, {}, &delayed::at_us);
  for (auto one = delayed_.begin(); one != due; ++one) actions_.push_back(std::move(one->action));
  delayed_.erase(delayed_.begin(), due);
  if (next_check_us_ && *next_check_us_ <= now) {
    look_after_waiting(now);
    next_check_us_.reset();
    if (!buffer_.empty()) next_check_us_ = now + config_.shortest_check_us + random_us(config_.shortest_check_us);
  }
}

std::optional<dsr_action> dsr_router::take() {
  std::optional<dsr_action> first;
  if (!actions_.empty()) {
    first.emplace(std::move(actions_.front()));
    actions_.pop_front();
  }
  return first;
}

void dsr_router::drop(dsr_packet&& packet, dsr_drop reason) {
  if (packet.content) actions_.push_back({.what = dsr_action::kind::drop, .packet = std::move(packet), .reason = reason});
}

}  // namespace perhop::routing
