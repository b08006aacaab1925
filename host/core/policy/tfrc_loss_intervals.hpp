// SPDX-License-Identifier: GPL-2.0-or-later
//
// TFRC's loss event rate: the inverse of a weighted mean of the last L intervals between loss events, in packets.
//
//   mean = sum_{l=1..L} w_l * interval_{n-l}      w = 1 for the newest L/2, then falling linearly to 2/(L+2), normalised
//
// Source: K. Chen, K. Nahrstedt, "Limitations of equation-based congestion control in mobile ad hoc networks", equation (2),
// L = 8: weights 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2 over 6. RFC 5348, section 5.4: the interval that runs now replaces the
// history when that makes the mean larger; section 5.5: history discounting, on in that profile only (the paper does not
// mention it). Other L than 8 follow RFC 5348's formula for the weights, as the paper's figure 9 varies L.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/core/policy/tfrc_equation.hpp"

namespace perhop::policy {

class tfrc_loss_intervals {
public:
  /// @param intervals L, at least 1
  explicit tfrc_loss_intervals(std::size_t intervals = 8, tfrc_profile profile = tfrc_profile::paper);

  /// Packets arrived without a new loss event.
  void on_packets(std::uint64_t packets);

  /// A loss event: the interval that ran ends. The first one starts the history with nothing in it.
  void on_loss_event();

  /// The first loss event, with the interval that the equation gives for a rate received before it (RFC 3448 and RFC 5348, 6.3.1).
  void on_first_loss_event(double interval_packets);

  /// Weighted mean of the intervals in packets; 0 before the first one has ended.
  double mean_packets() const;

  /// 1 / mean; 0 before the first loss event.
  double loss_event_rate() const;

  /// Weight of the l-th newest interval (from 0), normalised to the sum of all L.
  double weight(std::size_t age) const { return weights_[age] / weight_sum_; }

  std::size_t known() const { return history_.size(); }
  double running_packets() const { return running_packets_; }

private:
  double discount_now() const;

  tfrc_profile profile_;
  std::vector<double> weights_;
  double weight_sum_ = 0;
  std::vector<double> history_;    // newest first
  std::vector<double> discounts_;  // of each, as of section 5.5
  double running_packets_ = 0;
  bool lost_ = false;
};

}  // namespace perhop::policy
