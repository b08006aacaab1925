// SPDX-License-Identifier: GPL-2.0-or-later
/// The earliest of all nodes' wake times: a winner tree (D. Knuth, The Art of Computer Programming 3, 5.4.1). Setting one
/// time costs log2(nodes) comparisons, reading the earliest none.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "sim/air/types.hpp"

namespace perhop::air {

class wake_tree {
public:
  explicit wake_tree(std::size_t nodes) : leaves_(std::bit_ceil(std::max<std::size_t>(nodes, 1))), earliest_(2 * leaves_, never) {}

  tick earliest() const { return earliest_[1]; }
  tick of(node_id node) const { return earliest_[leaves_ + node]; }

  void set(node_id node, tick wake) {
    std::size_t index = leaves_ + node;
    if (earliest_[index] == wake) return;
    earliest_[index] = wake;
    while (index > 1) {
      index /= 2;
      const tick winner = std::min(earliest_[2 * index], earliest_[2 * index + 1]);
      if (earliest_[index] == winner) return;
      earliest_[index] = winner;
    }
  }

  /// Calls visit(node) for every node whose wake time is at or before `now`, in ascending order.
  template <typename visitor>
  void for_each_due(tick now, visitor&& visit) const {
    if (earliest_[1] <= now) descend(1, now, visit);
  }

private:
  template <typename visitor>
  void descend(std::size_t index, tick now, visitor& visit) const {
    while (index < leaves_) {
      const bool left = earliest_[2 * index] <= now;
      const bool right = earliest_[2 * index + 1] <= now;
      if (left && right) descend(2 * index, now, visit);
      index = 2 * index + (right ? 1 : 0);
    }
    visit(static_cast<node_id>(index - leaves_));
  }

  std::size_t leaves_;
  std::vector<tick> earliest_;  // [1] is the root, [leaves_ + node] a leaf
};

}  // namespace perhop::air
