// SPDX-License-Identifier: GPL-2.0-or-later
/// The neighbours that a node of GPSR has heard lately, where they stood, and which of them are joined to it by edges of a planar graph
/// (Karp and Kung, 2.2.2): what remains where each node removes edges by itself crosses nowhere, and is connected if the links were those
/// of a range that all share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "host/core/policy/time.hpp"
#include "host/core/routing/gpsr_geometry.hpp"
#include "host/core/wire/ipv4_address.hpp"

namespace perhop::routing {

using policy::time_us;
using wire::ipv4_address;

enum class planar_graph : std::uint8_t {
  gabriel,                ///< an edge stays if no third node is in the circle of which it is the diameter
  relative_neighbourhood  ///< if no third node is nearer to both of its ends than they are to each other: fewer edges
};

struct gpsr_neighbour {
  ipv4_address node = 0;
  gpsr_position at{};
  time_us heard_us = 0;
};

class gpsr_neighbours {
public:
  void hear(time_us now, ipv4_address node, const gpsr_position& at);
  void forget(ipv4_address node);
  /// Forgets those that were not heard for `timeout_us`.
  void forget_silent(time_us now, time_us timeout_us);

  const gpsr_neighbour* find(ipv4_address node) const;
  const std::vector<gpsr_neighbour>& all() const { return known_; }

  /// The one nearest to `destination`, if it is nearer than `here`.
  const gpsr_neighbour* nearest(const gpsr_position& here, const gpsr_position& destination) const;

  /// Those whose edges from `here` stay.
  std::vector<gpsr_neighbour> planar(const gpsr_position& here, planar_graph graph) const;

private:
  std::vector<gpsr_neighbour> known_{};  ///< by address
};

}  // namespace perhop::routing
