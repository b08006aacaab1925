// SPDX-License-Identifier: GPL-2.0-or-later
//
// ABC through shims and hop paths: marks go with the data in the path header and come back in the echo, and the window of TCP ACKs follows.
#include <gtest/gtest.h>

#include <vector>

#include "host/core/hop/hop_path.hpp"
#include "host/core/wire/abc_echo.hpp"
#include "tests/host/tcp_packets.hpp"

namespace perhop {
namespace {

using tcp_packets::data_of, tcp_packets::flow, tcp_packets::hop, tcp_packets::segment_bytes, tcp_packets::tcp_ack_of;

shim::flow_policy abc_policy(std::uint32_t target_ms = 20) {
  shim::flow_policy policy;
  policy.cwl = {.kind = policy::cwl_kind::abc, .abc_target_ms = target_ms};
  return policy;
}

wire::path_header over_the_air(const wire::path_header& header) {
  const auto decoded = wire::decode(wire::encode(header));
  EXPECT_TRUE(decoded.has_value());
  return *decoded;
}

/// Sender, router, receiver.
struct chain {
  shim::shim sender, router, receiver;
  std::uint32_t sent = 0;

  explicit chain(const shim::flow_policy& policy)
      : sender({.profile = find_profile("dsss_long"), .policy = policy}),
        router({.profile = find_profile("dsss_long"), .policy = policy}),
        receiver({.profile = find_profile("dsss_long"), .policy = policy}) {}

