// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/exact_flows.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace perhop::node {
namespace {

constexpr std::size_t packet_bytes = 1500;
const shim::flow_key flow{.source = shim::ip_address::from_ipv4(0x0a000001),
                          .destination = shim::ip_address::from_ipv4(0x0a000004),
                          .source_port = 40000,
                          .destination_port = 5004,
                          .protocol = shim::ip_protocol_udp};

shim::ip_packet packet_of(const shim::flow_key& key) {
  return {.view = {.flow = key, .ip_bytes = packet_bytes, .ttl = 64}, .transport_at = 20};
}

class exact_flows_test : public testing::Test {
protected:
  void give(int packets) {
    const std::vector<std::uint8_t> bytes(packet_bytes, 0x45);
    for (int i = 0; i < packets; ++i) flows.on_packet(now, flow, bytes);
  }

  int take() {
    int taken = 0;
    while (flows.take_packet(now)) ++taken;
    return taken;
  }

  void report(std::uint32_t sequence, std::uint64_t rate_bps) {
    flows.on_report(now, flow, {.hops = 3, .explicit_rate_bps = rate_bps, .highest_sequence = sequence, .received_packets = sequence + 1},
                    std::nullopt);
  }

  void leave(std::uint32_t sequence, std::uint64_t receiver) {
    flows.on_left(now, hop::outgoing<int>{.view = {.flow = flow}, .rider = wire::exact_header{.sequence = sequence}}, receiver,
                  {.explicit_rate_bps = 1'000'000});
  }

