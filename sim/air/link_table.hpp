// SPDX-License-Identifier: GPL-2.0-or-later
/// Who hears whom, how strong and how late: positions and a loss model turned into flat tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/air/air_config.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

struct link {
  node_id node;  ///< the receiver
  double power_w;
};

/// Receivers of one transmitter that a frame reaches at the same time.
struct link_group {
  tick delay;
  std::uint32_t first, last;  ///< [first, last) in the table of links
};

class link_table {
public:
  /// Keeps links of at least floor_of(thresholds) watts. Delays are max(1, round(distance / c)) or medium_config's.
  explicit link_table(const air_config& config);

  std::size_t nodes() const { return group_first_.size() - 1; }

  /// The groups of a transmitter, in ascending order of delay.
  std::span<const link_group> groups(node_id transmitter) const {
    return {groups_.data() + group_first_[transmitter], groups_.data() + group_first_[transmitter + 1]};
  }
  /// The members of a group, in ascending order of node.
  std::span<const link> members(const link_group& group) const { return {links_.data() + group.first, links_.data() + group.last}; }

  /// Propagation time of a link of the table; 0 if the receiver is not in it.
  tick delay(node_id transmitter, node_id receiver) const;
  /// Received power of a link of the table; 0 if the receiver is not in it.
  double power_w(node_id transmitter, node_id receiver) const;

  double sensitivity_w() const { return sensitivity_w_; }      ///< weakest frame that is received without interference
  double carrier_sense_w() const { return carrier_sense_w_; }  ///< weakest power that is heard as carrier
  double noise_w() const { return noise_w_; }                  ///< 0 with reception_kind::ns2, which knows no noise

private:
  std::vector<link> links_;
  std::vector<link_group> groups_;
  std::vector<std::uint32_t> group_first_;
  double sensitivity_w_;
  double carrier_sense_w_;
  double noise_w_ = 0;
};

}  // namespace perhop::air
