// SPDX-License-Identifier: GPL-2.0-or-later
/// Where every node is: it stands, or goes in a straight line at a constant speed.
///
/// Positions are a function of time, so that motion takes no events: whoever needs a position asks for it. A node that is told
/// to go elsewhere under way turns where it then is, as ns-2's mobile nodes do (common/mobilenode.cc, set_destination).
#pragma once

#include <cassert>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "sim/air/air_config.hpp"

namespace perhop::air {

/// Of a node that is there at once.
inline constexpr double no_time_mps = std::numeric_limits<double>::infinity();

class motion {
public:
  explicit motion(const std::vector<node_position>& nodes) {
    legs_.reserve(nodes.size());
    for (const node_position& node : nodes) legs_.push_back({.from = node, .to = node});
  }

  std::size_t nodes() const { return legs_.size(); }

  /// @param now not before the last go() of this node
  node_position at(node_id node, tick now) const {
    const leg& leg = legs_[node];
    const double gone_us = static_cast<double>(now - leg.start);
    if (gone_us >= leg.duration_us) return leg.to;
    const double share = gone_us / leg.duration_us;
    return {leg.from.x_m + share * (leg.to.x_m - leg.from.x_m), leg.from.y_m + share * (leg.to.y_m - leg.from.y_m)};
  }

  /// From `now` on the node goes to `to`, and then stays. @param speed_mps above 0; no_time_mps: it is there at once
  void go(tick now, node_id node, node_position to, double speed_mps) {
    assert(speed_mps > 0);
    const node_position from = at(node, now);
    const double away_m = std::hypot(to.x_m - from.x_m, to.y_m - from.y_m);
    if (const auto before = arrivals_.find(still_from(node)); before != arrivals_.end()) arrivals_.erase(before);
    legs_[node] = {.from = from, .to = to, .start = now, .duration_us = away_m / speed_mps * ticks_per_second};
    arrivals_.insert(still_from(node));
  }

  /// From then on nobody moves.
  tick still_from() const { return arrivals_.empty() ? 0 : *arrivals_.rbegin(); }
  /// From then on this node does not move, unless it is told to.
  tick still_from(node_id node) const { return legs_[node].start + static_cast<tick>(std::ceil(legs_[node].duration_us)); }

private:
  struct leg {
    node_position from, to;
    tick start = 0;
    double duration_us = 0;
  };

  std::vector<leg> legs_;
  std::multiset<tick> arrivals_;  // of the nodes that were ever told to go; a 0 more or less says nothing
};

}  // namespace perhop::air
