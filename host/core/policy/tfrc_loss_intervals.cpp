// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/tfrc_loss_intervals.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace perhop::policy {

namespace {

constexpr double least_discount = 0.5;  // RFC 5348, 5.5: THRESHOLD

}  // namespace

tfrc_loss_intervals::tfrc_loss_intervals(std::size_t intervals, tfrc_profile profile) : profile_(profile) {
  assert(intervals > 0);
  // RFC 5348, section 5.4: full weight for the newer half, then a straight line that would reach 0 one interval later.
  const auto half = static_cast<double>(intervals) / 2;
  for (std::size_t age = 0; age < intervals; ++age) {
    const auto i = static_cast<double>(age);
    weights_.push_back(i < half ? 1.0 : 1.0 - (i - (half - 1)) / (half + 1));
  }
  weight_sum_ = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  history_.reserve(intervals + 1);
  discounts_.reserve(intervals + 1);
}

void tfrc_loss_intervals::on_packets(std::uint64_t packets) { running_packets_ += static_cast<double>(packets); }

void tfrc_loss_intervals::on_loss_event() {
  if (lost_) {
    // What discounted the history while this interval ran stays with it.
    const double discount = discount_now();
    for (double& d : discounts_) d *= discount;
    history_.insert(history_.begin(), running_packets_);
    discounts_.insert(discounts_.begin(), 1.0);
    if (history_.size() > weights_.size()) {
      history_.pop_back();
      discounts_.pop_back();
    }
  }
  lost_ = true;
  running_packets_ = 0;
}

void tfrc_loss_intervals::on_first_loss_event(double interval_packets) {
  lost_ = true;
  history_.assign(1, std::max(interval_packets, 1.0));
  discounts_.assign(1, 1.0);
  running_packets_ = 0;
}

// How much the history counts beside a running interval that is more than twice its mean (RFC 5348, 5.5).
double tfrc_loss_intervals::discount_now() const {
  if (profile_ != tfrc_profile::rfc5348 || history_.empty()) return 1;
  double sum = 0;
  double weights = 0;
  for (std::size_t age = 0; age < history_.size(); ++age) {
    sum += history_[age] * weights_[age] * discounts_[age];
    weights += weights_[age] * discounts_[age];
  }
  const double mean = sum / weights;
  if (running_packets_ <= 2 * mean) return 1;
  return std::max(2 * mean / running_packets_, least_discount);
}

double tfrc_loss_intervals::mean_packets() const {
  if (history_.empty()) return 0;
  double past = 0;
  double past_weights = 0;
  for (std::size_t age = 0; age < history_.size(); ++age) {
    past += history_[age] * weights_[age] * discounts_[age];
    past_weights += weights_[age] * discounts_[age];
  }
  const double discount = discount_now();
  double with_running = running_packets_ * weights_[0];
  double running_weights = weights_[0];
  for (std::size_t age = 0; age + 1 < weights_.size() && age < history_.size(); ++age) {
    with_running += history_[age] * weights_[age + 1] * discounts_[age] * discount;
    running_weights += weights_[age + 1] * discounts_[age] * discount;
  }
  return std::max(past / past_weights, with_running / running_weights);
}

double tfrc_loss_intervals::loss_event_rate() const {
  const double mean = mean_packets();
  return mean > 0 ? 1 / mean : 0;
}

}  // namespace perhop::policy
