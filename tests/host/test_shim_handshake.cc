// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which SYN the shim believes: one that this node's own TCP sends or answers. Anybody can send the others.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "host/core/shim/shim.hpp"

namespace perhop::shim {
namespace {

constexpr next_hop hop{.peer = 0, .rate_index = 1, .mpdu_bytes = 1554};
constexpr std::uint32_t own_isn = 1000, other_isn = 5'000'000;
constexpr std::uint32_t limit_packets = 2;
constexpr std::uint16_t segment_bytes = 1448;  // MSS 1460, timestamps

const flow_key there{.source = ip_address::from_ipv4(0x0a000001),
                     .destination = ip_address::from_ipv4(0x0a000004),
                     .source_port = 40000,
                     .destination_port = 5001};
const flow_key there_ipv6{
    .source = {0xfd00'0000'0000'0000, 1}, .destination = {0xfd00'0000'0000'0000, 4}, .source_port = 40000, .destination_port = 5001};

shim_config config_of(policy::cwl_kind kind = policy::cwl_kind::fixed) {
  return {.profile = find_profile("dsss_long"), .policy = {.cwl = {.kind = kind, .fixed_packets = limit_packets}}};
}

struct segment {
  std::uint32_t sequence = 0;
  std::optional<std::uint32_t> tcp_ack{};
  std::uint32_t payload_bytes = 0;
  std::optional<std::uint16_t> syn_with_mss_bytes{};
};

ip_packet_view packet(const flow_key& flow, const segment& of, bool timestamps = true) {
  ip_packet_view view{.flow = flow, .ip_bytes = 52 + of.payload_bytes, .ttl = 64};
  view.tcp.sequence = of.sequence;
  view.tcp.has_tcp_ack = of.tcp_ack.has_value();
  view.tcp.tcp_ack = of.tcp_ack.value_or(0);
  view.tcp.payload_bytes = of.payload_bytes;
  view.tcp.window_bytes = 65535;
  view.tcp.syn = of.syn_with_mss_bytes.has_value();
  view.tcp.mss_option_bytes = of.syn_with_mss_bytes.value_or(0);
  view.tcp.timestamps = timestamps;
  return view;
}

wire::path_header measured() {
  wire::path_header header;
  header.hops = 3;
  header.total_delay_us = 3 * 1840;
  header.max_delay_us = 1840;
  header.echo = wire::path_echo{.total_delay_us = 3 * 7680, .max_delay_us = 7680, .hops = 3};
  return header;
}

/// A node and one connection of its own that sends data.
class connection {
public:
  explicit connection(const flow_key& flow = there, const shim_config& config = config_of()) : flow_(flow), node(config) {}

  void open() {
    send({.sequence = own_isn, .syn_with_mss_bytes = 1460});
    receive({.sequence = other_isn, .tcp_ack = own_isn + 1, .syn_with_mss_bytes = 1460});
    send({.sequence = own_isn + 1, .tcp_ack = other_isn + 1});
    send_data();
  }

  void accept() {
    receive({.sequence = other_isn, .syn_with_mss_bytes = 1460});
    send({.sequence = own_isn, .tcp_ack = other_isn + 1, .syn_with_mss_bytes = 1460});
    receive({.sequence = other_isn + 1, .tcp_ack = own_isn + 1});
    send_data();
  }

  void send(const segment& of) { node.on_originate(++now, packet(flow_, of), hop, 1); }
  void send_data() {
    send({.sequence = own_isn + 1, .tcp_ack = other_isn + 1, .payload_bytes = segment_bytes});
    sent_ = own_isn + 1 + segment_bytes;
  }
  receive_verdict receive(const segment& of, std::optional<wire::path_header> header = measured()) {
    return node.on_receive(++now, header, packet(flow_.reversed(), of));
  }

  /// What the own TCP may have in flight after a TCP ACK; nothing: as much as the other end lets it.
  std::optional<std::uint32_t> window_bytes() { return receive({.sequence = other_isn + 1, .tcp_ack = sent_}).window_bytes; }

