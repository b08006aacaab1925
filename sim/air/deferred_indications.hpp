// SPDX-License-Identifier: GPL-2.0-or-later
/// What the medium has told about a node that its MAC core has not been shown yet, because it cannot change what the core
/// does next. It is shown, as if at its own time, before the next evaluation.
///
/// In order of time: at most one end of a frame, then carrier edges.
#pragma once

#include <cstdint>

#include "sim/air/types.hpp"

namespace perhop::air {

struct deferred_indications {
  // The end of a frame that is not for the node, and the busy carrier before it.
  bool has_end = false;
  bool end_ok = false;  ///< FCS good
  bool busy_before_end = false;
  bool carrier_after_end = false;
  std::uint16_t duration_us = 0;  ///< Duration field of the frame
  tick busy_from = 0;
  tick end_at = 0;
  tick nav_end = 0;  ///< until when the frame reserves the medium

  // Carrier edges since, or since the last evaluation.
  std::uint32_t edges = 0;
  tick first_edge = 0;
  tick previous_edge = 0;  ///< the last but one
  tick last_edge = 0;

  bool any() const { return has_end || edges != 0; }

  /// The carrier after all that is held. @param shown the carrier that the core knows
  bool carrier(bool shown) const { return (has_end ? carrier_after_end : shown) != (edges % 2 != 0); }

  void add_edge(tick now) {
    if (edges++ == 0) first_edge = now;
    previous_edge = last_edge;
    last_edge = now;
  }

  /// A frame's end takes the place of everything before it. The caller has made sure that an earlier end may be forgotten.
  void put_end(tick now, bool ok, std::uint16_t frame_duration_us, tick frame_nav_end, bool carrier_busy) {
    if (!(has_end && busy_before_end) && edges != 0) {
      busy_before_end = true;
      busy_from = first_edge;
    } else if (!has_end) {
      busy_before_end = false;
    }
    edges = 0;
    has_end = true;
    end_ok = ok;
    carrier_after_end = carrier_busy;
    duration_us = frame_duration_us;
    end_at = now;
    nav_end = frame_nav_end;
  }
};

}  // namespace perhop::air
