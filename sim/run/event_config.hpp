// SPDX-License-Identifier: GPL-2.0-or-later
/// An element of `events` of run.json.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "sim/run/air_names.hpp"

namespace perhop::run {

class json_section;

/// Something that happens to the network at a time of the run.
struct event_config {
  enum class event_kind {
    route,      ///< packets for the last node of `path` follow it; with both_ways also those for the first node, back
    link_down,  ///< nothing passes between a and b, neither frames nor energy
    link_up,    ///< it does again
    node_down,  ///< node a is dead: no frame of it passes, nor one to it
    node_up,    ///< it is back
    move,       ///< node a goes to `position` at `speed_mps`
    loss,       ///< DATA frames are lost at random at `frame_error_rate`
  };
  double at_s = 0;
  event_kind kind = event_kind::route;
  std::vector<node_id> path;
  bool both_ways = true;
  node_id a = 0, b = 0;
  node_position position{};
  double speed_mps = air::no_time_mps;
  double frame_error_rate = 0;

  tick at() const { return static_cast<tick>(std::llround(at_s * ticks_per_second)); }
};

/// @param radios how many nodes have one; @param nodes how many there are, which routes may name
event_config read_event(json_section event, std::size_t radios, std::size_t nodes);

}  // namespace perhop::run
