// SPDX-License-Identifier: GPL-2.0-or-later
//
// The project's combined policy: window limit `pipeline`, delay window by airtime, path pacing, and how they fit together.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "host/core/policy/airtime_window.hpp"
#include "host/core/policy/congestion_window_limit.hpp"
#include "host/core/policy/congestion_window_limit_pipeline.hpp"
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

pipeline_window window_over(std::uint32_t hops, const path_tuning& tuning = {}) {
  path_measurement path = chain_of(hops);
  path.tuning = tuning;
  return pipeline_window_of(path);
}

TEST(pipeline_limit, is_the_delay_window_where_one_packet_is_on_the_way) {
  for (std::uint32_t hops = 1; hops <= 3; ++hops) EXPECT_EQ(limit_over(chain_of(hops)), 16U) << hops;
  EXPECT_EQ(limit_over(chain_of(4)), 4U) << "almost a burst: one less";
  for (std::uint32_t hops = 5; hops <= 6; ++hops) EXPECT_EQ(limit_over(chain_of(hops)), 5U) << hops;
}

TEST(pipeline_limit, leaves_room_for_a_packet_every_four_hops_and_for_the_tcp_ack) {
  EXPECT_EQ(limit_over(chain_of(7)), 5U + 1 + 2) << "1.75";
  EXPECT_EQ(limit_over(chain_of(8)), 5U + 2 + 2);
  EXPECT_EQ(limit_over(chain_of(11)), 5U + 2 + 2) << "2.75";
  EXPECT_EQ(limit_over(chain_of(12)), 6U + 3 + 2);
  EXPECT_EQ(limit_over(chain_of(15)), 6U + 3 + 2) << "3.75";
  EXPECT_EQ(limit_over(chain_of(16)), 7U + 4 + 2);
  path_measurement wavering = chain_of(12);
  wavering.forward_max_us += 200;
  wavering.forward_total_us += 200;
  EXPECT_EQ(limit_over(wavering), 6U + 3 + 2) << "2.98";
}

TEST(pipeline_limit, has_one_tcp_ack_on_the_way_at_a_time) {
  for (std::uint32_t hops = 7; hops <= 23; ++hops) {
    const pipeline_window window = window_over(hops);
    EXPECT_GT(window.tcp_ack_packets, window.on_the_way_packets) << hops;
  }
  EXPECT_EQ(window_over(60).tcp_ack_packets, largest_paced_window_packets) << "a receiver waits for no more";
}

TEST(pipeline_limit, follows_the_pace_that_is_tried) {
  EXPECT_EQ(window_over(15, {.pace_permille = 900}).on_the_way_packets, 4U + 2) << "4.17";
  EXPECT_EQ(window_over(15, {.pace_permille = 729}).on_the_way_packets, 5U + 2) << "5.14";
}

TEST(pipeline_limit, leaves_the_way_to_others_on_a_shared_path) {
  for (const auto& [hops, packets] : {std::pair{4U, 4U}, {5U, 5U}, {6U, 5U}, {7U, 4U}, {8U, 4U}, {15U, 4U}}) {
    const pipeline_window window = window_over(hops, {.tcp_ack_packets = 5, .shared = true});
    EXPECT_EQ(window.tcp_ack_packets, packets) << hops;
    EXPECT_EQ(window.on_the_way_packets, 0U) << hops;
  }
}

TEST(pipeline_limit, keeps_a_queue_where_others_would_take_one_medium_in_each_pause) {
  for (const std::uint32_t hops : {1U, 2U, 3U}) {
    for (const auto& [by_airtime, packets] : {std::pair<std::uint8_t, std::uint32_t>{0, 16U}, {5, 16U}, {7, 22U}, {8, 25U}}) {
      const pipeline_window alone = window_over(hops, {.tcp_ack_packets = by_airtime});
      const pipeline_window shared = window_over(hops, {.tcp_ack_packets = by_airtime, .shared = true});
      EXPECT_EQ(alone.tcp_ack_packets, packets) << hops;
      EXPECT_EQ(alone.on_the_way_packets, 0U) << hops;
      EXPECT_EQ(shared.tcp_ack_packets, packets) << hops;
      EXPECT_EQ(shared.on_the_way_packets, packets) << hops;
    }
  }
}

TEST(pipeline_limit, does_not_grow_when_tcp_acks_wait_for_data) {
  EXPECT_EQ(limit_over(chain_of(12, 7 * tcp_ack_us)), limit_over(chain_of(12)));
}

TEST(pipeline_limit, falls_where_one_hop_is_slow) {
  path_measurement path = chain_of(12);
  path.forward_total_us += 3 * data_us;
  path.forward_max_us += 3 * data_us;
  EXPECT_EQ(limit_over(path), 5U + 2 + 2) << "15 / 7 = 2.1 packets";
}

