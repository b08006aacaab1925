// SPDX-License-Identifier: GPL-2.0-or-later
/// Looks on which frames are lost at the nodes that they were for, and why; captures tell it. It changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/air/reception.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

/// What captures call a node.
std::string name_of(node_id node);

/// One line: where, and why.
std::string to_string(const lost_frame& lost);

class loss_watch {
public:
  using tell = std::function<void(const lost_frame&)>;

  /// @param sensitivity_w a frame that is weaker at a node is not for it
  loss_watch(std::size_t nodes, double sensitivity_w, tell tell);

  // To be called after the reception rule has been, with the same.
  void frame_starts(tick now, const transmission& frame, std::span<const link> receivers);
  void frame_ends(const transmission& frame, frame_slot slot, std::span<const link> receivers, const indication_board& board);
  void node_transmits(node_id node, tick until);

private:
  struct heard_frame {
    std::uint64_t id;
    node_id transmitter;
    bool met = false, sending = false;
    node_id other = 0;
  };
  struct receiver {
    std::vector<heard_frame> heard;  // now
    tick sends_until = 0;
  };

  std::vector<receiver> receivers_;
  double sensitivity_w_;
  tell tell_;
};

}  // namespace perhop::air
