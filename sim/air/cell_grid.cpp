// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/cell_grid.hpp"

#include <algorithm>

namespace perhop::air {

namespace {

// Positions under way are computed with rounding; a cell that is missed by less than this counts as touched.
constexpr double touch_tolerance_m = 0.5;

}  // namespace

cell_grid::cell_grid(const std::vector<node_position>& nodes, double reach_m) : width_m_(reach_m + 1), of_node_(nodes.size()) {
  for (node_id node = 0; node < nodes.size(); ++node) {
    const std::uint64_t here = key(index(nodes[node].x_m), index(nodes[node].y_m));
    cells_[here].nodes.push_back(node);
    of_node_[node] = {here};
  }
}

void cell_grid::go(node_id node, node_position from, node_position to, tick arrival, std::uint64_t change) {
  // Where it would have been, others must look again: it will not come.
  for (const std::uint64_t left : of_node_[node]) {
    cell& cell = cells_[left];
    std::erase(cell.nodes, node);
    cell.past.change = change;
  }
  of_node_[node] = touched(from, to);
  for (const std::uint64_t entered : of_node_[node]) {
    cell& cell = cells_[entered];
    cell.nodes.push_back(node);
    cell.past = {std::max(cell.past.moving_until, arrival), change};
  }
}

void cell_grid::near(node_position place, std::vector<node_id>& nodes) const {
  nodes.clear();
  for_each_around(place, [&](const cell& cell) { nodes.insert(nodes.end(), cell.nodes.begin(), cell.nodes.end()); });
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

cell_grid::activity cell_grid::around(node_position place) const {
  activity all;
  for_each_around(place, [&](const cell& cell) {
    all.moving_until = std::max(all.moving_until, cell.past.moving_until);
    all.change = std::max(all.change, cell.past.change);
  });
  return all;
}

std::vector<std::uint64_t> cell_grid::touched(node_position from, node_position to) const {
  if (from.x_m > to.x_m) std::swap(from, to);
  const double low_y_m = std::min(from.y_m, to.y_m), high_y_m = std::max(from.y_m, to.y_m);
  // A line this steep crosses at most two columns, and may be anywhere in them.
  const bool upright = to.x_m - from.x_m < 2 * touch_tolerance_m;
  const auto y_at = [&](double x_m) {
    return std::clamp(from.y_m + (to.y_m - from.y_m) / (to.x_m - from.x_m) * (x_m - from.x_m), low_y_m, high_y_m);
  };
  std::vector<std::uint64_t> keys;
  for (std::int64_t column = index(from.x_m - touch_tolerance_m); column <= index(to.x_m + touch_tolerance_m); ++column) {
    double first_y_m = low_y_m, last_y_m = high_y_m;
    if (!upright) {
      first_y_m = y_at(static_cast<double>(column) * width_m_);
      last_y_m = y_at(static_cast<double>(column + 1) * width_m_);
      if (first_y_m > last_y_m) std::swap(first_y_m, last_y_m);
    }
    for (std::int64_t row = index(first_y_m - touch_tolerance_m); row <= index(last_y_m + touch_tolerance_m); ++row) {
      keys.push_back(key(column, row));
    }
  }
  return keys;
}

}  // namespace perhop::air
