// SPDX-License-Identifier: GPL-2.0-or-later
//
// Nodes with AODV and the links between them, by hand: a frame takes a millisecond, one to a node out of reach fails after ten. Every
// message crosses a link as bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "host/core/routing/aodv_router.hpp"

namespace perhop::routing::test {

constexpr time_us frame_us = 1'000, failure_us = 10'000, second_us = 1'000'000;

class aodv_network {
public:
  struct arrival {
    std::uint64_t content = 0;
    ipv4_address at = 0;
    time_us when_us = 0;
  };
  struct loss {
    std::uint64_t content = 0;
    ipv4_address at = 0;
    aodv_drop reason{};
    time_us when_us = 0;
  };
  struct transmission {
    ipv4_address from = 0, to = 0;
    std::optional<aodv_packet> packet{};  ///< nothing: a message
    wire::aodv_message message{};
    std::uint8_t ttl = 0;
    time_us when_us = 0;
  };

  /// Nodes have the addresses 1 to `nodes`.
  explicit aodv_network(unsigned nodes, const aodv_config& config = {}, std::uint64_t seed = 1) {
    for (ipv4_address node = 1; node <= nodes; ++node) {
      routers_.push_back(std::make_unique<aodv_router>(node, seed * 1000 + node, config));
    }
  }

  static aodv_network chain(unsigned nodes, const aodv_config& config = {}) {
    aodv_network network(nodes, config);
    for (ipv4_address node = 1; node < nodes; ++node) network.link(node, node + 1);
    return network;
  }

  void link(ipv4_address one, ipv4_address other) { links_.insert(std::minmax(one, other)); }
  void cut(ipv4_address one, ipv4_address other) { links_.erase(std::minmax(one, other)); }
  bool linked(ipv4_address one, ipv4_address other) const { return links_.contains(std::minmax(one, other)); }

  /// A link is there, but a frame over it fails once.
  void fail_once(ipv4_address from, ipv4_address to) { failing_.insert({from, to}); }

  /// What nobody hears: asked of each message that is sent.
  std::function<bool(const transmission&)> is_lost = [](const transmission&) { return false; };

  aodv_router& node(ipv4_address address) { return *routers_[address - 1]; }
  time_us now() const { return now_us_; }

  std::uint64_t send(ipv4_address from, ipv4_address to) {
    const std::uint64_t content = ++contents_;
    node(from).originate(now_us_, content, to);
    drain(from);
    return content;
  }

  /// A message that nobody sent.
  void inject(ipv4_address to, ipv4_address from, const wire::aodv_message& message, std::uint8_t ttl = 10) {
    node(to).receive_message(now_us_, from, ttl, message);
    drain(to);
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
        const transmission ends = std::move(events_.begin()->second);
        events_.erase(events_.begin());
        finish(ends);
      }
    }
    now_us_ = end;
  }

  bool delivered(std::uint64_t content) const { return std::ranges::count(arrivals, content, &arrival::content) == 1; }

  /// That carried this content, in order.
  std::vector<std::pair<ipv4_address, ipv4_address>> hops_of(std::uint64_t content) const {
    std::vector<std::pair<ipv4_address, ipv4_address>> hops;
    for (const transmission& sent : sent_frames) {
      if (sent.packet && sent.packet->content == content) hops.emplace_back(sent.from, sent.to);
    }
    return hops;
  }

  /// Messages of a kind that a node sent (0: any node).
  template <typename kind>
  std::vector<transmission> told(ipv4_address from = 0) const {
    std::vector<transmission> found;
    for (const transmission& sent : sent_frames) {
      if (!sent.packet && std::holds_alternative<kind>(sent.message) && (from == 0 || sent.from == from)) found.push_back(sent);
    }
    return found;
  }

  std::vector<arrival> arrivals;
  std::vector<loss> losses;
  std::vector<transmission> sent_frames;
  std::vector<std::pair<ipv4_address, ipv4_address>> purges;  ///< at whom, for whom

private:
  void drain(ipv4_address at) {
    while (auto action = node(at).take()) {
      const std::uint64_t content = action->packet.content;
      switch (action->what) {
        case aodv_action::kind::deliver:
          arrivals.push_back({content, at, now_us_});
          break;
        case aodv_action::kind::drop:
          losses.push_back({content, at, action->reason, now_us_});
          break;
        case aodv_action::kind::purge:
          purges.emplace_back(at, action->next_hop);
          break;
        case aodv_action::kind::send:
          transmit({.from = at, .to = action->next_hop, .packet = action->packet, .when_us = now_us_});
          break;
        case aodv_action::kind::tell:
          transmit({.from = at, .to = action->next_hop, .message = action->message, .ttl = action->ttl, .when_us = now_us_});
          break;
      }
    }
  }

  void transmit(const transmission& frame) {
    sent_frames.push_back(frame);
    events_.emplace(now_us_ + (frame.to != everybody && !linked(frame.from, frame.to) ? failure_us : frame_us), frame);
  }

  void finish(const transmission& frame) {
    const bool fails =
        frame.to != everybody && (!linked(frame.from, frame.to) || (frame.packet && failing_.erase({frame.from, frame.to}) != 0));
    if (fails) {
      if (frame.packet) node(frame.from).on_link_failure(now_us_, frame.to, *frame.packet);
      drain(frame.from);
      return;
    }
    if (!frame.packet && is_lost(frame)) return;
    for (const auto& router : routers_) {
      const ipv4_address there = router->address();
      if (there == frame.from || !linked(frame.from, there) || (frame.to != everybody && frame.to != there)) continue;
      if (frame.packet) {
        router->receive(now_us_, *frame.packet);
      } else {
        router->receive_message(now_us_, frame.from, frame.ttl, wire::decode_aodv_message(wire::encode(frame.message)).value());
      }
      drain(there);
    }
  }

  std::vector<std::unique_ptr<aodv_router>> routers_;
  std::set<std::pair<ipv4_address, ipv4_address>> links_;
  std::set<std::pair<ipv4_address, ipv4_address>> failing_;
  std::multimap<time_us, transmission> events_;
  time_us now_us_ = second_us;
  std::uint64_t contents_ = 0;
};

}  // namespace perhop::routing::test
