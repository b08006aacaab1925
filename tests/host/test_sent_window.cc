// SPDX-License-Identifier: GPL-2.0-or-later

#include <gtest/gtest.h>

#include "host/core/shim/sent_window.hpp"

namespace perhop::shim {
namespace {

constexpr std::uint32_t segment_bytes = 1000;

/// A sender that begins at this sequence number, across the wrap.
struct sender {
  explicit sender(bool syn = true) {
    if (syn) window.on_syn(isn);
  }
  void send(std::uint32_t first, std::uint32_t count = 1) {
    for (std::uint32_t i = first; i < first + count; ++i) window.on_segment(isn + 1 + i * segment_bytes, segment_bytes);
  }
  void acknowledge(std::uint32_t segments) { window.on_tcp_ack(isn + 1 + segments * segment_bytes); }

  static constexpr std::uint32_t isn = UINT32_MAX - 2500;
  sent_window window;
};

TEST(sent_window, is_the_largest_flight_of_a_round) {
  sender tcp;
  EXPECT_EQ(tcp.window.window_packets(), 0U);
  tcp.send(0, 4);
  EXPECT_EQ(tcp.window.window_packets(), 4U);
  for (std::uint32_t acknowledged = 1; acknowledged <= 40; ++acknowledged) {
    tcp.acknowledge(acknowledged);
    tcp.send(3 + acknowledged);
    EXPECT_EQ(tcp.window.window_packets(), 4U) << "one TCP ACK, one segment";
  }
}

TEST(sent_window, grows_at_once_and_falls_after_the_round_in_which_it_fell) {
  sender tcp;
  tcp.send(0, 8);
  tcp.acknowledge(1);
  tcp.send(8, 2);
  EXPECT_EQ(tcp.window.window_packets(), 9U);
  tcp.acknowledge(8);  // TCP now sends by a window of 4
  tcp.send(10, 2);
  EXPECT_EQ(tcp.window.window_packets(), 9U);
  tcp.acknowledge(10);
  tcp.send(12, 2);
  tcp.acknowledge(12);
  tcp.send(14, 2);
  tcp.acknowledge(14);
  EXPECT_EQ(tcp.window.window_packets(), 4U);
}

TEST(sent_window, outlives_a_pause_of_the_sender) {
  sender tcp;
  tcp.send(0, 6);
  tcp.acknowledge(6);
  tcp.send(6);
  EXPECT_EQ(tcp.window.window_packets(), 6U) << "the first of the next burst is no window of one";
}

TEST(sent_window, counts_what_is_in_flight_with_a_segment_as_tcp_does_after_a_timeout) {
  sender tcp;
  tcp.send(0, 5);
  EXPECT_EQ(tcp.window.packets_with(tcp.isn + 1 + 4 * segment_bytes, segment_bytes), 5U);
  tcp.acknowledge(2);
  EXPECT_EQ(tcp.window.packets_with(tcp.isn + 1 + 2 * segment_bytes, segment_bytes), 1U) << "sent again";
  EXPECT_EQ(tcp.window.packets_with(tcp.isn + 1 + 5 * segment_bytes, 1), 4U);
  EXPECT_EQ(tcp.window.packets_with(tcp.isn + 1 + 5 * segment_bytes, 0), 0U);
}

TEST(sent_window, does_not_believe_a_tcp_ack_for_what_was_never_sent) {
  sender tcp;
  tcp.send(0, 3);
  for (std::uint32_t beyond = 1; beyond < 1'000'000'000; beyond = beyond * 3 + 1)
    tcp.window.on_tcp_ack(tcp.isn + 1 + 3 * segment_bytes + beyond);
  EXPECT_EQ(tcp.window.packets_with(tcp.isn + 1 + 2 * segment_bytes, segment_bytes), 3U);
}

TEST(sent_window, of_a_connection_seen_in_its_middle_waits_for_a_tcp_ack) {
  sender tcp(false);
  tcp.send(100, 4);
  EXPECT_EQ(tcp.window.window_packets(), 0U);
  tcp.acknowledge(102);
  tcp.send(104, 2);
  EXPECT_EQ(tcp.window.window_packets(), 4U);
}

TEST(sent_window, tells_what_a_tcp_ack_is_the_first_to_acknowledge) {
  sender tcp(false);
  tcp.send(0, 6);
  const auto acknowledged = [&](std::uint32_t segments) { return tcp.window.on_tcp_ack(sender::isn + 1 + segments * segment_bytes); };
  EXPECT_EQ(acknowledged(1), 0U) << "the first one seen: what it begins at is not known";
  EXPECT_EQ(acknowledged(3), 2 * segment_bytes);
  EXPECT_EQ(acknowledged(3), 0U) << "a duplicate";
  EXPECT_EQ(acknowledged(2), 0U) << "an old one";
  EXPECT_EQ(acknowledged(7), 0U) << "never sent";
  EXPECT_EQ(acknowledged(6), 3 * segment_bytes);
}

}  // namespace
}  // namespace perhop::shim
