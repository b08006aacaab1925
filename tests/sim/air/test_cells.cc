// SPDX-License-Identifier: GPL-2.0-or-later
//
// Links by cells of reach are those that a look at every pair of nodes finds, whoever moves, falls silent or is cut off; and what
// happens far away makes no row anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/air/cell_grid.hpp"
#include "sim/air/link_table.hpp"
#include "sim/air/loss_model.hpp"
#include "sim/air/motion.hpp"

namespace perhop::air {
namespace {

constexpr tick second = ticks_per_second;

struct expected_link {
  node_id node;
  double power_w;
  tick delay;
  bool operator==(const expected_link&) const = default;
};

std::vector<expected_link> links_of(const link_row& row) {
  std::vector<expected_link> links;
  for (const link_group& group : row.groups()) {
    for (const link& to : row.members(group)) links.push_back({to.node, to.power_w, group.delay});
  }
  return links;
}

/// Who is cut off, and where everybody is, with nothing kept that could be out of date.
struct plain_network {
  air_config config;
  motion nodes;
  std::set<node_id> silent;
  std::set<std::pair<node_id, node_id>> blocked;

  explicit plain_network(const air_config& from) : config(from), nodes(from.nodes) {}

  std::vector<expected_link> links(node_id transmitter, tick now, double floor_w) const {
    const auto loss = make_loss_model(config.medium);
    std::vector<expected_link> links;
    for (node_id receiver = 0; receiver < config.nodes.size(); ++receiver) {
      if (receiver == transmitter || silent.contains(transmitter) || silent.contains(receiver)) continue;
      if (blocked.contains(std::minmax(transmitter, receiver))) continue;
      const double away_m = distance_m(nodes.at(transmitter, now), nodes.at(receiver, now));
      const double power_w = loss->received_power_w(away_m);
      if (power_w <= 0 || power_w < floor_w) continue;
      links.push_back({receiver, power_w, static_cast<tick>(std::max(1.0, std::round(away_m / speed_of_light_m_per_us)))});
    }
    std::ranges::stable_sort(links, {}, &expected_link::delay);
    return links;
  }
};

struct air_case {
  const char* name;
  reception_kind rule;
  loss_kind loss;
  double side_m;
};

class links_by_cells : public testing::TestWithParam<air_case> {};

TEST_P(links_by_cells, are_those_of_every_pair_looked_at) {
  std::mt19937 random(22);
  const double side_m = GetParam().side_m;
  const auto anywhere = [&] {
    // Some on whole multiples of the range, negative places among them: borders of cells.
    const auto coordinate = [&] { return random() % 4 == 0 ? 50.0 * (random() % 60) - 500 : (random() % 100'000) / 1e5 * side_m - 500; };
    return node_position{coordinate(), coordinate()};
  };
  air_config config;
  config.mac.profile = find_profile("dsss_long");
  config.medium.reception = GetParam().rule;
  config.medium.loss = GetParam().loss;
  config.medium.sinr_threshold_db = {4, 7, 11, 16};
  constexpr node_id nodes = 150;
  for (node_id node = 0; node < nodes; ++node) config.nodes.push_back(anywhere());
  link_table table(config);
  plain_network plain(config);
  const double floor_w =
      GetParam().rule == reception_kind::sinr ? std::min(table.carrier_sense_w(), table.noise_w() * 0.01) : table.carrier_sense_w();
  std::size_t links = 0, absent = 0;
  tick now = 0;
  for (int step = 0; step < 4000; ++step) {
    const auto one = static_cast<node_id>(random() % nodes), other = static_cast<node_id>(random() % nodes);
    switch (random() % 24) {
      case 0: {
        const node_position to = random() % 3 == 0 ? node_position{plain.nodes.at(one, now).x_m, anywhere().y_m} : anywhere();
        const double speed_mps = random() % 3 == 0 ? no_time_mps : 1 + random() % 100;
        table.move(now, one, to, speed_mps);
        plain.nodes.go(now, one, to, speed_mps);
        break;
      }
      case 1: {
        const bool silent = random() % 3 == 0;
        table.set_silent(one, silent);
        if (silent) plain.silent.insert(one);
        if (!silent) plain.silent.erase(one);
        break;
      }
      case 2: {
        if (one == other) break;
        const bool blocked = random() % 2 == 0;
        table.set_blocked(one, other, blocked);
        if (blocked) plain.blocked.insert(std::minmax(one, other));
        if (!blocked) plain.blocked.erase(std::minmax(one, other));
        break;
      }
      // Long enough at times for all to arrive.
      case 3:
        now += random() % 40 == 0 ? 10'000 * second : random() % (2 * second);
        break;
      default:
        break;
    }
    const auto transmitter = static_cast<node_id>(random() % nodes);
    const std::vector<expected_link> expected = plain.links(transmitter, now, floor_w);
    ASSERT_EQ(links_of(*table.row(transmitter, now)), expected) << "step " << step << ", node " << transmitter << " at " << now;
    links += expected.size();
    absent += nodes - 1 - expected.size();
  }
  EXPECT_GT(links, 1000U);
  EXPECT_GT(absent, 1000U);
}

INSTANTIATE_TEST_SUITE_P(media, links_by_cells,
                         testing::Values(air_case{"ns2", reception_kind::ns2, loss_kind::range, 4000},
                                         air_case{"two_ray", reception_kind::ns2, loss_kind::two_ray, 4000},
                                         air_case{"sinr", reception_kind::sinr, loss_kind::range, 4000},
                                         air_case{"sinr_far", reception_kind::sinr, loss_kind::log_distance, 30'000}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(cells, hold_a_node_wherever_it_is_on_its_way) {
  std::mt19937 random(5);
  constexpr double reach_m = 99;  // cells of 100 m
  motion nodes({{0, 0}});
  cell_grid cells({{0, 0}}, reach_m);
  std::vector<node_id> near;
  tick now = 0;
  for (int leg = 0; leg < 300; ++leg) {
    const node_position from = nodes.at(0, now);
    const auto coordinate = [&](double old) { return random() % 3 == 0 ? old : 10.0 * (random() % 400) - 2000; };
    const node_position to{coordinate(from.x_m), coordinate(from.y_m)};
    nodes.go(now, 0, to, 20);
    cells.go(0, from, to, nodes.still_from(0), static_cast<std::uint64_t>(leg) + 1);
    const tick arrival = nodes.still_from(0);
    for (int look = 0; look < 50; ++look) {
      const node_position there = nodes.at(0, now + (arrival - now) * static_cast<tick>(look) / 49);
      const double angle = random() % 360;
      cells.near({there.x_m + reach_m * std::cos(angle), there.y_m + reach_m * std::sin(angle)}, near);
      ASSERT_EQ(near, std::vector<node_id>{0}) << "leg " << leg << ", at " << there.x_m << ' ' << there.y_m;
      ASSERT_GE(cells.around(there).moving_until, arrival);
      ASSERT_EQ(cells.around(there).change, static_cast<std::uint64_t>(leg) + 1);
    }
    cells.near({1e6, 1e6}, near);
    ASSERT_TRUE(near.empty());
    now += (arrival - now) * (1 + random() % 2) / 2;
  }
}

TEST(cells, keep_rows_that_a_move_does_not_concern) {
  air_config config;
  config.mac.profile = find_profile("dsss_long");
  for (int node = 0; node < 100; ++node) config.nodes.push_back({200.0 * node, 0});
  link_table table(config);
  // Who holds a row sees whether there is another one.
  const auto near = table.row(3, 1), far = table.row(60, 1);
  table.move(2 * second, 2, {400, 300}, 10);
  EXPECT_NE(table.row(3, 3 * second), near);
  EXPECT_EQ(table.row(60, 3 * second), far);
  table.move(4 * second, 2, {200.0 * 61, 10}, no_time_mps);
  const auto here = table.row(60, 5 * second);
  EXPECT_NE(here, far);
  EXPECT_GT(here->power_w(2), 0);
  EXPECT_EQ(table.row(3, 5 * second)->power_w(2), 0) << "it has left";
  const auto left = table.row(3, 6 * second);
  EXPECT_EQ(table.row(3, 7 * second), left) << "where nobody goes any more";
  const auto one = table.row(60, 7 * second), other = table.row(61, 7 * second);
  EXPECT_GT(one->power_w(61), 0);
  EXPECT_GT(other->power_w(60), 0);
  table.set_blocked(60, 61, true);
  EXPECT_EQ(table.row(3, 8 * second), left);
  EXPECT_EQ(table.row(60, 8 * second)->power_w(61), 0);
  EXPECT_EQ(table.row(61, 8 * second)->power_w(60), 0);
  table.set_blocked(60, 61, false);
  EXPECT_GT(table.row(61, 9 * second)->power_w(60), 0);
}

}  // namespace
}  // namespace perhop::air
