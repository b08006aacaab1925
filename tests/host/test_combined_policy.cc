// SPDX-License-Identifier: GPL-2.0-or-later
//
// The project's combined policy: window limit `pipeline`, delay window by airtime, path pacing, and how they fit together.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>

#include "host/core/policy/airtime_window.hpp"
#include "host/core/policy/congestion_window_limit.hpp"
#include "host/core/policy/delayed_tcp_ack.hpp"
#include "host/core/policy/pacing.hpp"
#include "host/core/shim/shim.hpp"
#include "host/core/wire/generated/protocol.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::policy {
namespace {

constexpr std::uint32_t data_us = 7760;
constexpr std::uint32_t tcp_ack_us = 1920;

path_measurement chain_of(std::uint32_t hops, std::uint32_t tcp_ack_hop_us = tcp_ack_us) {
  return {.forward_hops = hops,
          .return_hops = hops,
          .forward_total_us = hops * data_us,
          .forward_max_us = data_us,
          .return_total_us = hops * tcp_ack_hop_us};
}

std::uint32_t limit_over(const path_measurement& path) {
  congestion_window_limit limit({.kind = cwl_kind::pipeline});
  limit.on_path(path);
  return limit.limit_packets().value();
}

TEST(pipeline_limit, is_the_delay_window_where_one_packet_is_on_the_way) {
  for (std::uint32_t hops = 1; hops <= 3; ++hops) EXPECT_EQ(limit_over(chain_of(hops)), 16U) << hops;
  for (std::uint32_t hops = 4; hops <= 7; ++hops) EXPECT_EQ(limit_over(chain_of(hops)), 6U) << hops;
}

TEST(pipeline_limit, leaves_room_for_a_packet_every_four_hops_and_for_the_tcp_ack) {
  EXPECT_EQ(limit_over(chain_of(8)), 6U + 2 + 1);
  EXPECT_EQ(limit_over(chain_of(12)), 6U + 3 + 1);
  EXPECT_EQ(limit_over(chain_of(15)), 6U + 4 + 1) << "3.75";
  EXPECT_EQ(limit_over(chain_of(16)), 6U + 4 + 1);
}

TEST(pipeline_limit, does_not_grow_when_tcp_acks_wait_for_data) {
  EXPECT_EQ(limit_over(chain_of(12, 7 * tcp_ack_us)), limit_over(chain_of(12)));
}

TEST(pipeline_limit, falls_where_one_hop_is_slow) {
  path_measurement path = chain_of(12);
  path.forward_total_us += 3 * data_us;
  path.forward_max_us += 3 * data_us;
  EXPECT_EQ(limit_over(path), 6U + 2 + 1) << "15 / 7 = 2.1 packets";
}

TEST(pipeline_limit, counts_the_hops_where_no_delay_is_known) {
  EXPECT_EQ(limit_over({.forward_hops = 12, .return_hops = 12}), 6U + 3 + 1);
  congestion_window_limit limit({.kind = cwl_kind::pipeline});
  limit.on_path({});
  EXPECT_FALSE(limit.limit_packets().has_value()) << "nothing is known";
}

TEST(pipeline_limit, adds_what_a_wired_part_holds) {
  path_measurement path = chain_of(2);
  path.wired_round_trip_us = 100'000;
  // (2 * 7.76 + 100 ms) / 15.52 ms = 7.4 and one for the TCP ACK.
  EXPECT_EQ(limit_over(path), 16U + 7 + 1);
}

TEST(pipeline_limit, stays_within_one_and_the_ceiling_whatever_is_measured) {
  std::mt19937_64 random(test_seed());
  constexpr std::uint32_t edges[] = {0, 1, 3, 4, 7, 8, 255, 65'535, std::numeric_limits<std::uint32_t>::max()};
  const auto value = [&] { return random() % 2 == 0 ? edges[random() % std::size(edges)] : static_cast<std::uint32_t>(random()); };
  for (int i = 0; i < 200'000; ++i) {
    const std::uint32_t ceiling = value();
    congestion_window_limit limit({.kind = cwl_kind::pipeline, .ceiling_packets = ceiling});
    limit.on_path({value(), value(), value(), value(), value(), value()});
    if (!limit.limit_packets()) continue;
    ASSERT_GE(*limit.limit_packets(), 1U);
    ASSERT_LE(*limit.limit_packets(), std::max(ceiling, 1U));
  }
}

TEST(airtime_delay_window, is_16_where_all_hops_share_one_medium_and_6_beyond) {
  for (std::uint32_t hops = 1; hops <= 3; ++hops) EXPECT_EQ(dca_window_limit_packets(dca_window_rule::airtime, hops, 0), 16U);
  for (const std::uint32_t hops : {0U, 4U, 10U, 15U, 255U}) EXPECT_EQ(dca_window_limit_packets(dca_window_rule::airtime, hops, 90'000), 6U);
}

TEST(path_pacing_of_the_combined_policy, leaves_short_paths_to_the_mac) {
  pacer paced({.kind = pacing_kind::path});
  for (std::uint32_t hops = 1; hops <= 3; ++hops) {
    paced.on_path(chain_of(hops), 6);
    EXPECT_EQ(paced.interval_us(), 0U) << hops;
  }
  paced.on_path(chain_of(4), 6);
  EXPECT_EQ(paced.interval_us(), 4U * data_us + 4 * tcp_ack_us / 6);
}

TEST(path_pacing_of_the_combined_policy, gives_no_time_to_tcp_acks_that_meet_no_data) {
  pacer paced({.kind = pacing_kind::path});
  paced.on_path(chain_of(6), pacing_path::tcp_acks_over_an_empty_path);
  EXPECT_EQ(paced.interval_us(), 4U * data_us * 97 / 100);
}

TEST(path_pacing_of_the_combined_policy, does_not_count_what_tcp_acks_waited_for_data) {
  pacer paced({.kind = pacing_kind::path});
  paced.on_path(chain_of(12, 7 * tcp_ack_us), 6);
  EXPECT_EQ(paced.interval_us(), 4U * data_us + 4 * data_us / 3 / 6);
}

}  // namespace
}  // namespace perhop::policy

namespace perhop::shim {
namespace {

const flow_key data_flow{.source = ip_address::from_ipv4(0x0a000001),
                         .destination = ip_address::from_ipv4(0x0a000009),
                         .source_port = 49'153,
                         .destination_port = 80};

/// The interval at which a sender under the combined policy releases packets over a chain of so many hops.
time_us interval_over(std::uint32_t hops) {
  const flow_policy combined{.cwl = {.kind = policy::cwl_kind::pipeline},
                             .tcp_ack = {.kind = policy::tcp_ack_kind::dca, .rule = policy::dca_window_rule::airtime},
                             .pacing = {.kind = policy::pacing_kind::path}};
  shim sender(shim_config{.profile = find_profile("dsss_long"), .policy = combined});
  ip_packet_view data{.flow = data_flow};
  data.tcp.payload_bytes = 1460;
  sender.on_originate(0, data, {.peer = 0, .rate_index = 1, .mpdu_bytes = 1554}, 1);
  ip_packet_view tcp_ack{.flow = data_flow.reversed()};
  tcp_ack.tcp.has_tcp_ack = true;
  wire::path_header header{
      .hops = static_cast<std::uint8_t>(hops), .total_delay_us = hops * policy::tcp_ack_us, .max_delay_us = policy::tcp_ack_us};
  header.echo =
      wire::path_echo{.total_delay_us = hops * policy::data_us, .max_delay_us = policy::data_us, .hops = static_cast<std::uint8_t>(hops)};
  sender.on_receive(100'000, header, tcp_ack);
  const time_us first = sender.release_time(200'000, data);
  return sender.release_time(200'000, data) - first;
}

TEST(combined_policy, paces_at_the_data_alone_until_two_packets_fit_on_the_way) {
  EXPECT_EQ(interval_over(3), 0U);
  for (std::uint32_t hops = 4; hops <= 7; ++hops) EXPECT_EQ(interval_over(hops), 4U * policy::data_us * 97 / 100) << hops;
  EXPECT_EQ(interval_over(8), 4U * policy::data_us + 4 * policy::tcp_ack_us / 6);
  EXPECT_EQ(interval_over(15), 4U * policy::data_us + 4 * policy::tcp_ack_us / 6);
}

}  // namespace
}  // namespace perhop::shim
