// SPDX-License-Identifier: GPL-2.0-or-later
//
// Nodes with GPSR on a plane, by hand: all hear each other up to 250 m, a frame takes a millisecond, one to a node out of reach fails
// after ten. Every header crosses a link as bytes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "host/core/routing/gpsr_router.hpp"
#include "host/core/wire/gpsr_header.hpp"

namespace perhop::routing::test {

constexpr time_us frame_us = 1'000, failure_us = 10'000, second_us = 1'000'000;

/// In metres.
struct place {
  double x = 0, y = 0;
};

class gpsr_network {
public:
  struct arrival {
    std::uint64_t content = 0;
    ipv4_address at = 0;
  };
  struct loss {
    std::uint64_t content = 0;
    ipv4_address at = 0;
    gpsr_drop reason{};
  };
  struct transmission {
    ipv4_address from = 0, to = 0;
    gpsr_packet packet{};
    time_us at_us = 0;
  };

  /// Nodes have the addresses 1, 2 ...
  explicit gpsr_network(std::vector<place> places, const gpsr_config& config = {}, std::uint64_t seed = 1) : places_(std::move(places)) {
    for (ipv4_address node = 1; node <= places_.size(); ++node) {
      const auto locate = [this](ipv4_address whom, time_us) { return position_of(whom); };
      routers_.push_back(std::make_unique<gpsr_router>(node, now_us_, seed * 1000 + node, locate, config));
    }
  }
  gpsr_network(const gpsr_network&) = delete;
  gpsr_network& operator=(const gpsr_network&) = delete;

  void move(ipv4_address node, place to) { places_[node - 1] = to; }
  /// Neither hears the other from now on.
  void cut(ipv4_address one, ipv4_address other) { cuts_.insert(std::minmax(one, other)); }
  bool linked(ipv4_address one, ipv4_address other) const {
    const place a = places_[one - 1], b = places_[other - 1];
    return std::hypot(a.x - b.x, a.y - b.y) <= 250 && !cuts_.contains(std::minmax(one, other));
  }

  gpsr_router& node(ipv4_address address) { return *routers_[address - 1]; }
  std::size_t nodes() const { return routers_.size(); }
  time_us now() const { return now_us_; }

  std::uint64_t send(ipv4_address from, ipv4_address to, std::uint8_t ttl = 64) {
    const std::uint64_t content = ++contents_;
    node(from).originate(now_us_, content, to, 6, ttl);
    drain(from);
    return content;
  }

  void run(time_us for_us) {
    const time_us end = now_us_ + for_us;
    while (true) {
      time_us next = events_.empty() ? end + 1 : events_.begin()->first;
      ipv4_address due = 0;
      for (const auto& router : routers_) {
        const auto deadline = router->next_deadline();
        if (deadline && std::max(*deadline, now_us_) < next) {
          next = std::max(*deadline, now_us_);
          due = router->address();
        }
      }
      if (next > end) break;
      now_us_ = next;
      if (due != 0) {
        node(due).expire(now_us_);
        drain(due);
      } else {
        const transmission ends = events_.begin()->second;
        events_.erase(events_.begin());
        finish(ends);
      }
    }
    now_us_ = end;
  }

  bool delivered(std::uint64_t content) const { return std::ranges::count(arrivals, content, &arrival::content) == 1; }

  /// The nodes that sent this content, in order, and its destination if it came there.
  std::vector<ipv4_address> path_of(std::uint64_t content) const {
    std::vector<ipv4_address> path;
    for (const transmission& sent : sent_frames) {
      if (sent.packet.content == content) path.push_back(sent.from);
    }
    for (const arrival& one : arrivals) {
      if (one.content == content) path.push_back(one.at);
    }
    return path;
  }

  std::vector<arrival> arrivals;
  std::vector<loss> losses;
  std::vector<transmission> sent_frames;

private:
  gpsr_position position_of(ipv4_address whom) const {
    const place at = places_[whom - 1];
    return {static_cast<std::int32_t>(std::lround(at.x * 1e3)), static_cast<std::int32_t>(std::lround(at.y * 1e3))};
  }

  void drain(ipv4_address at) {
    while (auto action = node(at).take()) {
      switch (action->what) {
        case gpsr_action::kind::deliver:
          arrivals.push_back({*action->packet.content, at});
          break;
        case gpsr_action::kind::drop:
          losses.push_back({*action->packet.content, at, action->reason});
          break;
        case gpsr_action::kind::send: {
          const bool fails = action->next_hop != everybody && !linked(at, action->next_hop);
          const transmission frame{at, action->next_hop, action->packet, now_us_};
          sent_frames.push_back(frame);
          events_.emplace(now_us_ + (fails ? failure_us : frame_us), frame);
        }
      }
    }
  }

  static gpsr_packet over_the_air(const gpsr_packet& sent) {
    return {.source = sent.source,
            .destination = sent.destination,
            .ttl = sent.ttl,
            .header = wire::decode_gpsr_header(wire::encode(sent.header)).value().header,
            .content = sent.content};
  }

  void finish(const transmission& frame) {
    if (frame.to != everybody && !linked(frame.from, frame.to)) {
      node(frame.from).on_link_failure(now_us_, frame.to, frame.packet);
      drain(frame.from);
      return;
    }
    for (const auto& router : routers_) {
      const ipv4_address there = router->address();
      if (there == frame.from || !linked(frame.from, there) || (frame.to != everybody && frame.to != there)) continue;
      router->receive(now_us_, over_the_air(frame.packet));
      drain(there);
    }
  }

  std::vector<place> places_;
  std::vector<std::unique_ptr<gpsr_router>> routers_;
  std::set<std::pair<ipv4_address, ipv4_address>> cuts_;
  std::multimap<time_us, transmission> events_;
  time_us now_us_ = second_us;
  std::uint64_t contents_ = 0;
};

}  // namespace perhop::routing::test