  const flow_key flow_;
  shim node;
  time_us now = 0;

private:
  std::uint32_t sent_ = own_isn + 1;
};

void forge_syn(connection& flow, std::uint16_t mss_bytes, std::uint32_t sequence) {
  ip_packet_view forged = packet(flow.flow_.reversed(), {.sequence = sequence, .syn_with_mss_bytes = mss_bytes}, mss_bytes % 2 != 0);
  forged.ttl = static_cast<std::uint8_t>(mss_bytes);
  flow.node.on_receive(++flow.now, std::nullopt, forged);
}

class forged_syn : public testing::TestWithParam<flow_key> {};
INSTANTIATE_TEST_SUITE_P(families, forged_syn, testing::Values(there, there_ipv6));

TEST_P(forged_syn, changes_nothing_of_an_open_connection) {
  for (const bool active : {true, false}) {
    connection flow(GetParam(), config_of(policy::cwl_kind::delay));
    active ? flow.open() : flow.accept();
    const auto window = flow.window_bytes();
    const auto path = flow.node.last_path(GetParam());
    ASSERT_TRUE(window);
    for (std::uint32_t i = 0; i < 100; ++i) {
      forge_syn(flow, static_cast<std::uint16_t>(i * 65535 / 99), i * 0x0123'4567);
      EXPECT_EQ(flow.node.cwl_packets(GetParam()), 1U);
      const auto now_path = flow.node.last_path(GetParam());
      ASSERT_TRUE(now_path);
      EXPECT_EQ(now_path->forward_hops, path->forward_hops);
      EXPECT_EQ(now_path->forward_total_us, path->forward_total_us);
      // The own TCP refuses it with a challenge ACK (RFC 5961, 4.2), and data goes on.
      flow.send({.sequence = own_isn + 1 + segment_bytes, .tcp_ack = other_isn + 1});
      EXPECT_EQ(flow.window_bytes(), window) << "forged MSS " << i * 65535 / 99;
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_P(forged_syn, with_a_tcp_ack_that_answers_no_syn_changes_nothing) {
  connection flow(GetParam());
  flow.send({.sequence = own_isn, .syn_with_mss_bytes = 1460});
  flow.receive({.sequence = 77, .tcp_ack = own_isn + 2, .syn_with_mss_bytes = 1});
  flow.receive({.sequence = other_isn, .tcp_ack = own_isn + 1, .syn_with_mss_bytes = 1460});
  flow.send({.sequence = own_isn + 1, .tcp_ack = other_isn + 1});
  flow.send_data();
  const auto window = flow.window_bytes();
  EXPECT_EQ(window, limit_packets * (GetParam().source.is_ipv4() ? segment_bytes : 1500U - 60 - 12));
  flow.receive({.sequence = 99, .tcp_ack = own_isn + 1, .syn_with_mss_bytes = 1});
  EXPECT_EQ(flow.window_bytes(), window);
}

TEST(handshake, that_the_own_end_answers_opens_the_connection_anew) {
  connection flow;
  flow.accept();
  flow.receive({.sequence = other_isn + 999'999, .syn_with_mss_bytes = 1000});
  EXPECT_EQ(flow.window_bytes(), limit_packets * segment_bytes) << "not answered yet";
  flow.send({.sequence = own_isn + 555'555, .tcp_ack = other_isn + 1'000'000, .syn_with_mss_bytes = 1460});
  EXPECT_EQ(flow.receive({.sequence = other_isn + 1'000'000, .tcp_ack = own_isn + 555'556}).window_bytes, limit_packets * (1000 - 12));
}

TEST(handshake, of_this_nodes_own_on_ports_used_before_opens_the_connection_anew) {
  connection flow;
  flow.open();
  flow.send({.sequence = own_isn + 777, .syn_with_mss_bytes = 1460});
  flow.receive({.sequence = 42, .tcp_ack = own_isn + 778, .syn_with_mss_bytes = 1000});
  EXPECT_EQ(flow.receive({.sequence = 43, .tcp_ack = own_isn + 778}).window_bytes, limit_packets * (1000 - 12));
}

TEST(handshake, survives_what_is_sent_again) {
  connection flow;
  flow.send({.sequence = own_isn, .syn_with_mss_bytes = 1460});
  flow.send({.sequence = own_isn, .syn_with_mss_bytes = 1460});
  flow.receive({.sequence = other_isn, .tcp_ack = own_isn + 1, .syn_with_mss_bytes = 1000});
  flow.receive({.sequence = other_isn, .tcp_ack = own_isn + 1, .syn_with_mss_bytes = 1000});
  EXPECT_EQ(flow.window_bytes(), limit_packets * (1000 - 12));

  connection answering;
  for (int again = 0; again < 2; ++again) {
    answering.receive({.sequence = other_isn, .syn_with_mss_bytes = 1000});
    answering.send({.sequence = own_isn, .tcp_ack = other_isn + 1, .syn_with_mss_bytes = 1460});
  }
  answering.send({.sequence = own_isn, .tcp_ack = other_isn + 1, .syn_with_mss_bytes = 1460});
  EXPECT_EQ(answering.receive({.sequence = other_isn + 1, .tcp_ack = own_isn + 1}).window_bytes, limit_packets * (1000 - 12));
  // The listener's queue was full: it has thrown the TCP ACK away and answers the SYN once more.
  answering.send({.sequence = own_isn, .tcp_ack = other_isn + 1, .syn_with_mss_bytes = 1460});
  EXPECT_EQ(answering.receive({.sequence = other_isn + 1, .tcp_ack = own_isn + 1}).window_bytes, limit_packets * (1000 - 12));
}

TEST(handshake, of_both_ends_at_the_same_time_takes_both_options) {
  connection flow;
  flow.send({.sequence = own_isn, .syn_with_mss_bytes = 1200});
  flow.receive({.sequence = other_isn, .syn_with_mss_bytes = 1000});
  flow.send({.sequence = own_isn, .tcp_ack = other_isn + 1, .syn_with_mss_bytes = 1200});
  flow.receive({.sequence = other_isn, .tcp_ack = own_isn + 1, .syn_with_mss_bytes = 1000});
  EXPECT_EQ(flow.window_bytes(), limit_packets * (1000 - 12));
}

TEST(handshake, echoes_the_syn_in_its_answer) {
  connection flow;
  flow.receive({.sequence = other_isn, .syn_with_mss_bytes = 1460});
  const auto header =
      flow.node.on_originate(2, packet(there, {.sequence = own_isn, .tcp_ack = other_isn + 1, .syn_with_mss_bytes = 1460}), hop, 0);
  ASSERT_TRUE(header.echo);
  EXPECT_EQ(header.echo->hops, 3);
}

TEST(handshake, offers_an_mss_that_is_bounded_by_the_protocol_and_the_interface) {
  const auto window = [](const flow_key& key, std::uint16_t mss_bytes) {
    connection flow(key);
    flow.send({.sequence = own_isn, .syn_with_mss_bytes = 65535});
    flow.receive({.sequence = other_isn, .tcp_ack = own_isn + 1, .syn_with_mss_bytes = mss_bytes});
    return flow.window_bytes();
  };
  for (const std::uint16_t mss_bytes : {1, 500, 536}) EXPECT_EQ(window(there, mss_bytes), limit_packets * (536 - 12));
  for (const std::uint16_t mss_bytes : {1, 536, 1220}) EXPECT_EQ(window(there_ipv6, mss_bytes), limit_packets * (1220 - 12));
  EXPECT_EQ(window(there, 65535), limit_packets * (1500 - 40 - 12));
  EXPECT_EQ(window(there_ipv6, 65535), limit_packets * (1500 - 60 - 12));
}

TEST(handshake, never_leaves_a_limit_below_one_own_segment) {
  connection flow(there, {.profile = find_profile("dsss_long"), .policy = {.cwl = {.kind = policy::cwl_kind::fixed, .fixed_packets = 1}}});
  flow.send({.sequence = own_isn, .syn_with_mss_bytes = 1460});
  flow.receive({.sequence = other_isn, .tcp_ack = own_isn + 1, .syn_with_mss_bytes = 1});
  flow.send_data();
  EXPECT_EQ(flow.window_bytes(), segment_bytes);
}

/// Connections from as many addresses and ports.
flow_key stranger(std::uint32_t number) {
  return {.source = there.source,
          .destination = ip_address::from_ipv4(0x0b00'0000 + number),
          .source_port = 5001,
          .destination_port = static_cast<std::uint16_t>(number)};
}

TEST(flood, of_syns_that_a_listener_answers_pushes_no_open_connection_out) {
  shim_config config = config_of(policy::cwl_kind::delay);
  config.max_flows = 16;
  connection flow(there, config);
  flow.open();
  const auto window = flow.window_bytes();
  ASSERT_TRUE(window);
  for (std::uint32_t number = 0; number < 5000; ++number) {
    const flow_key half_open = stranger(number);
    flow.node.on_receive(++flow.now, measured(), packet(half_open.reversed(), {.sequence = number, .syn_with_mss_bytes = 1}));
    flow.node.on_originate(++flow.now, packet(half_open, {.sequence = 7, .tcp_ack = number + 1, .syn_with_mss_bytes = 1460}), hop, 0);
    if (number % 2 == 0) {
      // Answered again where the forged SYN comes twice with other numbers: Linux sends a bare TCP ACK (tcp_check_req).
      flow.node.on_originate(++flow.now, packet(half_open, {.sequence = 8, .tcp_ack = number + 1}), hop, 0);
    }
  }
  EXPECT_TRUE(flow.node.cwl_packets(there));
  EXPECT_EQ(flow.window_bytes(), window);
  EXPECT_LE(flow.node.flows(), 16U);
}

TEST(flood, of_segments_that_are_refused_pushes_no_open_connection_out) {
  shim_config config = config_of(policy::cwl_kind::delay);
  config.max_flows = 16;
  connection flow(there, config);
  flow.open();
  ASSERT_TRUE(flow.window_bytes());
  for (std::uint32_t number = 0; number < 5000; ++number) {
    const flow_key closed = stranger(number);
    flow.node.on_receive(++flow.now, std::nullopt, packet(closed.reversed(), {.sequence = number, .tcp_ack = 3, .payload_bytes = 100}));
    ip_packet_view reset = packet(closed, {.sequence = 3});
    reset.tcp.rst = true;
    flow.node.on_originate(++flow.now, reset, hop, 0);
  }
  EXPECT_TRUE(flow.node.cwl_packets(there));
}

}  // namespace
}  // namespace perhop::shim
