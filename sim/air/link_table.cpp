// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/link_table.hpp"

#include <algorithm>
#include <cmath>

#include "sim/air/blocked_links.hpp"

namespace perhop::air {

namespace {

// Distances are square roots of decimal fractions: a node at exactly the range is in range.
constexpr double threshold_tolerance = 1 - 1e-9;

// Interference this far below the noise changes no SINR that matters (0.04 dB).
constexpr double interference_floor = 0.01;

// Farther than any two nodes of a run can be from each other.
constexpr double everywhere_m = 1e8;

/// A distance beyond which less arrives than `least_w`, not much above the least such distance. Power falls with distance.
double reach_m(const loss_model& loss, double least_w) {
  const auto arrives = [&](double distance_m) { return loss.received_power_w(distance_m) >= least_w; };
  double beyond_m = 1;
  while (beyond_m < everywhere_m && arrives(beyond_m)) beyond_m *= 2;
  for (double within_m = beyond_m / 2; beyond_m - within_m > 0.5;) {
    const double middle_m = (within_m + beyond_m) / 2;
    (arrives(middle_m) ? within_m : beyond_m) = middle_m;
  }
  return beyond_m;
}

}  // namespace

link_table::link_table(const air_config& config)
    : config_(config), motion_(config.nodes), loss_(make_loss_model(config.medium)), rows_(config.nodes.size()) {
  config_.nodes.clear();
  const medium_config& medium = config.medium;
  sensitivity_w_ = loss_->received_power_w(medium.tx_range_m) * threshold_tolerance;
  carrier_sense_w_ = loss_->received_power_w(medium.cs_range_m) * threshold_tolerance;
  floor_w_ = carrier_sense_w_;
  if (medium.reception == reception_kind::sinr) {
    const double hardest_db = *std::max_element(medium.sinr_threshold_db.begin(), medium.sinr_threshold_db.end());
    noise_w_ = medium.noise_dbm ? watts_from_dbm(*medium.noise_dbm) : sensitivity_w_ / ratio_from_db(hardest_db);
    floor_w_ = std::min(floor_w_, noise_w_ * interference_floor);
  }
  cells_.emplace(config.nodes, reach_m(*loss_, floor_w_));
  for (std::shared_ptr<link_row>& row : rows_) row = std::make_shared<link_row>();
}

/// What has happened since the row was made concerns others. Called only where something has.
bool link_table::holds(const link_row& row, node_id transmitter, tick now) const {
  if (row.changes_ < changed_everywhere_) return false;
  const cell_grid::activity near = cells_->around(motion_.at(transmitter, now));
  const bool still = row.made_at_ == now || row.made_at_ >= std::min(near.moving_until, motion_.still_from());
  return still && row.changes_ >= near.change;
}

void link_table::renew(node_id transmitter, tick now) {
  std::shared_ptr<link_row>& row = rows_[transmitter];
  // A frame on the air keeps the links with which it started.
  if (row.use_count() > 1) row = std::make_shared<link_row>();
  row->made_at_ = now;
  row->links_.clear();
  row->groups_.clear();
  candidates_.clear();
  const node_position from = motion_.at(transmitter, now);
  cells_->near(from, near_);
  for (const node_id receiver : near_) {
    if (receiver == transmitter || is_blocked(config_, transmitter, receiver)) continue;
    const double away_m = distance_m(from, motion_.at(receiver, now));
    const double power_w = loss_->received_power_w(away_m);
    if (power_w <= 0 || power_w < floor_w_) continue;
    const double delay_us =
        config_.medium.propagation_us ? *config_.medium.propagation_us : std::max(1.0, std::round(away_m / speed_of_light_m_per_us));
    candidates_.push_back({static_cast<tick>(delay_us), {receiver, power_w}});
  }
  std::ranges::stable_sort(candidates_, {}, &candidate::delay);
  for (const candidate& next : candidates_) {
    const auto position = static_cast<std::uint32_t>(row->links_.size());
    if (row->groups_.empty() || row->groups_.back().delay != next.delay) row->groups_.push_back({next.delay, position, position});
    row->links_.push_back(next.to);
    row->groups_.back().last = position + 1;
  }
}

void link_table::move(tick now, node_id node, node_position to, double speed_mps) {
  const node_position from = speed_mps == no_time_mps ? to : motion_.at(node, now);
  motion_.go(now, node, to, speed_mps);
  cells_->go(node, from, to, motion_.still_from(node), ++changes_);
}

void link_table::set_blocked(node_id one, node_id other, bool blocked) {
  change_blocked(config_, one, other, blocked);
  for (const node_id end : {one, other}) rows_[end]->changes_ = 0;
}

void link_table::set_silent(node_id node, bool silent) {
  change_silent(config_, node, silent);
  changed_everywhere_ = ++changes_;
}

tick link_row::delay(node_id receiver) const {
  for (const link_group& group : groups_) {
    for (const link& to : members(group)) {
      if (to.node == receiver) return group.delay;
    }
  }
  return 0;
}

double link_row::power_w(node_id receiver) const {
  const auto found = std::ranges::find(links_, receiver, &link::node);
  return found == links_.end() ? 0 : found->power_w;
}

}  // namespace perhop::air
