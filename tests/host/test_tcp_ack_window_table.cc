// SPDX-License-Identifier: GPL-2.0-or-later

#include <gtest/gtest.h>

#include <cstdint>

#include "host/core/policy/tcp_ack_window_table.hpp"

namespace perhop::policy {
namespace {

// D-21: Table I, every hop count from 1 to 20.
TEST(dca_hop_window, is_table_1_of_the_paper) {
  for (std::uint32_t hops = 1; hops <= 3; ++hops) EXPECT_EQ(dca_hop_window_packets(hops), whole_window_packets) << hops;
  for (std::uint32_t hops = 4; hops <= 9; ++hops) EXPECT_EQ(dca_hop_window_packets(hops), 5U) << hops;
  for (std::uint32_t hops = 10; hops <= 20; ++hops) EXPECT_EQ(dca_hop_window_packets(hops), 3U) << hops;
  EXPECT_EQ(dca_hop_window_packets(255), 3U);
}

TEST(dca_hop_window, is_the_one_that_no_path_loses_by_while_the_hops_are_unknown) { EXPECT_EQ(dca_hop_window_packets(0), 3U); }

// D-26: the switch lies above 80 ms.
TEST(dca_delay_window, is_5_packets_above_80_ms) {
  EXPECT_EQ(dca_delay_window_packets(1), whole_window_packets);
  EXPECT_EQ(dca_delay_window_packets(80'000), whole_window_packets);
  EXPECT_EQ(dca_delay_window_packets(80'001), 5U);
  EXPECT_EQ(dca_delay_window_packets(UINT32_MAX), 5U);
  EXPECT_EQ(dca_delay_window_packets(0), 5U) << "unknown";
}

TEST(dca_window_limit, delay_rule_stands_alone_or_beside_the_hops) {
  const auto limit = dca_window_limit_packets;
  EXPECT_EQ(limit(dca_window_rule::hop, 2, 120'000), whole_window_packets);
  EXPECT_EQ(limit(dca_window_rule::delay, 12, 60'000), whole_window_packets);
  EXPECT_EQ(limit(dca_window_rule::delay, 12, 120'000), 5U);
  // One or two wireless hops behind 50 ms of wire: section V-B.
  EXPECT_EQ(limit(dca_window_rule::hop_and_delay, 1, 104'000), 5U);
  EXPECT_EQ(limit(dca_window_rule::hop_and_delay, 2, 112'000), 5U);
  EXPECT_EQ(limit(dca_window_rule::hop_and_delay, 2, 20'000), whole_window_packets);
  EXPECT_EQ(limit(dca_window_rule::hop_and_delay, 6, 60'000), 5U);
  EXPECT_EQ(limit(dca_window_rule::hop_and_delay, 12, 110'000), 3U) << "a long wireless path keeps its small window";
  EXPECT_EQ(limit(dca_window_rule::hop_and_delay, 2, 0), whole_window_packets) << "without a round trip the hops decide";
}

}  // namespace
}  // namespace perhop::policy
