// SPDX-License-Identifier: GPL-2.0-or-later
//
// Congestion marks by service time: the rule, the shim that asks it, the hop path that tells what is before a packet.
#include "host/core/policy/service_mark.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "host/core/hop/hop_path.hpp"

namespace perhop {
namespace {

constexpr policy::ecn_config target_20ms{.kind = policy::ecn_kind::service, .target_ms = 20};
const shim::flow_key flow{.source = shim::ip_address::from_ipv4(0x0a000001),
                          .destination = shim::ip_address::from_ipv4(0x0a000004),
                          .source_port = 40000,
                          .destination_port = 5001};

TEST(service_mark, marks_what_took_longer_than_the_target_for_its_hops) {
  EXPECT_FALSE(policy::is_congested(target_20ms, {.hops = 1, .total_us = 20'000, .here_us = 20'000}));
  EXPECT_TRUE(policy::is_congested(target_20ms, {.hops = 1, .total_us = 20'001, .here_us = 20'001}));
  EXPECT_FALSE(policy::is_congested(target_20ms, {.hops = 4, .total_us = 80'000, .here_us = 30'000})) << "of four hops one is slow";
  EXPECT_TRUE(policy::is_congested(target_20ms, {.hops = 4, .total_us = 80'001, .here_us = 10'000}));
}

TEST(service_mark, packets_that_wait_before_it_count_as_long_as_this_hop_takes) {
  EXPECT_FALSE(policy::is_congested(target_20ms, {.hops = 2, .total_us = 20'000, .here_us = 10'000, .before_it = 3}));
  EXPECT_TRUE(policy::is_congested(target_20ms, {.hops = 2, .total_us = 20'000, .here_us = 10'000, .before_it = 4}));
  EXPECT_FALSE(policy::is_congested(target_20ms, {.hops = 1, .total_us = 20'000, .here_us = 20'000, .before_it = 1})) << "one is no queue";
  EXPECT_TRUE(policy::is_congested(target_20ms, {.hops = 2, .total_us = 20'000, .here_us = 20'000, .before_it = UINT32_MAX}));
}

TEST(service_mark, a_flow_without_the_policy_has_no_marks) {
  EXPECT_FALSE(policy::is_congested({}, {.hops = 1, .total_us = 1'000'000, .here_us = 1'000'000, .before_it = 50}));
}

shim::ip_packet_view packet_of(const shim::flow_key& of, shim::ecn_field ecn, std::uint32_t sequence = 1) {
  return {.flow = of,
          .ip_bytes = 1500,
          .ttl = 64,
          .tcp = {.has_tcp_ack = true, .sequence = sequence, .window_bytes = 65535, .payload_bytes = 1460},
          .ecn = ecn};
}

TEST(service_mark, the_shim_marks_only_what_knows_ecn_and_only_of_flows_that_have_the_policy) {
  shim::shim node({.profile = find_profile("dsss_long"), .policy = shim::no_policy});
  const shim::next_hop hop{.peer = 0, .rate_index = 1, .mpdu_bytes = 1554};
  wire::path_header late;
  late.hops = 1;
  late.total_delay_us = late.max_delay_us = 500'000;
  EXPECT_FALSE(node.marks());
  shim::flow_policy marked = shim::no_policy;
  marked.ecn = target_20ms;
  node.set_flow_policy(flow, marked);
  EXPECT_TRUE(node.marks());
  EXPECT_TRUE(node.congested(packet_of(flow, shim::ecn_field::capable_0), late, hop, 0));
  EXPECT_TRUE(node.congested(packet_of(flow, shim::ecn_field::capable_1), late, hop, 0));
  EXPECT_FALSE(node.congested(packet_of(flow, shim::ecn_field::not_capable), late, hop, 0)) << "its TCP would lose it for nothing";
  EXPECT_FALSE(node.congested(packet_of(flow, shim::ecn_field::congested), late, hop, 0)) << "it has its mark";
  EXPECT_FALSE(node.congested(packet_of(flow.reversed(), shim::ecn_field::capable_0), late, hop, 0)) << "another flow";
  EXPECT_EQ(node.counters().congestion_marks, 2U);
  node.set_policy(shim::no_policy);
  EXPECT_TRUE(node.marks()) << "the flow's own policy stays";
}

/// Its MAC takes so many frames, and completes none.
struct node {
  using time_us = policy::time_us;
  using content = int;
  using frame = int;

  std::vector<int> sent;
  std::vector<int> marked;
  std::size_t room = 2;

  std::optional<std::uint64_t> receiver_of(const hop::outgoing<content>&) const { return node_address_base + 20; }
  shim::next_hop describe(const hop::outgoing<content>&, std::uint64_t, std::uint8_t peer) const {
    return {.peer = peer, .rate_index = 1, .mpdu_bytes = 1554};
  }
  void before_leaving(hop::outgoing<content>&) {}
  void mark_congestion(hop::outgoing<content>& what) {
    marked.push_back(what.content);
    what.view.ecn = shim::ecn_field::congested;
  }
  std::size_t packets_in_mac() const { return sent.size(); }
  void on_left(time_us, const hop::outgoing<content>&, std::uint64_t, const wire::path_header&, std::uint64_t) {}
  frame make(time_us, hop::outgoing<content>&& packet, const wire::path_header&, std::uint64_t, const shim::next_hop&) {
    return packet.content;
  }
  frame make_hello(time_us, std::span<const std::uint8_t>, std::uint8_t, std::uint32_t) { return 0; }
  bool mac_is_up() const { return true; }
  bool can_submit() const { return sent.size() < room; }
  void submit(time_us, hop::frame_queue<frame>::entry&& entry) { sent.push_back(entry.what); }
  void on_lost(const shim::ip_packet_view&, hop::loss) {}
  void on_purged(frame&&) {}
  std::uint32_t node_of(std::uint64_t) const { return 0; }
  std::uint32_t window_packets(const shim::ip_packet_view&) const { return 0; }
  void on_room(hop::room_event, const shim::ip_packet_view&) {}
};

/// A hop of 7.758 ms when nothing has been measured (test_shim.cc): a target of 20 ms is exceeded by the fourth packet.
TEST(service_mark, a_packet_meets_what_the_mac_has_and_what_waits) {
  node host;
  hop::hop_path<node> path(host, 50);
  shim::flow_policy policy = shim::no_policy;
  policy.ecn = target_20ms;
  path.start({.profile = find_profile("dsss_long"), .policy = policy});
  for (int number = 1; number <= 4; ++number) {
    path.send(5, {.view = packet_of(flow, shim::ecn_field::capable_0, static_cast<std::uint32_t>(number) * 1460), .content = number});
  }
  EXPECT_EQ(host.sent, (std::vector{1, 2})) << "two are in the MAC, two in the queue";
  EXPECT_EQ(host.marked, (std::vector{4})) << "15.5 ms for the third, 23.3 ms for the fourth";
}

}  // namespace
}  // namespace perhop
