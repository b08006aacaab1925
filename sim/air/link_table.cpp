// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/link_table.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/air/blocked_links.hpp"
#include "sim/air/loss_model.hpp"

namespace perhop::air {

namespace {

// Distances are square roots of decimal fractions: a node at exactly the range is in range.
constexpr double threshold_tolerance = 1 - 1e-9;

// Interference this far below the noise changes no SINR that matters (0.04 dB).
constexpr double interference_floor = 0.01;

}  // namespace

link_table::link_table(const air_config& config) {
  const medium_config& medium = config.medium;
  const auto loss = make_loss_model(medium);
  sensitivity_w_ = loss->received_power_w(medium.tx_range_m) * threshold_tolerance;
  carrier_sense_w_ = loss->received_power_w(medium.cs_range_m) * threshold_tolerance;
  double floor_w = carrier_sense_w_;
  if (medium.reception == reception_kind::sinr) {
    const double hardest_db = *std::max_element(medium.sinr_threshold_db.begin(), medium.sinr_threshold_db.end());
    noise_w_ = medium.noise_dbm ? watts_from_dbm(*medium.noise_dbm) : sensitivity_w_ / ratio_from_db(hardest_db);
    floor_w = std::min(floor_w, noise_w_ * interference_floor);
  }

  struct candidate {
    tick delay;
    link to;
  };
  std::vector<candidate> candidates;
  const auto nodes = static_cast<node_id>(config.nodes.size());
  for (node_id transmitter = 0; transmitter < nodes; ++transmitter) {
    group_first_.push_back(static_cast<std::uint32_t>(groups_.size()));
    candidates.clear();
    for (node_id receiver = 0; receiver < nodes; ++receiver) {
      if (receiver == transmitter || is_blocked(config, transmitter, receiver)) continue;
      const double away_m = distance_m(config.nodes[transmitter], config.nodes[receiver]);
      const double power_w = loss->received_power_w(away_m);
      if (power_w <= 0 || power_w < floor_w) continue;
      const double delay_us = medium.propagation_us ? *medium.propagation_us : std::max(1.0, std::round(away_m / speed_of_light_m_per_us));
      candidates.push_back({static_cast<tick>(delay_us), {receiver, power_w}});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const candidate& left, const candidate& right) { return left.delay < right.delay; });
    for (const candidate& next : candidates) {
      const auto position = static_cast<std::uint32_t>(links_.size());
      if (groups_.size() == group_first_.back() || groups_.back().delay != next.delay) {
        groups_.push_back({next.delay, position, position});
      }
      links_.push_back(next.to);
      groups_.back().last = position + 1;
    }
  }
  group_first_.push_back(static_cast<std::uint32_t>(groups_.size()));
}

tick link_table::delay(node_id transmitter, node_id receiver) const {
  for (const link_group& group : groups(transmitter)) {
    for (const link& to : members(group)) {
      if (to.node == receiver) return group.delay;
    }
  }
  return 0;
}

double link_table::power_w(node_id transmitter, node_id receiver) const {
  for (const link_group& group : groups(transmitter)) {
    for (const link& to : members(group)) {
      if (to.node == receiver) return to.power_w;
    }
  }
  return 0;
}

}  // namespace perhop::air
