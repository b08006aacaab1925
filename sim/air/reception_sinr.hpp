// SPDX-License-Identifier: GPL-2.0-or-later
/// Reception by signal to interference and noise ratio (SINR).
///
/// - A receiver that is idle and not sending takes a frame whose power reaches the sensitivity and whose SINR reaches the
///   threshold of the lowest rate (its preamble is sent at that rate). With a re-lock ratio, a later frame that is so much
///   stronger than the one being received takes its place.
/// - All other power is interference. The frame is good if the smallest SINR during it reaches the threshold of its rate.
/// - Sending ends a reception without an indication. A frame that was missed is carrier only.
/// - The carrier is busy while the total power reaches the carrier-sense threshold.
///
/// Simplification: one threshold a rate instead of a bit error rate over pieces of the frame.
#pragma once

#include <optional>

#include "sim/air/reception.hpp"

namespace perhop::air {

class reception_sinr final : public reception {
public:
  struct settings {
    double sensitivity_w;
    double carrier_sense_w;
    double noise_w;
    std::vector<double> threshold_ratio;  ///< one for each rate; the first is that of the preamble
    std::optional<double> relock_ratio;
  };

  reception_sinr(std::size_t nodes, settings settings, frame_errors errors);

  void frame_starts(tick now, const incoming_frame& frame, std::span<const link> receivers, indication_board& board) override;
  void frame_ends(tick now, const incoming_frame& frame, std::span<const link> receivers, indication_board& board) override;
  void node_transmits(node_id node, tick until) override;
  void set_frame_errors(const frame_errors& errors) override { errors_ = errors; }
  frame_slot locked(node_id node) const override { return receivers_[node].slot; }
  bool header_good(node_id node) const override { return receivers_[node].worst_sinr >= settings_.threshold_ratio.front(); }

private:
  struct receiver {
    double total_w = 0;  // of all frames that arrive
    double power_w = 0;  // of the frame it has
    double worst_sinr = 0;
    tick sends_until = 0;
    frame_slot slot = no_frame;
    std::uint32_t frames = 0;
    bool carrier_busy = false;
  };

  double sinr(const receiver& at, double power_w) const { return power_w / (settings_.noise_w + (at.total_w - power_w)); }
  void sense(receiver& at, node_id node, indication_board& board) const;

  std::vector<receiver> receivers_;
  settings settings_;
  frame_errors errors_;
};

}  // namespace perhop::air
