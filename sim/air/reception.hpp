// SPDX-License-Identifier: GPL-2.0-or-later
/// The interface of a reception rule: what the receivers make of the frames that reach them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/air/frame_errors.hpp"
#include "sim/air/link_table.hpp"
#include "sim/air/node_set.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

/// Place of a transmission in the medium's table while it is on the air.
using frame_slot = std::uint32_t;
inline constexpr frame_slot no_frame = ~frame_slot{0};

/// What the PHY of one node tells its MAC at one tick.
struct indication {
  frame_slot rx_slot = no_frame;     ///< of rx_end
  frame_slot start_slot = no_frame;  ///< of rx_start
  std::uint16_t reserve_us = 0;      ///< ns-2's capture(): the NAV is set for so long without a frame; 0: no
  bool carrier_busy = false;         ///< a level: it holds until it changes
  bool rx_end = false;               ///< a frame is over
  bool rx_ok = false;                ///< ... and its FCS is good
  bool rx_start = false;             ///< a PLCP header was received: PHY-RXSTART
};

/// The indications of all nodes; a rule writes them, the owner of the medium reads them.
class indication_board {
public:
  explicit indication_board(std::size_t nodes) : touched(nodes), nodes_(nodes) {}

  void set_carrier(node_id node, bool busy) {
    nodes_[node].carrier_busy = busy;
    touched.insert(node);
  }
  void end_frame(node_id node, frame_slot slot, bool ok) {
    indication& now = nodes_[node];
    now.rx_end = true;
    now.rx_ok = ok;
    now.rx_slot = slot;
    touched.insert(node);
  }
  void start_frame(node_id node, frame_slot slot) {
    nodes_[node].rx_start = true;
    nodes_[node].start_slot = slot;
    touched.insert(node);
  }
  void reserve(node_id node, std::uint16_t duration_us) {
    indication& now = nodes_[node];
    if (duration_us > now.reserve_us) now.reserve_us = duration_us;
    touched.insert(node);
  }

  const indication& operator[](node_id node) const { return nodes_[node]; }
  /// Forgets the events of this tick; the carrier level stays.
  void acknowledge(node_id node) {
    indication& now = nodes_[node];
    now = {.carrier_busy = now.carrier_busy};
  }

  node_set touched;

private:
  std::vector<indication> nodes_;
};

/// A frame as a rule sees it.
struct incoming_frame {
  frame_slot slot;
  std::uint64_t id;
  tick last_arrival;  ///< when its last bit reaches the receivers in question
  std::uint16_t airtime_us;
  std::uint8_t rate_index;
  bool is_data;
};

class reception {
public:
  virtual ~reception() = default;
  /// The first bit of a frame reaches these receivers now.
  virtual void frame_starts(tick now, const incoming_frame& frame, std::span<const link> receivers, indication_board& board) = 0;
  /// Its last bit does. Ends of a tick come before starts.
  virtual void frame_ends(tick now, const incoming_frame& frame, std::span<const link> receivers, indication_board& board) = 0;
  /// The node itself sends until `until`; comes after the starts and ends of the same tick.
  virtual void node_transmits(node_id node, tick until) = 0;
  /// Frames that end from now on are lost at another rate.
  virtual void set_frame_errors(const frame_errors& errors) = 0;
  /// The frame that the node's receiver is busy with, or no_frame.
  virtual frame_slot locked(node_id node) const = 0;
  /// ... and it can still be understood, so the end of its PLCP header is indicated.
  virtual bool header_good(node_id node) const = 0;
};

}  // namespace perhop::air
