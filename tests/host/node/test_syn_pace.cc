// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/syn_pace.hpp"

#include <gtest/gtest.h>

namespace perhop::node {
namespace {

constexpr policy::time_us second_us = 1'000'000;

shim::ip_packet_view syn(std::uint16_t source_port = 1, std::uint32_t sequence = 7, bool is_answer = false) {
  return {.flow = {.source = shim::ip_address::from_ipv4(0x0a000001),
                   .destination = shim::ip_address::from_ipv4(0x0a000003),
                   .source_port = source_port,
                   .destination_port = 5001},
          .tcp = {.syn = true, .has_tcp_ack = is_answer, .sequence = sequence}};
}

TEST(syn_pace, copies_wait_as_long_as_tcp_waits_before_it_repeats_data) {
  syn_pace pace(true);
  EXPECT_FALSE(pace.is_early(0, syn()));
  EXPECT_TRUE(pace.is_early(second_us / 600, syn()));
  EXPECT_TRUE(pace.is_early(syn_pace::least_us - 1, syn()));
  EXPECT_FALSE(pace.is_early(syn_pace::least_us, syn())) << "what was held does not make it wait longer";
  EXPECT_TRUE(pace.is_early(2 * syn_pace::least_us - 1, syn()));
}

TEST(syn_pace, an_answers_copy_waits_too) {
  syn_pace pace(true);
  EXPECT_FALSE(pace.is_early(0, syn(1, 7, true)));
  EXPECT_TRUE(pace.is_early(1, syn(1, 7, true)));
}

TEST(syn_pace, another_flow_and_another_attempt_do_not_wait) {
  syn_pace pace(true);
  EXPECT_FALSE(pace.is_early(0, syn(1)));
  EXPECT_FALSE(pace.is_early(1, syn(2)));
  EXPECT_FALSE(pace.is_early(2, syn(1, 8))) << "ports are in use again, by another connection";
}

TEST(syn_pace, no_other_packet_is_looked_at) {
  syn_pace pace(true);
  shim::ip_packet_view data = syn();
  data.tcp = {.has_tcp_ack = true, .sequence = 7, .payload_bytes = 100};
  EXPECT_FALSE(pace.is_early(0, data));
  EXPECT_FALSE(pace.is_early(1, data));
}

TEST(syn_pace, where_the_clocks_are_one_nothing_is_held) {
  syn_pace pace(false);
  EXPECT_FALSE(pace.is_early(0, syn()));
  EXPECT_FALSE(pace.is_early(1, syn()));
}

TEST(syn_pace, a_flood_of_connections_forgets_the_oldest) {
  syn_pace pace(true);
  for (std::uint16_t port = 0; port <= syn_pace::most_syns; ++port) EXPECT_FALSE(pace.is_early(0, syn(port)));
  EXPECT_TRUE(pace.is_early(1, syn(syn_pace::most_syns)));
  EXPECT_FALSE(pace.is_early(1, syn(0)));
}

}  // namespace
}  // namespace perhop::node
