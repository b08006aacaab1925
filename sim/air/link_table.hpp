// SPDX-License-Identifier: GPL-2.0-or-later
/// Who hears whom, how strong and how late: positions and a loss model turned into flat tables.
///
/// Each transmitter has a row of its own, which follows motion and changes when a frame needs it: links are those of the positions
/// at the frame's start. A row is made anew only if something within its reach changed since it was made, so a network that stands
/// makes each once, and a node that moves costs those near its way. Who is near is looked up in cells, not among all nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/air/air_config.hpp"
#include "sim/air/cell_grid.hpp"
#include "sim/air/loss_model.hpp"
#include "sim/air/motion.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

struct link {
  node_id node;  ///< the receiver
  double power_w;
};

/// Receivers of one transmitter that a frame reaches at the same time.
struct link_group {
  tick delay;
  std::uint32_t first, last;  ///< [first, last) in the row's links
};

/// The links of one transmitter, at one time.
class link_row {
public:
  /// In ascending order of delay.
  std::span<const link_group> groups() const { return groups_; }
  /// In ascending order of node.
  std::span<const link> members(const link_group& group) const { return {links_.data() + group.first, links_.data() + group.last}; }

  /// Propagation time to a receiver of the row; 0 if it is not in it.
  tick delay(node_id receiver) const;
  /// Power received by a receiver of the row; 0 if it is not in it.
  double power_w(node_id receiver) const;

private:
  friend class link_table;

  std::vector<link> links_;
  std::vector<link_group> groups_;
  std::uint64_t changes_ = 0;  // of the table when it was made, or last found to hold
  tick made_at_ = 0;
};

class link_table {
public:
  /// Keeps links of at least floor_of(thresholds) watts. Delays are max(1, round(distance / c)) or medium_config's.
  explicit link_table(const air_config& config);

  std::size_t nodes() const { return rows_.size(); }

  /// The links of a frame that starts now. Who needs them later keeps the pointer. @param now never before an earlier one
  const std::shared_ptr<link_row>& row(node_id transmitter, tick now) {
    const std::shared_ptr<link_row>& row = rows_[transmitter];
    const bool moved = row->made_at_ < motion_.still_from() && row->made_at_ != now;
    if (moved || row->changes_ != changes_) {
      if (!holds(*row, transmitter, now)) renew(transmitter, now);
      row->changes_ = changes_;
    }
    return row;
  }

  /// From `now` on the node goes to a place, and then stays: for rows from then on. @param speed_mps above 0; no_time_mps: at once
  void move(tick now, node_id node, node_position to, double speed_mps);
  /// @param at not before the last move() of this node
  node_position position(node_id node, tick at) const { return motion_.at(node, at); }
  /// Nothing passes between two nodes any more, or does again.
  void set_blocked(node_id one, node_id other, bool blocked);
  /// Nothing passes between the node and any other one, or does again.
  void set_silent(node_id node, bool silent);

  double sensitivity_w() const { return sensitivity_w_; }      ///< weakest frame that is received without interference
  double carrier_sense_w() const { return carrier_sense_w_; }  ///< weakest power that is heard as carrier
  double noise_w() const { return noise_w_; }                  ///< 0 with reception_kind::ns2, which knows no noise

private:
  struct candidate {
    tick delay;
    link to;
  };

  bool holds(const link_row& row, node_id transmitter, tick now) const;
  void renew(node_id transmitter, tick now);

  air_config config_;  // who is cut off from whom; not where nodes are
  motion motion_;
  std::optional<cell_grid> cells_;  // set by the constructor, once it knows how far links reach
  std::unique_ptr<loss_model> loss_;
  std::vector<std::shared_ptr<link_row>> rows_;
  std::vector<candidate> candidates_;
  std::vector<node_id> near_;
  std::uint64_t changes_ = 1;             // a row of 0 is to be made
  std::uint64_t changed_everywhere_ = 1;  // the last of them that may concern any row
  double sensitivity_w_;
  double carrier_sense_w_;
  double noise_w_ = 0;
  double floor_w_;
};

}  // namespace perhop::air
