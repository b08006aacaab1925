// SPDX-License-Identifier: GPL-2.0-or-later
//
// Nodes with DSR and the links between them, by hand: a frame takes a millisecond, one to a node out of reach fails after ten. Every
// header crosses a link as bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "host/core/routing/dsr_router.hpp"
#include "host/core/wire/dsr_header.hpp"

namespace perhop::routing::test {

constexpr time_us frame_us = 1'000, failure_us = 10'000, second_us = 1'000'000;

class dsr_network {
public:
  struct arrival {
    std::uint64_t content = 0;
    ipv4_address at = 0;
    std::optional<unsigned> hops{};
    time_us when_us = 0;
  };
  struct loss {
    std::uint64_t content = 0;
    ipv4_address at = 0;
    dsr_drop reason{};
  };
  struct transmission {
    ipv4_address from = 0, to = 0;
    dsr_packet packet{};
  };

  /// Nodes have the addresses 1 to `nodes`.
  explicit dsr_network(unsigned nodes, const dsr_config& config = {}, std::uint64_t seed = 1) {
    for (ipv4_address node = 1; node <= nodes; ++node) {
      routers_.push_back(std::make_unique<dsr_router>(node, seed * 1000 + node, config));
    }
  }

  static dsr_network chain(unsigned nodes) {
    dsr_network network(nodes);
    for (ipv4_address node = 1; node < nodes; ++node) network.link(node, node + 1);
    return network;
  }

  void link(ipv4_address one, ipv4_address other) { links_.insert(std::minmax(one, other)); }
  void cut(ipv4_address one, ipv4_address other) { links_.erase(std::minmax(one, other)); }
  bool linked(ipv4_address one, ipv4_address other) const { return links_.contains(std::minmax(one, other)); }

  /// Neighbours hear unicast frames for others, too.
  void let_all_overhear() { overhear_ = true; }

  dsr_router& node(ipv4_address address) { return *routers_[address - 1]; }
  time_us now() const { return now_us_; }

  std::uint64_t send(ipv4_address from, ipv4_address to) {
    const std::uint64_t content = ++contents_;
    node(from).originate(now_us_, content, to, 6, 64);
    drain(from);
    return content;
  }

  /// An interface queue gives a packet back, or a test makes one up: hands it to a node as if it had come over the air.
  void inject(ipv4_address to, dsr_packet packet) {
    node(to).receive(now_us_, std::move(packet));
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
      if (sent.packet.content == content) hops.emplace_back(sent.from, sent.to);
    }
    return hops;
  }

  std::uint64_t requests() const {
    return static_cast<std::uint64_t>(std::ranges::count_if(sent_frames, [](const transmission& sent) { return sent.to == everybody; }));
  }

  std::vector<arrival> arrivals;
  std::vector<loss> losses;
  std::vector<transmission> sent_frames;

private:
  void drain(ipv4_address at) {
    while (auto action = node(at).take()) {
      switch (action->what) {
        case dsr_action::kind::deliver:
          arrivals.push_back({*action->packet.content, at, action->hops, now_us_});
          break;
        case dsr_action::kind::drop:
          losses.push_back({*action->packet.content, at, action->reason});
          break;
        case dsr_action::kind::send: {
          const bool fails = action->next_hop != everybody && !linked(at, action->next_hop);
          const transmission frame{at, action->next_hop, std::move(action->packet)};
          sent_frames.push_back(frame);
          events_.emplace(now_us_ + (fails ? failure_us : frame_us), frame);
        }
      }
    }
  }

  static dsr_packet over_the_air(const dsr_packet& sent) {
    dsr_packet arrived = sent;
    arrived.header = wire::decode_dsr_header(wire::encode(sent.header)).value().header;
    return arrived;
  }

  void finish(const transmission& frame) {
    if (frame.to != everybody && !linked(frame.from, frame.to)) {
      node(frame.from).on_link_failure(now_us_, frame.to, dsr_packet(frame.packet));
      drain(frame.from);
      return;
    }
    for (const auto& router : routers_) {
      const ipv4_address there = router->address();
      if (there == frame.from || !linked(frame.from, there)) continue;
      if (frame.to == everybody || frame.to == there) {
        router->receive(now_us_, over_the_air(frame.packet));
      } else if (overhear_) {
        router->overhear(now_us_, over_the_air(frame.packet), frame.from);
      }
      drain(there);
    }
  }

  std::vector<std::unique_ptr<dsr_router>> routers_;
  std::set<std::pair<ipv4_address, ipv4_address>> links_;
  std::multimap<time_us, transmission> events_;
  time_us now_us_ = second_us;
  std::uint64_t contents_ = 0;
  bool overhear_ = false;
};

}  // namespace perhop::routing::test