TEST(pipeline_limit, counts_the_hops_where_no_delay_is_known) {
  EXPECT_EQ(limit_over({.forward_hops = 12, .return_hops = 12}), 6U + 3 + 2);
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

TEST(airtime_delay_window, is_the_senders_choice_up_to_what_any_sender_chooses) {
  for (std::uint32_t hops = 1; hops <= 3; ++hops) EXPECT_EQ(dca_window_limit_packets(dca_window_rule::airtime, hops, 0), 25U);
  for (const std::uint32_t hops : {0U, 4U, 10U, 15U, 255U}) EXPECT_EQ(dca_window_limit_packets(dca_window_rule::airtime, hops, 90'000), 8U);
}

// 10 sqrt(A/D), by hand: 4.97, 7.00, 7.74 (a backoff of 310 us in each; 802.11b with RTS).
TEST(airtime_delay_window, goes_with_the_root_of_what_a_tcp_ack_costs) {
  EXPECT_EQ(paced_window_packets(1918, 7758), 5U) << "1460 bytes at 2 Mb/s";
  EXPECT_EQ(paced_window_packets(1918, 3918), 7U) << "500 bytes at 2 Mb/s";
  EXPECT_EQ(paced_window_packets(1600, 2672), 8U) << "1460 bytes at 11 Mb/s";
  EXPECT_EQ(paced_window_packets(0, 7758), 5U) << "not known";
  EXPECT_EQ(paced_window_packets(1, 100'000), 2U);
  EXPECT_EQ(paced_window_packets(UINT32_MAX, 1), 8U);
  for (std::uint32_t tcp_ack_us = 100; tcp_ack_us < 20'000; tcp_ack_us += 37) {
    const double root = 10 * std::sqrt(tcp_ack_us / 9999.);
    EXPECT_EQ(paced_window_packets(tcp_ack_us, 9999), static_cast<std::uint32_t>(std::clamp(std::floor(root + 0.5), 2., 8.))) << tcp_ack_us;
  }
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

/// A sender under the combined policy and the path that it sends over.
struct sender {
  static flow_policy combined() {
    return {.cwl = {.kind = policy::cwl_kind::pipeline},
            .tcp_ack = {.kind = policy::tcp_ack_kind::dca, .rule = policy::dca_window_rule::airtime},
            .pacing = {.kind = policy::pacing_kind::path}};
  }

  explicit sender(std::uint32_t path_hops) : hops(path_hops) { data.tcp.payload_bytes = 1460; }

  /// @return packets in flight, as the header tells the receiver
  std::uint32_t send(std::uint32_t in_flight = 1) {
    data.tcp.sequence = next;
    next += 1460;
    return node.on_originate(now, data, {.peer = 0, .rate_index = 1, .mpdu_bytes = 1554}, in_flight).packets_in_flight;
  }
  void acknowledge(time_us after_us) {
    now += after_us;
    ip_packet_view tcp_ack{.flow = data_flow.reversed()};
    tcp_ack.tcp.has_tcp_ack = true;
    tcp_ack.tcp.tcp_ack = next;
    wire::path_header header{
        .hops = static_cast<std::uint8_t>(hops), .total_delay_us = hops * policy::tcp_ack_us, .max_delay_us = policy::tcp_ack_us};
    header.echo =
        wire::path_echo{.total_delay_us = hops * policy::data_us, .max_delay_us = policy::data_us, .hops = static_cast<std::uint8_t>(hops)};
    node.on_receive(now, header, tcp_ack);
  }
  time_us interval_us() {
    const time_us first = node.release_time(now + 1'000'000, data);
    return node.release_time(now + 1'000'000, data) - first;
  }

  shim node{shim_config{.profile = find_profile("dsss_long"), .policy = combined()}};
  std::uint32_t hops;
  std::uint32_t next = 0;
  time_us now = 0;
  ip_packet_view data{.flow = data_flow};
};

time_us interval_over(std::uint32_t hops) {
  sender flow(hops);
  flow.send();
  flow.acknowledge(100'000);
  return flow.interval_us();
}

TEST(combined_policy, paces_at_the_data_alone_until_two_packets_fit_on_the_way) {
  EXPECT_EQ(interval_over(3), 0U);
  for (std::uint32_t hops = 5; hops <= 6; ++hops) EXPECT_EQ(interval_over(hops), 4U * policy::data_us * 97 / 100) << hops;
  EXPECT_EQ(interval_over(8), 4U * policy::data_us + 4 * policy::tcp_ack_us / 5);
  EXPECT_EQ(interval_over(15), 4U * policy::data_us + 4 * policy::tcp_ack_us / 6);
}

TEST(combined_policy, tells_the_receiver_how_many_packets_to_wait_for) {
  sender flow(8);
  EXPECT_EQ(flow.send(200), 200U) << "nothing known of the path";
  flow.acknowledge(100'000);
  for (std::uint32_t in_flight = 1; in_flight <= 9; ++in_flight) EXPECT_EQ(flow.send(in_flight), std::min(in_flight, 5U));
  sender longer(15);
  longer.send();
  longer.acknowledge(100'000);
  EXPECT_EQ(longer.send(11), 6U);
}

// 6 hops, a path that takes packets as fast as they come: after 16 TCP ACKs and three trials the pace is 0.9^3 of the period.
TEST(combined_policy, finds_a_faster_pace_and_forgets_it_with_the_policy) {
  sender flow(6);
  flow.send();
  flow.acknowledge(100'000);
  const time_us untried_us = flow.interval_us();
  for (int tcp_ack = 0; tcp_ack < 2 + 16 + 3 * 19; ++tcp_ack) {
    for (std::uint32_t i = 1; i <= 5; ++i) flow.send(i);
    flow.acknowledge(5 * flow.node.pacing_interval_us(data_flow) * 6 / 5);
  }
  EXPECT_NEAR(static_cast<double>(flow.interval_us()), 0.729 * static_cast<double>(untried_us), 30);
  flow.node.set_policy({.cwl = {.kind = policy::cwl_kind::pipeline}, .pacing = {.kind = policy::pacing_kind::window}});
  EXPECT_EQ(flow.node.last_path(data_flow)->tuning, policy::path_tuning{});
  flow.node.set_policy(sender::combined());
  EXPECT_EQ(flow.interval_us(), untried_us);
}

}  // namespace
}  // namespace perhop::shim