  /// A packet there and its TCP ACK back. @return the window that the sender's TCP sees, in packets; 0: as it was
  std::uint32_t round(policy::time_us now, std::size_t before_it_at_router) {
    const auto data = data_of(sent++);
    auto header = sender.on_originate(now, data, hop);
    sender.brake(now, header, data, hop, 0);
    header = over_the_air(header);
    router.on_forward(now, header, data, hop);
    router.brake(now, header, data, hop, before_it_at_router);
    receiver.on_receive(now, over_the_air(header), data);
    const auto tcp_ack = tcp_ack_of(sent);
    auto back = receiver.on_originate(now, tcp_ack, hop);
    router.on_forward(now, back, tcp_ack, hop);
    router.brake(now, back, tcp_ack, hop, before_it_at_router);
    return sender.on_receive(now, over_the_air(back), tcp_ack).window_bytes.value_or(0) / segment_bytes;
  }
};

TEST(abc_echo, goes_through_the_float_as_it_is) {
  for (std::uint32_t accelerated = 0; accelerated < 32; ++accelerated) {
    for (std::uint32_t arrived = 0; arrived < 64; ++arrived) {
      const wire::abc_echo told{.accelerated_packets = static_cast<std::uint8_t>(accelerated),
                                .arrived_packets = static_cast<std::uint8_t>(arrived)};
      const std::uint64_t rate_bps = wire::rate_of(told);
      EXPECT_EQ(wire::quantise_rate_bps(rate_bps), rate_bps);
      EXPECT_EQ(wire::abc_echo_of(rate_bps), told);
    }
  }
  EXPECT_EQ(wire::abc_echo_of(wire::unlimited_rate_bps), std::nullopt) << "no limit stated";
  EXPECT_EQ(wire::abc_echo_of(2048), std::nullopt) << "a rate";
}

TEST(abc_shim, an_idle_path_accelerates_and_a_long_queue_brakes) {
  chain path(abc_policy());
  std::uint32_t window = 0;
  for (policy::time_us now = 0; now < 100'000; now += 10'000) window = path.round(now, 0);
  EXPECT_GT(window, 1U);
  EXPECT_EQ(window, path.sender.cwl_packets(flow)) << "what TCP is told is the limit";
  EXPECT_EQ(window, 2U) << "no more than twice what was in flight";
  for (policy::time_us now = 100'000; now < 300'000; now += 10'000) window = path.round(now, 50);
  EXPECT_EQ(window, 1U);
  EXPECT_GT(path.router.counters().brakes, 10U);
  EXPECT_EQ(path.sender.counters().brakes, 0U);
}

TEST(abc_shim, a_router_lowers_a_mark_and_never_raises_it) {
  shim::shim node({.profile = find_profile("dsss_long"), .policy = abc_policy()});
  wire::path_header braked{.explicit_rate_bps = wire::brake_rate_bps};
  node.brake(0, braked, data_of(0), hop, 0);
  EXPECT_EQ(braked.explicit_rate_bps, wire::brake_rate_bps);
  wire::path_header accelerated;
  node.brake(0, accelerated, data_of(1), hop, 0);
  EXPECT_EQ(accelerated.explicit_rate_bps, wire::unlimited_rate_bps);
}

TEST(abc_shim, marks_nothing_but_data_of_flows_that_have_the_policy) {
  shim::shim node({.profile = find_profile("dsss_long"), .policy = shim::no_policy});
  EXPECT_FALSE(node.brakes());
  node.set_flow_policy(flow, abc_policy());
  EXPECT_TRUE(node.brakes());
  const wire::path_header before{.hops = 1, .total_delay_us = 8'000, .max_delay_us = 8'000};
  const auto bytes_after = [&](const shim::ip_packet_view& packet) {
    wire::path_header header = before;
    node.brake(0, header, packet, hop, 1000);
    return wire::encode(header);
  };
  shim::flow_key other = flow;
  other.source_port = 1;
  shim::ip_packet_view udp = data_of(0);
  udp.flow.protocol = 17;
  EXPECT_EQ(bytes_after(data_of(0, other)), wire::encode(before));
  EXPECT_EQ(bytes_after(data_of(0, flow.reversed())), wire::encode(before));
  EXPECT_EQ(bytes_after(tcp_ack_of(1)), wire::encode(before));
  EXPECT_EQ(bytes_after(udp), wire::encode(before));
  EXPECT_NE(bytes_after(data_of(0)), wire::encode(before));
  node.set_policy(abc_policy());
  EXPECT_EQ(bytes_after(tcp_ack_of(1)), wire::encode(before)) << "TCP ACKs bring marks and have none";
}

/// What is on the air without the policy is what it was before there was ABC: no rate stated, none echoed.
TEST(abc_shim, without_the_policy_no_byte_changes) {
  shim::flow_policy policy;
  policy.cwl = {.kind = policy::cwl_kind::fixed, .fixed_packets = 4};
  chain path(policy);
  path.round(0, 50);
  const auto tcp_ack = tcp_ack_of(path.sent);
  const auto back = path.receiver.on_originate(1, tcp_ack, hop);
  EXPECT_EQ(back.explicit_rate_bps, wire::unlimited_rate_bps);
  ASSERT_TRUE(back.echo.has_value());
  EXPECT_EQ(back.echo->rate_bps, wire::unlimited_rate_bps);
  EXPECT_EQ(path.sender.cwl_packets(flow), 4U);
}

/// Of two flows between the same nodes one has the policy. Both ends know of the policy then, and must still tell the flows apart.
TEST(abc_shim, of_two_flows_only_the_one_with_the_policy_is_counted_and_limited) {
  chain path(shim::no_policy);
  for (shim::shim* node : {&path.sender, &path.router, &path.receiver}) node->set_flow_policy(flow, abc_policy());
  shim::flow_key other = flow;
  other.source_port = 40001;
  for (std::uint32_t number = 0; number < 10; ++number) {
    const policy::time_us now = number * 10'000;
    path.round(now, 50);
    const auto data = data_of(number, other);
    auto header = path.sender.on_originate(now, data, hop);
    path.sender.brake(now, header, data, hop, 50);
    path.router.on_forward(now, header, data, hop);
    path.router.brake(now, header, data, hop, 50);
    EXPECT_EQ(header.explicit_rate_bps, wire::unlimited_rate_bps);
    path.receiver.on_receive(now, over_the_air(header), data);
    auto tcp_ack = tcp_ack_of(number + 1);
    tcp_ack.flow = other.reversed();
    const auto back = over_the_air(path.receiver.on_originate(now, tcp_ack, hop));
    ASSERT_TRUE(back.echo.has_value());
    EXPECT_EQ(back.echo->rate_bps, wire::unlimited_rate_bps) << "no rate was stated, and nothing is counted";
    EXPECT_EQ(path.sender.on_receive(now, back, tcp_ack).window_bytes, std::nullopt);
  }
  EXPECT_EQ(path.sender.cwl_packets(flow), 1U) << "beside it the other flow has been limited all along";
  EXPECT_EQ(path.sender.cwl_packets(other), std::nullopt);
}

TEST(abc_shim, a_policy_that_comes_later_begins_with_what_is_in_flight) {
  chain path(shim::no_policy);
  std::uint32_t sent = 0;
  for (; sent < 12; ++sent) path.sender.on_originate(0, data_of(sent), hop);
  path.sent = sent;
  for (shim::shim* node : {&path.sender, &path.router, &path.receiver}) node->set_policy(abc_policy());
  path.sender.on_receive(1, std::nullopt, tcp_ack_of(0));
  EXPECT_EQ(path.sender.cwl_packets(flow), std::nullopt);
  EXPECT_EQ(path.round(2, 0), 13U);
}

/// Its MAC takes so many frames, and completes none.
struct node {
  using time_us = policy::time_us;
  using content = int;
  using frame = int;

  std::vector<int> given, braked;

  std::optional<std::uint64_t> receiver_of(const hop::outgoing<content>&) const { return node_address_base + 20; }
  shim::next_hop describe(const hop::outgoing<content>&, std::uint64_t, std::uint8_t peer) const {
    return {.peer = peer, .rate_index = 1, .mpdu_bytes = 1554};
  }
  void before_leaving(hop::outgoing<content>&) {}
  std::size_t packets_in_mac() const { return given.size(); }
  void on_left(time_us, const hop::outgoing<content>& what, std::uint64_t, const wire::path_header& header, std::uint64_t) {
    if (header.explicit_rate_bps == wire::brake_rate_bps) braked.push_back(what.content);
  }
  frame make(time_us, hop::outgoing<content>&& packet, const wire::path_header&, std::uint64_t, const shim::next_hop&) {
    return packet.content;
  }
  frame make_hello(time_us, std::span<const std::uint8_t>, std::uint8_t, std::uint32_t) { return 0; }
  bool mac_is_up() const { return true; }
  bool can_submit() const { return given.size() < 2; }
  void submit(time_us, hop::frame_queue<frame>::entry&& entry) { given.push_back(entry.what); }
  void on_lost(const shim::ip_packet_view&, hop::loss) {}
  void on_purged(frame&&) {}
  std::uint32_t node_of(std::uint64_t) const { return 0; }
  std::uint32_t window_packets(const shim::ip_packet_view&) const { return 0; }
  void on_room(hop::room_event, const shim::ip_packet_view&) {}
};

hop::completed_frame done(std::uint32_t service_us) {
  return {.receiver_address = node_address_base + 20, .averages = {.peer = 0}, .service_us = service_us, .delivered = true};
}

/// A hop of 7.758 ms when nothing has been measured (test_shim.cc). What exceeds 20 ms is to be gone in 133 ms, at 98 % of the rate: a
/// packet with 150.3 ms before it, the 21st, finds nothing left.
TEST(abc_hop_path, what_the_mac_has_and_what_waits_is_the_queue) {
  node host;
  hop::hop_path<node> path(host, 50);
  path.start({.profile = find_profile("dsss_long"), .policy = abc_policy()});
  for (int number = 1; number <= 23; ++number) {
    path.send(5, {.view = data_of(static_cast<std::uint32_t>(number)), .content = number});
  }
  EXPECT_EQ(host.given, (std::vector{1, 2})) << "two are in the MAC, the others in the queue";
  EXPECT_EQ(host.braked, (std::vector{21, 22, 23}));
}

TEST(abc_hop_path, the_service_time_that_the_mac_measured_is_that_of_the_queue) {
  node host;
  hop::hop_path<node> path(host, 50);
  path.start({.profile = find_profile("dsss_long"), .policy = abc_policy()});
  path.send(0, {.view = data_of(0), .content = 0});
  // Ten times as long as expected, so that two packets fill what twenty filled, and the MAC is never idle.
  for (policy::time_us now = 80'000; now <= 800'000; now += 80'000) path.on_completion(now, done(78'000));
  for (int number = 1; number <= 9; ++number) {
    path.send(800'001, {.view = data_of(static_cast<std::uint32_t>(number)), .content = number});
  }
  EXPECT_EQ(host.braked, (std::vector{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

}  // namespace
}  // namespace perhop
