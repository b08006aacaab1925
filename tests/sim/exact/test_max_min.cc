// SPDX-License-Identifier: GPL-2.0-or-later

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/exact/max_min.hpp"

namespace perhop::exact_study {
namespace {

TEST(max_min, a_budget_is_shared_by_weight) {
  const std::vector<double> rates = max_min_rates({{.weight = 1}, {.weight = 3}}, {{.costs = {1, 1}, .budget = 4}});
  EXPECT_NEAR(rates[0], 1, 1e-12);
  EXPECT_NEAR(rates[1], 3, 1e-12);
}

TEST(max_min, what_a_limited_flow_leaves_goes_to_the_others) {
  const std::vector<double> rates = max_min_rates({{.limit = 1}, {}, {}}, {{.costs = {1, 1, 1}, .budget = 9}});
  EXPECT_NEAR(rates[0], 1, 1e-12);
  EXPECT_NEAR(rates[1], 4, 1e-12);
  EXPECT_NEAR(rates[2], 4, 1e-12);
}

// Bertsekas and Gallager's kind of example: the long flow is held by the small budget, the short one takes the rest.
TEST(max_min, a_flow_that_one_budget_holds_leaves_its_share_of_the_other) {
  const std::vector<double> rates = max_min_rates({{}, {}, {}}, {{.costs = {1, 1, 0}, .budget = 1}, {.costs = {1, 0, 1}, .budget = 10}});
  EXPECT_NEAR(rates[0], 0.5, 1e-12);
  EXPECT_NEAR(rates[1], 0.5, 1e-12);
  EXPECT_NEAR(rates[2], 9.5, 1e-12);
}

TEST(max_min, a_floor_is_kept_where_the_fair_share_is_less) {
  const std::vector<double> rates = max_min_rates({{.floor = 3}, {}}, {{.costs = {1, 1}, .budget = 4}});
  EXPECT_NEAR(rates[0], 3, 1e-12);
  EXPECT_NEAR(rates[1], 1, 1e-12);
}

TEST(exclusive_sets, a_chain_reuses_the_air_every_four_links) {
  const topology chain = topology::chain(10);
  std::vector<link> links;
  for (std::uint32_t i = 0; i < 10; ++i) links.push_back({i, i + 1});
  const auto sets = exclusive_sets(chain, links);
  EXPECT_EQ(sets.size(), 7U);
  for (const auto& set : sets) EXPECT_EQ(set.size(), 4U);
}

TEST(topology, paths_are_shortest_and_made_of_neighbours) {
  const topology mesh = topology::mesh(30, 1000, 3);
  for (std::uint32_t to = 1; to < mesh.size(); ++to) {
    const std::vector<std::uint32_t> path = mesh.path(0, to);
    ASSERT_GE(path.size(), 2U);
    EXPECT_EQ(path.front(), 0U);
    EXPECT_EQ(path.back(), to);
    for (std::size_t i = 0; i + 1 < path.size(); ++i) EXPECT_TRUE(mesh.neighbours(path[i], path[i + 1]));
    EXPECT_EQ(mesh.path(to, 0).size(), path.size());
  }
}

}  // namespace
}  // namespace perhop::exact_study
