// SPDX-License-Identifier: GPL-2.0-or-later
/// Which nodes can be near a place: the plane in square cells as wide as the farthest link reaches.
///
/// A node stands in every cell that it touches on its way, so that motion takes no events here either; who hears whom is found in
/// the nine cells around a transmitter. A cell knows until when somebody is on the way in it and when somebody last set out or
/// stopped being there, so that a move renews no links but those around it.
#pragma once

#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/air/air_config.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

class cell_grid {
public:
  /// @param reach_m nobody is heard farther away
  cell_grid(const std::vector<node_position>& nodes, double reach_m);

  /// A node goes from one place to another, at once or until `arrival`; what it did before is over.
  /// @param change of the table of links, never less than before
  void go(node_id node, node_position from, node_position to, tick arrival, std::uint64_t change);

  /// Nodes that may be within reach of a place: a superset, in ascending order, each once.
  void near(node_position place, std::vector<node_id>& nodes) const;

  struct activity {
    tick moving_until = 0;     ///< somebody may be on the way within reach before that
    std::uint64_t change = 0;  ///< the last one here; 0: none
  };
  /// What has happened within reach of a place.
  activity around(node_position place) const;

private:
  struct cell {
    std::vector<node_id> nodes;
    activity past;
  };

  std::int64_t index(double at_m) const { return static_cast<std::int64_t>(std::floor(at_m / width_m_)); }
  // No two cells of any grid of the positions that a run may have share a key.
  static std::uint64_t key(std::int64_t column, std::int64_t row) {
    return std::uint64_t{static_cast<std::uint32_t>(column)} << 32 | static_cast<std::uint32_t>(row);
  }

  /// Calls visit(cell) for the nine cells around a place that have ever been touched.
  template <typename visitor>
  void for_each_around(node_position place, visitor&& visit) const {
    for (std::int64_t column = index(place.x_m) - 1; column <= index(place.x_m) + 1; ++column) {
      for (std::int64_t row = index(place.y_m) - 1; row <= index(place.y_m) + 1; ++row) {
        if (const auto found = cells_.find(key(column, row)); found != cells_.end()) visit(found->second);
      }
    }
  }

  /// The keys of all cells that the straight line touches, and perhaps of some beside them.
  std::vector<std::uint64_t> touched(node_position from, node_position to) const;

  double width_m_;
  std::unordered_map<std::uint64_t, cell> cells_;
  std::vector<std::vector<std::uint64_t>> of_node_;  // the keys of the cells in which each node stands
};

}  // namespace perhop::air
