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
  explicit node_set(std::size_t nodes) : words_((nodes + 63) / 64), filled_((words_.size() + 63) / 64) {}

  void insert(node_id node) {
    words_[node / 64] |= std::uint64_t{1} << (node % 64);
    filled_[node / 4096] |= std::uint64_t{1} << (node / 64 % 64);
  }
  bool contains(node_id node) const { return (words_[node / 64] >> (node % 64) & 1) != 0; }
  void insert_first(std::size_t nodes) {
    for (std::size_t node = 0; node < nodes; ++node) insert(static_cast<node_id>(node));
  }

  /// Calls visit(node) for every member and leaves the set empty. A node that visit() inserts may be visited now or the next time,
  /// so visit() must not insert.
  template <typename visitor>
  void drain(visitor&& visit) {
    for (std::size_t part = 0; part < filled_.size(); ++part) {
      std::uint64_t words = filled_[part];
      filled_[part] = 0;
      for (; words != 0; words &= words - 1) {
        const std::size_t word = part * 64 + static_cast<std::size_t>(std::countr_zero(words));
        std::uint64_t members = words_[word];
        words_[word] = 0;
        for (; members != 0; members &= members - 1) {
          visit(static_cast<node_id>(word * 64 + static_cast<std::size_t>(std::countr_zero(members))));
        }
      }
    }
  }

private:
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> filled_;  // one bit a word: it has members
};

}  // namespace perhop::air
