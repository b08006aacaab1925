// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/shim/told_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "host/core/shim/ip_bytes.hpp"
#include "host/core/shim/shim.hpp"

namespace perhop::shim {
namespace {

using bytes = std::vector<std::uint8_t>;

/// Computed anew over the whole: 0 when the packet's is right.
std::uint16_t tcp_checksum(const bytes& packet) {
  const std::size_t at = packet[0] >> 4 == 6 ? ipv6_header_bytes : ipv4_header_bytes;
  const auto segment_bytes = static_cast<std::uint32_t>(packet.size() - at);
  return folded(pseudo_header_sum(packet, at, segment_bytes, ip_protocol_tcp) + sum_of(std::span(packet).subspan(at)));
}

/// A segment of data with these options, of a length that is a multiple of 4.
bytes segment(bool ipv6, const bytes& options, std::size_t payload_bytes, std::uint8_t flags = 0x18) {
  const std::size_t at = ipv6 ? ipv6_header_bytes : ipv4_header_bytes;
  bytes packet(at + 20 + options.size() + payload_bytes, 0x5a);
  std::fill(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(at + 20), 0);
  (ipv6 ? write_ipv6_header : write_ipv4_header)(packet, ip_protocol_tcp, 64, ip_address::from_ipv4(0x0a000001),
                                                 ip_address::from_ipv4(0x0a000002));
  write16(&packet[at], 40000);
  write16(&packet[at + 2], 5201);
  packet[at + 12] = static_cast<std::uint8_t>((20 + options.size()) / 4 << 4);
  packet[at + 13] = flags;
  write16(&packet[at + 14], 64240);
  std::copy(options.begin(), options.end(), packet.begin() + static_cast<std::ptrdiff_t>(at + 20));
  write16(&packet[at + 16], tcp_checksum(packet));
  EXPECT_EQ(tcp_checksum(packet), 0);
  return packet;
}

const bytes timestamps = {1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2};

class told_window : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(families, told_window, testing::Bool());

TEST_P(told_window, an_option_tells_it_and_leaves_all_else_as_it_was) {
  const bytes before = segment(GetParam(), timestamps, 333);
  bytes packet = before;
  ip_packet read = *read_ip(packet);
  ASSERT_TRUE(add_window_option(packet, read, 1500));
  for (const std::uint32_t packets : {1U, 300U, 70'000U}) {
    write_window_option(packet, read, packets);
    EXPECT_EQ(tcp_checksum(packet), 0);
    if (!GetParam()) {
      EXPECT_EQ(folded(sum_of(std::span(packet).first(ipv4_header_bytes))), 0);
    }
    const auto seen = read_ip(packet);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->view.ip_bytes, before.size() + 8);
    EXPECT_EQ(seen->view.ip_bytes, read.view.ip_bytes);
    EXPECT_EQ(seen->view.tcp.payload_bytes, 333U);
    EXPECT_EQ(seen->view.tcp.told_window_packets, std::min(packets, 65535U));
    EXPECT_EQ(seen->view.tcp.timestamp_value, 1U);
    EXPECT_EQ(seen->view.tcp.window_bytes, 64240U);
    EXPECT_TRUE(std::equal(packet.end() - 333, packet.end(), before.end() - 333));
  }
}

TEST_P(told_window, padding_does_not_hide_the_option) {
  bytes packet = segment(GetParam(), {3, 3, 7, 0}, 10);
  ip_packet read = *read_ip(packet);
  ASSERT_TRUE(add_window_option(packet, read, 1500));
  write_window_option(packet, read, 5);
  EXPECT_EQ(read_ip(packet)->view.tcp.told_window_packets, 5);
  EXPECT_EQ(tcp_checksum(packet), 0);
}

TEST_P(told_window, what_has_no_room_stays_as_it_was) {
  const bytes full = segment(GetParam(), bytes(36, 1), 10);
  const bytes whole = segment(GetParam(), timestamps, 1500 - (GetParam() ? 40 : 20) - 32);
  bytes digest = segment(GetParam(), {19, 18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}, 10);
  for (const bytes& before : {full, whole, digest}) {
    bytes packet = before;
    ip_packet read = *read_ip(packet);
    EXPECT_FALSE(add_window_option(packet, read, 1500));
    write_window_option(packet, read, 5);
    EXPECT_EQ(packet, before);
  }
}

TEST_P(told_window, an_option_of_another_experiment_tells_nothing) {
  EXPECT_EQ(read_ip(segment(GetParam(), {253, 8, 'p', 'e', 'r', 'x', 0, 5}, 10))->view.tcp.told_window_packets, 0);
  EXPECT_EQ(read_ip(segment(GetParam(), {253, 7, 'p', 'e', 'r', 'h', 5, 1}, 10))->view.tcp.told_window_packets, 0);
  EXPECT_EQ(read_ip(segment(GetParam(), {254, 8, 'p', 'e', 'r', 'h', 0, 5}, 10))->view.tcp.told_window_packets, 0);
  EXPECT_EQ(read_ip(segment(GetParam(), {253, 8, 'p', 'e', 'r', 'h', 0, 5}, 10))->view.tcp.told_window_packets, 5);
}

TEST_P(told_window, a_syn_asks_for_segments_that_leave_room) {
  constexpr std::uint8_t syn = 0x02;
  // At an even and at an odd place.
  for (const bytes& options : {bytes{2, 4, 0x05, 0xb4}, bytes{1, 2, 4, 0x05, 0xb4, 1, 1, 1}}) {
    bytes packet = segment(GetParam(), options, 0, syn);
    ip_packet read = *read_ip(packet);
    lower_mss(packet, read, 1452);
    EXPECT_EQ(read_ip(packet)->view.tcp.mss_option_bytes, 1452);
    EXPECT_EQ(read.view.tcp.mss_option_bytes, 1452);
    EXPECT_EQ(tcp_checksum(packet), 0);
    lower_mss(packet, read, 1460);
    EXPECT_EQ(read_ip(packet)->view.tcp.mss_option_bytes, 1452) << "never raised";
  }
  const bytes data = segment(GetParam(), {2, 4, 0x05, 0xb4}, 10);
  bytes packet = data;
  ip_packet read = *read_ip(packet);
  lower_mss(packet, read, 536);
  EXPECT_EQ(packet, data) << "no SYN";
}

TEST(told_window_of, random_headers_are_changed_right_or_not_at_all) {
  std::mt19937 draws(5);
  for (int i = 0; i < 20'000; ++i) {
    bytes options(draws() % 11 * 4);
    for (std::uint8_t& byte : options)
      byte = draws() % 2 == 0 ? static_cast<std::uint8_t>(draws() % 11) : static_cast<std::uint8_t>(draws());
    const bytes before = segment(draws() % 2 == 0, options, draws() % 40, draws() % 2 == 0 ? 0x02 : 0x18);
    bytes packet = before;
    ip_packet read = *read_ip(packet);
    lower_mss(packet, read, 700);
    ASSERT_EQ(tcp_checksum(packet), 0);
    const bool added = add_window_option(packet, read, 1500);
    write_window_option(packet, read, 9);
    ASSERT_EQ(tcp_checksum(packet), 0);
    ASSERT_EQ(packet.size(), before.size() + (added ? 8 : 0));
    if (added) {
      ASSERT_EQ(read_ip(packet)->view.tcp.told_window_packets, 9);
    }
  }
}

// What TCP itself carries counts where no header tells it, and the window field only where that is asked for.
TEST(told_window_of, a_sender_reaches_the_receivers_shim_by_header_by_option_or_on_request_by_the_window_field) {
  constexpr std::uint32_t segment_bytes = 1000;
  const flow_key flow{.source = ip_address::from_ipv4(1), .destination = ip_address::from_ipv4(2), .source_port = 3, .destination_port = 4};
  // TCP ACKs for 61 packets in order.
  const auto sent = [&](std::optional<std::uint8_t> by_header, std::uint16_t by_option, std::uint32_t by_field_bytes, bool field_tells) {
    shim receiver({.profile = find_profile("dsss_long"),
                   .policy = {.cwl = {.kind = policy::cwl_kind::none}, .tcp_ack = {.kind = policy::tcp_ack_kind::dca}},
                   .window_field_tells = field_tells});
    std::uint32_t tcp_acks = 0;
    for (std::uint32_t segment = 0; segment < 61; ++segment) {
      const policy::time_us now = segment * 10'000;
      const ip_packet_view data{.flow = flow,
                                .ip_bytes = 40 + segment_bytes,
                                .ttl = 64,
                                .tcp = {.has_tcp_ack = true,
                                        .sequence = segment * segment_bytes,
                                        .window_bytes = by_field_bytes,
                                        .payload_bytes = segment_bytes,
                                        .told_window_packets = by_option}};
      wire::path_header header{.hops = 1, .total_delay_us = 7680, .max_delay_us = 7680};
      header.packets_in_flight = by_header.value_or(0);
      receiver.on_receive(now, by_header ? std::optional(header) : std::nullopt, data);
      const ip_packet_view answer{.flow = flow.reversed(),
                                  .ip_bytes = 40,
                                  .ttl = 64,
                                  .tcp = {.has_tcp_ack = true, .tcp_ack = (segment + 1) * segment_bytes, .window_bytes = 65535}};
      if (receiver.on_tcp_ack(now, answer) == policy::tcp_ack_action::pass) ++tcp_acks;
    }
    return tcp_acks;
  };
  EXPECT_EQ(sent(10, 4, 2000, true), 7U) << "the header goes before";
  EXPECT_EQ(sent(0, 10, 2000, true), 7U) << "it comes from a router, not from the sender";
  EXPECT_EQ(sent(std::nullopt, 10, 2000, true), 7U);
  EXPECT_EQ(sent(std::nullopt, 0, 10'999, true), 7U);
  EXPECT_EQ(sent(std::nullopt, 0, 10'999, false), 13U) << "not asked for: the field is TCP's, and 5 are assumed";
  EXPECT_EQ(sent(std::nullopt, 0, 0, true), 61U) << "never below one packet";
}

}  // namespace
}  // namespace perhop::shim
