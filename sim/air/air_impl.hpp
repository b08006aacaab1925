// SPDX-License-Identifier: GPL-2.0-or-later
/// What stands behind an `air`, whatever its fidelity.
#pragma once

#include "sim/air/air.hpp"

namespace perhop::air {

class air::impl {
public:
  virtual ~impl() = default;
  tick now() const { return now_; }
  virtual tick next_event() const = 0;
  virtual void advance(tick until) = 0;
  virtual bool can_submit(node_id node) const = 0;
  virtual void submit(node_id node, const tx_request& request) = 0;
  virtual void move(node_id node, node_position to, double speed_mps) = 0;
  virtual void set_blocked(node_id one, node_id other, bool blocked) = 0;
  virtual neighbour_snapshot take_neighbour(node_id node, std::uint8_t slot, std::uint8_t bin) = 0;
  virtual void set_silent(node_id node, bool silent) = 0;
  virtual bool in_range(node_id from, node_id to) = 0;
  virtual node_position position(node_id node, tick at) const = 0;
  virtual void set_frame_error_rate(double frame_error_rate) = 0;
  virtual const air_counters& counters() = 0;

protected:
  tick now_ = 0;
};

}  // namespace perhop::air
