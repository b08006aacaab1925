// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "sim/air/node_set.hpp"
#include "sim/air/wake_tree.hpp"

namespace perhop::air {
namespace {

std::vector<node_id> due(const wake_tree& tree, tick now) {
  std::vector<node_id> nodes;
  tree.for_each_due(now, [&](node_id node) { nodes.push_back(node); });
  return nodes;
}

TEST(wake_tree, finds_the_earliest_and_all_that_are_due_as_a_linear_search_does) {
  std::mt19937 random(7);
  for (const std::size_t nodes : {1, 2, 3, 16, 17, 100}) {
    wake_tree tree(nodes);
    std::vector<tick> wakes(nodes, never);
    EXPECT_EQ(tree.earliest(), never);
    for (int change = 0; change < 300; ++change) {
      const auto node = static_cast<node_id>(random() % nodes);
      const tick wake = random() % 5 == 0 ? never : random() % 50;
      wakes[node] = wake;
      tree.set(node, wake);
      EXPECT_EQ(tree.earliest(), *std::min_element(wakes.begin(), wakes.end()));
      const tick now = random() % 50;
      std::vector<node_id> expected;
      for (node_id candidate = 0; candidate < nodes; ++candidate) {
        if (wakes[candidate] <= now) expected.push_back(candidate);
      }
      ASSERT_EQ(due(tree, now), expected) << nodes << " nodes, change " << change;
    }
  }
}

TEST(node_set, is_walked_in_ascending_order_once) {
  node_set set(130);
  for (const node_id node : {129, 0, 64, 63, 64}) set.insert(node);
  EXPECT_TRUE(set.contains(63));
  EXPECT_FALSE(set.contains(65));
  std::vector<node_id> visited;
  set.drain([&](node_id node) { visited.push_back(node); });
  EXPECT_EQ(visited, (std::vector<node_id>{0, 63, 64, 129}));
  set.drain([&](node_id) { FAIL() << "the set was emptied"; });
}

TEST(node_set, agrees_with_a_plain_set_at_any_size) {
  std::mt19937 random(11);
  for (const std::size_t nodes : {1, 63, 64, 65, 4095, 4096, 4097, 20'000}) {
    node_set set(nodes);
    for (int round = 0; round < 200; ++round) {
      std::set<node_id> expected;
      for (unsigned inserted = random() % 40; inserted > 0; --inserted) {
        const auto node = static_cast<node_id>(random() % nodes);
        set.insert(node);
        expected.insert(node);
      }
      const auto asked = static_cast<node_id>(random() % nodes);
      ASSERT_EQ(set.contains(asked), expected.contains(asked));
      std::vector<node_id> visited;
      set.drain([&](node_id node) { visited.push_back(node); });
      ASSERT_EQ(visited, std::vector<node_id>(expected.begin(), expected.end())) << nodes << " nodes, round " << round;
    }
    set.insert_first(nodes);
    std::size_t visited = 0;
    set.drain([&](node_id node) { ASSERT_EQ(node, visited++); });
    ASSERT_EQ(visited, nodes);
  }
}

}  // namespace
}  // namespace perhop::air
