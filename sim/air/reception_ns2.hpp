// SPDX-License-Identifier: GPL-2.0-or-later
/// The reception rule of ns-2.35 (mac/wireless-phy.cc, mac/mac-802_11.cc: recv, capture, collision, recv_timer).
///
/// - A frame below the carrier-sense threshold does not exist.
/// - An idle receiver takes the first frame. It is in error if it is weaker than the sensitivity or if the node is sending.
/// - While a receiver has a frame, another one is ignored if the first is stronger by the capture ratio; otherwise both are
///   in error, and the receiver stays busy until the later of the two ends. A later, stronger frame never wins.
/// - Sending spoils the frame being received. If the node still sends when that frame ends, the MAC does not hear of it.
/// - The carrier is busy exactly while the receiver has a frame.
///
/// Ours differs from the source: frames of one tick have an order (that of their transmissions); and the NAV that capture()
/// sets (EIFS and the ignored frame's airtime) is an indication of its own, given only under ns-2 compatibility.
#pragma once

#include "sim/air/reception.hpp"

namespace perhop::air {

class reception_ns2 final : public reception {
public:
  /// @param capture_ratio power ratio (not dB)
  /// @param capture_eifs_us EIFS for the NAV of capture(); 0: no NAV
  reception_ns2(std::size_t nodes, double sensitivity_w, double capture_ratio, std::uint16_t capture_eifs_us, frame_errors errors);

  void frame_starts(tick now, const incoming_frame& frame, std::span<const link> receivers, indication_board& board) override;
  void frame_ends(tick now, const incoming_frame& frame, std::span<const link> receivers, indication_board& board) override;
  void node_transmits(node_id node, tick until) override;
  void set_frame_errors(const frame_errors& errors) override { errors_ = errors; }
  frame_slot locked(node_id node) const override { return receivers_[node].slot; }
  bool header_good(node_id node) const override { return !receivers_[node].error; }

private:
  struct receiver {
    double power_w = 0;
    tick end = 0;  // of the frame it has
    tick sends_until = 0;
    frame_slot slot = no_frame;
    bool error = false;
  };

  std::vector<receiver> receivers_;
  double sensitivity_w_;
  double capture_ratio_;
  std::uint16_t capture_eifs_us_;
  frame_errors errors_;
};

}  // namespace perhop::air
