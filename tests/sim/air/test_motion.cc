// SPDX-License-Identifier: GPL-2.0-or-later
//
// Nodes in motion: where they are, and that every frame has the links of its start.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "medium_timeline.hpp"
#include "sim/air/motion.hpp"

namespace perhop::air {
namespace {

constexpr tick second = ticks_per_second;

void expect_at(const motion& nodes, node_id node, tick now, double x_m, double y_m) {
  EXPECT_NEAR(nodes.at(node, now).x_m, x_m, 1e-9) << "at " << now;
  EXPECT_NEAR(nodes.at(node, now).y_m, y_m, 1e-9) << "at " << now;
}

TEST(motion, is_a_straight_line_at_a_constant_speed_to_the_very_place) {
  motion nodes({{10, 20}, {0, 0}});
  nodes.go(2 * second, 0, {40, 60}, 5);  // 50 m: ten seconds
  expect_at(nodes, 0, 2 * second, 10, 20);
  expect_at(nodes, 0, 5 * second, 19, 32);
  expect_at(nodes, 0, 7 * second, 25, 40);
  expect_at(nodes, 0, 12 * second, 40, 60);
  EXPECT_EQ(nodes.at(0, 100 * second).x_m, 40) << "and it stays there";
  EXPECT_EQ(nodes.at(0, 100 * second).y_m, 60);
  expect_at(nodes, 1, 7 * second, 0, 0);
}

TEST(motion, told_elsewhere_under_way_it_turns_where_it_is) {
  motion nodes({{0, 0}});
  nodes.go(0, 0, {100, 0}, 10);
  nodes.go(4 * second, 0, {40, 30}, 3);
  expect_at(nodes, 0, 4 * second, 40, 0);
  expect_at(nodes, 0, 9 * second, 40, 15);
  expect_at(nodes, 0, 14 * second, 40, 30);
  expect_at(nodes, 0, 20 * second, 40, 30);
}

TEST(motion, without_time_is_a_jump_and_ends_what_was_under_way) {
  motion nodes({{0, 0}});
  nodes.go(0, 0, {100, 0}, 10);
  nodes.go(5 * second, 0, {7, 8}, no_time_mps);
  EXPECT_EQ(nodes.at(0, 5 * second).x_m, 7);
  EXPECT_EQ(nodes.at(0, 9 * second).y_m, 8);
  EXPECT_EQ(nodes.still_from(), 5 * second);
}

TEST(motion, is_over_when_the_last_node_has_arrived) {
  motion nodes({{0, 0}, {0, 0}});
  EXPECT_EQ(nodes.still_from(), 0U);
  nodes.go(1 * second, 0, {100, 0}, 10);
  nodes.go(2 * second, 1, {3, 0}, 1);
  EXPECT_EQ(nodes.still_from(), 11 * second);
  nodes.go(3 * second, 0, {20, 0}, 1e9);
  EXPECT_EQ(nodes.still_from(), 5 * second);
}

air_config scattered(unsigned seed, reception_kind rule) {
  std::mt19937 random(seed);
  air_config config;
  config.mac.profile = find_profile("dsss_long");
  config.medium.reception = rule;
  config.medium.sinr_threshold_db = {4, 7, 11, 16};
  for (int node = 0; node < 12; ++node) config.nodes.push_back({double(random() % 1500), double(random() % 500)});
  return config;
}

class links_in_motion : public testing::TestWithParam<reception_kind> {};

TEST_P(links_in_motion, are_at_every_moment_those_of_a_network_that_stands_there) {
  std::mt19937 random(7);
  air_config config = scattered(7, GetParam());
  link_table table(config);
  motion nodes(config.nodes);
  std::size_t links = 0;
  for (tick now = 0; now < 600 * second; now += 1 + random() % (3 * second)) {
    if (random() % 4 == 0) {
      const node_id node = random() % 12;
      const node_position to{double(random() % 1500), double(random() % 500)};
      const double speed_mps = random() % 8 == 0 ? no_time_mps : 1 + random() % 40;
      table.move(now, node, to, speed_mps);
      nodes.go(now, node, to, speed_mps);
    }
    for (node_id node = 0; node < 12; ++node) config.nodes[node] = nodes.at(node, now);
    link_table standing(config);
    const auto transmitter = static_cast<node_id>(random() % 12);
    const auto row = table.row(transmitter, now), expected = standing.row(transmitter, now);
    ASSERT_EQ(row->groups().size(), expected->groups().size()) << "at " << now;
    for (node_id receiver = 0; receiver < 12; ++receiver) {
      ASSERT_EQ(row->power_w(receiver), expected->power_w(receiver)) << "at " << now << " from " << transmitter << " to " << receiver;
      ASSERT_EQ(row->delay(receiver), expected->delay(receiver));
      links += row->power_w(receiver) > 0;
    }
  }
  EXPECT_GT(links, 500U);
}

TEST_P(links_in_motion, are_made_anew_only_if_something_changed) {
  link_table table(scattered(3, GetParam()));
  // Who holds a row sees whether there is another one.
  const auto first = table.row(0, 5);
  EXPECT_EQ(table.row(0, 9), first) << "nobody moves";
  table.move(10, 1, {0, 0}, 1);
  const auto under_way = table.row(0, 20);
  EXPECT_NE(under_way, first);
  EXPECT_EQ(table.row(0, 20), under_way) << "no time has passed";
  EXPECT_NE(table.row(0, 21), under_way);
  const auto arrived = table.row(0, 4000 * second);
  EXPECT_EQ(table.row(0, 5000 * second), arrived) << "all have arrived";
}

/// Two nodes, of which the second one leaves at `speed_mps` for a place out of hearing.
medium_timeline leaving(reception_kind rule, double speed_mps) {
  air_config config = scattered(1, rule);
  config.nodes = {{0, 0}, {240, 0}};
  medium_timeline timeline(config);
  timeline.air_medium().move(0, 1, {1240, 0}, speed_mps);
  return timeline;
}

std::string last_told(medium_timeline& timeline) { return timeline.told(1).empty() ? "" : timeline.told(1).back(); }

TEST_P(links_in_motion, break_when_a_node_has_left) {
  medium_timeline timeline = leaving(GetParam(), 20);
  timeline.send(0, 0, 1000);
  timeline.run(second / 2 - 1);
  EXPECT_EQ(last_told(timeline), "1001 idle ok(0)");
  timeline.send(0, second / 2, 1000);  // at 250 m, the range
  timeline.run(second - 1);
  EXPECT_EQ(last_told(timeline), "501001 idle ok(1)");
  timeline.send(0, second, 1000);  // at 260 m
  timeline.run(15 * second);
  EXPECT_EQ(last_told(timeline), GetParam() == reception_kind::ns2 ? "1001001 idle bad(2)" : "1001001 idle");
  const std::size_t told = timeline.told(1).size();
  timeline.send(0, 16 * second, 1000);  // at 560 m
  timeline.run();
  EXPECT_EQ(timeline.told(1).size(), told);
}

TEST_P(links_in_motion, of_a_frame_are_those_of_its_start) {
  medium_timeline timeline = leaving(GetParam(), 1e5);  // 100 m within the frame
  timeline.send(0, 0, 1000);
  timeline.run(500);
  timeline.air_medium().move(500, 1, {5000, 0}, no_time_mps);  // and then out of hearing
  timeline.run();
  EXPECT_EQ(last_told(timeline), "1001 idle ok(0)");
  timeline.send(0, 2000, 1000);
  timeline.run();
  EXPECT_EQ(last_told(timeline), "1001 idle ok(0)");
}

TEST_P(links_in_motion, of_a_frame_stay_its_own_when_the_same_node_sends_the_next) {
  air_config config = scattered(1, GetParam());
  config.nodes = {{0, 0}, {240, 0}};
  config.medium.propagation_us = 1000;
  medium_timeline timeline(config);
  timeline.send(0, 0, 500);
  timeline.air_medium().move(600, 1, {5000, 0}, no_time_mps);
  timeline.send(0, 700, 500);
  timeline.run();
  EXPECT_EQ(timeline.told(1), (std::vector<std::string>{"1000 busy", "1192 header", "1500 idle ok(0)"}));
}

INSTANTIATE_TEST_SUITE_P(both_rules, links_in_motion, testing::Values(reception_kind::ns2, reception_kind::sinr),
                         [](const auto& rule) { return rule.param == reception_kind::ns2 ? "ns2" : "sinr"; });

}  // namespace
}  // namespace perhop::air
