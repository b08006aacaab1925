// SPDX-License-Identifier: GPL-2.0-or-later
/// A set of nodes that is filled, walked in ascending order, and emptied at every event.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "sim/air/types.hpp"

namespace perhop::air {

class node_set {
public:
  explicit node_set(std::size_t nodes) : words_((nodes + 63) / 64) {}

  void insert(node_id node) { words_[node / 64] |= std::uint64_t{1} << (node % 64); }
  bool contains(node_id node) const { return (words_[node / 64] >> (node % 64) & 1) != 0; }
  void insert_first(std::size_t nodes) {
    for (std::size_t node = 0; node < nodes; ++node) insert(static_cast<node_id>(node));
  }

  /// Calls visit(node) for every member and leaves the set empty. A node that visit() inserts is visited too if it is
  /// above the current one's word, so visit() must not insert.
  template <typename visitor>
  void drain(visitor&& visit) {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      std::uint64_t members = words_[word];
      words_[word] = 0;
      for (; members != 0; members &= members - 1) {
        visit(static_cast<node_id>(word * 64 + static_cast<std::size_t>(std::countr_zero(members))));
      }
    }
  }

private:
  std::vector<std::uint64_t> words_;
};

}  // namespace perhop::air