  time_us now = 1'000'000;
  exact_flows flows{{.queue_packets = 8}};
};

TEST_F(exact_flows_test, only_flows_that_somebody_asked_for_are_paced_unless_all_are) {
  EXPECT_FALSE(flows.paces(packet_of(flow)));
  flows.follow(now, flow, std::nullopt);
  EXPECT_TRUE(flows.paces(packet_of(flow)));
  EXPECT_FALSE(flows.paces(packet_of(flow.reversed())));
  flows.unfollow(flow);
  EXPECT_FALSE(flows.paces(packet_of(flow)));

  const exact_flows all({.all_udp = true});
  EXPECT_TRUE(all.paces(packet_of(flow)));
  shim::ip_packet group = packet_of(flow);
  group.group = true;
  EXPECT_FALSE(all.paces(group));
  shim::ip_packet routing = packet_of(flow);
  routing.ipv6 = true;
  routing.view.flow.destination = {0xfe80'0000'0000'0000, 0x1};
  EXPECT_FALSE(all.paces(routing)) << "a routing daemon's";
  shim::ip_packet tcp = packet_of(flow);
  tcp.view.flow.protocol = shim::ip_protocol_tcp;
  EXPECT_FALSE(all.paces(tcp));
}

TEST_F(exact_flows_test, two_packets_ask_and_the_rest_goes_at_the_rate_that_was_reported) {
  flows.follow(now, flow, std::nullopt);
  give(8);
  EXPECT_EQ(take(), 2);
  now += 10'000;
  EXPECT_EQ(take(), 0) << "no report yet";
  report(1, 1'200'000);  // a packet in 10 ms
  EXPECT_EQ(flows.state(flow)->rate_bps, 1'200'000U);
  EXPECT_EQ(flows.state(flow)->hops, 3);
  int taken = 0;
  for (const time_us end = now + 40'000; now < end; now += 1'000) {
    const int more = take();
    taken += more;
    if (more != 0) report(1 + static_cast<std::uint32_t>(taken), 1'200'000);
  }
  EXPECT_EQ(taken, 3) << "10, 20 and 30 ms after the report";
}

TEST_F(exact_flows_test, without_reports_no_more_than_the_safety_window_is_under_way) {
  flows.follow(now, flow, std::nullopt);
  give(8);
  take();
  now += 10'000;
  report(1, 1'200'000);
  int taken = 0;
  for (int i = 0; i < 300; ++i, now += 1'000) {
    taken += take();
    give(1);
  }
  // 1.2 Mb/s for a round trip of 10 ms and a report every four packets (40 ms).
  EXPECT_EQ(taken, 5);
  for (int i = 0; i < 20; ++i, now += 100'000) flows.on_deadline(now);
  EXPECT_EQ(flows.state(flow)->rate_bps, 8U * packet_bytes) << "a packet a second";
  EXPECT_GT(flows.state(flow)->halvings, 3U);
}

TEST_F(exact_flows_test, a_full_queue_refuses_and_says_so_until_half_of_it_has_gone) {
  flows.follow(now, flow, std::nullopt);
  give(8);
  EXPECT_TRUE(flows.state(flow)->full);
  give(1);
  EXPECT_EQ(flows.state(flow)->refused_packets, 1U);
  EXPECT_EQ(take(), 2);
  EXPECT_EQ(flows.state(flow)->room_packets, 2U);
  EXPECT_TRUE(flows.state(flow)->full);
  now += 10'000;
  report(1, 12'000'000);
  now += 10'000;
  for (int i = 0; i < 2; ++i, now += 10'000) take();
  EXPECT_FALSE(flows.state(flow)->full);
}

TEST_F(exact_flows_test, an_application_may_have_fewer_packets_wait) {
  flows.follow(now, flow, std::nullopt, 3);
  give(5);
  EXPECT_EQ(flows.state(flow)->waiting_packets, 3U);
  EXPECT_EQ(flows.state(flow)->refused_packets, 2U);
}

TEST_F(exact_flows_test, what_an_application_wants_bounds_its_rate_and_is_what_it_asks_the_routers_for) {
  flows.follow(now, flow, 100'000);
  give(2);
  const auto first = flows.take_packet(now);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->exact.explicit_rate_bps, 110'000U) << "a tenth more: late packets catch up";
  take();
  now += 10'000;
  report(1, 1'200'000);
  EXPECT_EQ(flows.state(flow)->rate_bps, 110'000U);
  EXPECT_EQ(flows.state(flow)->path_bps, 1'200'000U);
  flows.want(flow, std::nullopt);
  EXPECT_EQ(flows.state(flow)->rate_bps, 1'200'000U);
}

TEST_F(exact_flows_test, an_application_that_says_nothing_is_taken_to_want_a_quarter_more_than_it_sends) {
  flows.follow(now, flow, std::nullopt);
  std::uint32_t sequence = 0;
  std::uint64_t asked_bps = 0;
  for (int i = 0; i < 50; ++i, now += 100'000) {  // 120 kb/s
    give(1);
    while (const auto packet = flows.take_packet(now)) {
      sequence = packet->exact.header.sequence;
      asked_bps = packet->exact.explicit_rate_bps;
    }
    now += 10'000;
    report(sequence, 1'200'000);
  }
  EXPECT_NEAR(static_cast<double>(asked_bps), 1.25 * 109'000, 15'000);
}

TEST_F(exact_flows_test, a_re_route_is_timed_from_the_first_packet_on_the_new_path_to_its_report) {
  flows.follow(now, flow, std::nullopt);
  give(4);
  take();
  leave(0, 11);
  leave(1, 11);
  now += 10'000;
  report(1, 1'000'000);
  EXPECT_EQ(flows.state(flow)->reroutes, 0U);
  now += 20'000;
  take();
  leave(2, 12);
  now += 5'000;
  report(1, 1'000'000);  // of the old path
  EXPECT_EQ(flows.state(flow)->reroutes, 0U);
  now += 7'000;
  report(2, 500'000);
  EXPECT_EQ(flows.state(flow)->reroutes, 1U);
  EXPECT_EQ(flows.state(flow)->reroute_us, 12'000U);
  EXPECT_EQ(flows.state(flow)->rate_bps, 500'000U);
}

TEST_F(exact_flows_test, a_flow_without_reports_asks_at_once_on_a_new_path_and_one_with_reports_goes_on) {
  flows.follow(now, flow, std::nullopt);
  give(8);
  take();
  leave(0, 11);
  now += 10'000;
  report(1, 1'000'000);
  flows.on_routes(now, [](const shim::ip_address&) -> std::uint64_t { return 12; });
  EXPECT_TRUE(flows.state(flow)->reported);
  now += 20'000;
  EXPECT_EQ(take(), 1);
  now += 700'000;
  flows.on_deadline(now);
  EXPECT_GT(flows.state(flow)->halvings, 0U);
  EXPECT_EQ(take(), 1) << "the window";
  EXPECT_EQ(take(), 0);
  flows.on_routes(now, [](const shim::ip_address&) -> std::uint64_t { return 11; });
  EXPECT_EQ(take(), 0) << "the same path";
  flows.on_routes(now, [](const shim::ip_address&) -> std::uint64_t { return 12; });
  EXPECT_EQ(take(), 2) << "as at first";
}

TEST_F(exact_flows_test, a_flow_that_was_silent_for_long_asks_again) {
  flows.follow(now, flow, std::nullopt);
  give(2);
  take();
  now += 10'000;
  report(1, 1'200'000);
  now += 6'000'000;
  give(8);
  EXPECT_EQ(take(), 2);
  EXPECT_FALSE(flows.state(flow)->reported);
}

TEST_F(exact_flows_test, the_receiver_reports_the_first_packet_at_once_and_a_sender_that_counts_anew_too) {
  const wire::path_header path{.hops = 3, .total_delay_us = 9000, .max_delay_us = 3000, .explicit_rate_bps = 500'000};
  shim::ip_packet_view view{.flow = flow, .ip_bytes = packet_bytes, .ttl = 62};
  flows.on_data(now, view, path, {.sequence = 0}, 11);
  const auto first = flows.take_report(now);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->flow, flow);
  EXPECT_EQ(first->report.hops, 3);
  EXPECT_FALSE(first->report.silent_router_seen) << "64 - 62 is two routers: three hops";
  for (std::uint32_t i = 1; i < 500; ++i) {
    now += 10'000;
    flows.on_data(now, view, path, {.sequence = i}, 11);
    while (flows.take_report(now)) {}
  }
  now += 10'000;
  flows.on_data(now, view, path, {.sequence = 0}, 11);
  const auto again = flows.take_report(now);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->report.highest_sequence, 0U);
  EXPECT_EQ(flows.counters().restarts, 1U);
}

TEST_F(exact_flows_test, a_report_goes_again_when_the_way_back_changes) {
  const wire::path_header path{.hops = 3, .total_delay_us = 9000, .max_delay_us = 3000, .explicit_rate_bps = 500'000};
  flows.on_data(now, {.flow = flow, .ip_bytes = packet_bytes, .ttl = 62}, path, {.sequence = 0}, 11);
  EXPECT_TRUE(flows.take_report(now));
  flows.on_routes(now, [](const shim::ip_address&) -> std::uint64_t { return 11; });
  EXPECT_FALSE(flows.take_report(now));
  flows.on_routes(now, [](const shim::ip_address& to) -> std::uint64_t { return to == flow.source ? 12 : 0; });
  EXPECT_TRUE(flows.take_report(now));
  EXPECT_FALSE(flows.take_report(now));
  now += 6'000'000;
  flows.on_routes(now, [](const shim::ip_address&) -> std::uint64_t { return 13; });
  EXPECT_FALSE(flows.take_report(now)) << "the flow has long ended";
}

TEST_F(exact_flows_test, a_router_that_only_the_time_to_live_tells_of_is_reported_as_silent) {
  const wire::path_header path{.hops = 2, .total_delay_us = 6000, .max_delay_us = 3000, .explicit_rate_bps = 500'000};
  flows.on_data(now, {.flow = flow, .ip_bytes = packet_bytes, .ttl = 62}, path, {.sequence = 0}, 11);
  EXPECT_TRUE(flows.take_report(now)->report.silent_router_seen);
}

TEST_F(exact_flows_test, a_report_of_an_unknown_flow_is_counted) {
  report(1, 1'000'000);
  EXPECT_EQ(flows.counters().unknown_reports, 1U);
}

}  // namespace
}  // namespace perhop::node
