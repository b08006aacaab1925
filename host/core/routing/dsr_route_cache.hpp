// SPDX-License-Identifier: GPL-2.0-or-later
/// DSR's route cache (RFC 4728, 4.1): paths from this node, in two parts as ns-2.35 has them. What was asked for is in the first; what was
/// seen in packets of others is in the second, and moves when it is used, so that hearsay pushes out no route in use.
///
/// A path cache, not a link cache: it gives only paths that some packet told whole. What the RFC leaves open and ns-2.35 decides: 30 and
/// 64 paths, the oldest makes room; the shortest path is taken; a dead link cuts paths in its own direction only. From the RFC, and not
/// in ns-2.35: a path that nothing has confirmed for 300 s is forgotten.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "host/core/policy/time.hpp"
#include "host/core/wire/dsr_header.hpp"

namespace perhop::routing {

using policy::time_us;
using wire::ipv4_address;

/// Nodes in order, both ends among them.
using node_path = std::vector<ipv4_address>;

struct dsr_route_cache_config {
  std::size_t used_paths = 30;
  std::size_t seen_paths = 64;
  time_us timeout_us = 300'000'000;  ///< RouteCacheTimeout
};

class dsr_route_cache {
public:
  dsr_route_cache(ipv4_address self, const dsr_route_cache_config& config) : self_(self), config_(config) {}

  /// A path that this node asked for. Ignored unless it begins here, has another end and no node twice.
  void add(time_us now, std::span<const ipv4_address> path);

  /// The same for one that packets of others told of.
  void notice(time_us now, std::span<const ipv4_address> path);

  /// The shortest known path to a node, of several the one known longest. @param use it is to be kept
  std::optional<node_path> find(time_us now, ipv4_address destination, bool use);

  /// Nothing goes over this link any more.
  void remove_link(ipv4_address from, ipv4_address to);

  std::size_t paths() const { return used_.paths.size() + seen_.paths.size(); }

private:
  struct entry {
    node_path path;
    time_us confirmed_us = 0;
  };
  struct part {
    std::vector<entry> paths{};
    std::size_t victim = 0;  ///< the next to make room
  };
  struct found_path {
    std::size_t index = 0;
    std::size_t hops = 0;
  };

  bool makes_sense(std::span<const ipv4_address> path) const;
  static void insert(time_us now, part& where, std::size_t most_paths, std::span<const ipv4_address> path);
  static std::optional<found_path> shortest(const part& where, ipv4_address destination);
  void forget_old(time_us now);

  ipv4_address self_;
  dsr_route_cache_config config_;
  part used_, seen_;
};

/// No node twice.
bool is_simple(std::span<const ipv4_address> path);

}  // namespace perhop::routing
