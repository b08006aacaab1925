// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <vector>

#include "sim/air/link_table.hpp"
#include "sim/air/loss_model.hpp"

namespace perhop::air {
namespace {

air_config line(std::vector<double> positions_m) {
  air_config config;
  config.mac.profile = find_profile("dsss_long");
  for (const double x_m : positions_m) config.nodes.push_back({x_m, 0});
  return config;
}

TEST(link_table, propagation_takes_the_time_of_light_and_at_least_a_microsecond) {
  air_config config = line({0, 1, 250, 500});
  link_table links(config);
  EXPECT_EQ(links.row(0, 0)->delay(1), 1U);
  EXPECT_EQ(links.row(0, 0)->delay(2), 1U);  // 0.83 us
  EXPECT_EQ(links.row(0, 0)->delay(3), 2U);  // 1.67 us
  ASSERT_EQ(links.row(0, 0)->groups().size(), 2U);
  EXPECT_EQ(links.row(0, 0)->members(links.row(0, 0)->groups()[0]).size(), 2U);

  config.medium.propagation_us = 7;
  link_table fixed(config);
  EXPECT_EQ(fixed.row(0, 0)->delay(3), 7U);
  EXPECT_EQ(fixed.row(0, 0)->groups().size(), 1U);
}

TEST(link_table, nothing_passes_between_a_blocked_pair_in_either_direction) {
  air_config config = line({0, 200, 400});
  config.blocked = {{2, 1}};
  link_table links(config);
  EXPECT_EQ(links.row(1, 0)->power_w(2), 0);
  EXPECT_EQ(links.row(2, 0)->power_w(1), 0);
  EXPECT_GT(links.row(0, 0)->power_w(1), links.sensitivity_w());
  EXPECT_GT(links.row(0, 0)->power_w(2), links.carrier_sense_w());
}

TEST(link_table, a_node_at_exactly_the_range_is_in_range_and_one_beyond_is_not) {
  // 0.1 + 0.2 metres and the like must not decide.
  link_table links(line({0.1, 250.1, 550.1, 550.2}));
  EXPECT_GE(links.row(0, 0)->power_w(1), links.sensitivity_w());
  EXPECT_GE(links.row(0, 0)->power_w(2), links.carrier_sense_w());
  EXPECT_LT(links.row(0, 0)->power_w(2), links.sensitivity_w());
  EXPECT_EQ(links.row(0, 0)->power_w(3), 0);
}

TEST(loss_model, two_ray_gives_the_thresholds_of_ns2) {
  medium_config config;
  config.loss = loss_kind::two_ray;
  config.tx_power_dbm = 24.49999687;  // 0.28183815 W
  const auto loss = make_loss_model(config);
  EXPECT_NEAR(loss->received_power_w(250), 3.652e-10, 0.001e-10);
  EXPECT_NEAR(loss->received_power_w(550), 1.559e-11, 0.001e-11);
}

TEST(loss_model, log_distance_falls_by_ten_times_the_exponent_a_decade) {
  medium_config config;
  config.loss = loss_kind::log_distance;
  config.loss_exponent = 2.5;
  const auto loss = make_loss_model(config);
  EXPECT_NEAR(loss->received_power_w(10) / loss->received_power_w(100), 316.2, 0.1);
  EXPECT_EQ(loss->received_power_w(0), loss->received_power_w(1));
}

}  // namespace
}  // namespace perhop::air
