// SPDX-License-Identifier: GPL-2.0-or-later

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "host/core/wire/exact_header.hpp"
#include "host/core/wire/hello.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::wire {
namespace {

hello two_nodes() {
  hello message;
  message.nodes.push_back({.node = 7,
                           .sequence = 3,
                           .busy = 0.25,
                           .position = node_position{-5, 300},
                           .neighbours = {8, 9},
                           .flows = {{.next = 1, .flow = 0xabcdef01, .cost_s_per_bit = 512e-9, .rate_limit_bps = 2000, .weight = 2}}});
  message.nodes.push_back({.node = 8, .hops = 1, .sequence = 65535, .neighbours = {7}});
  return message;
}

TEST(exact_header_codec, survives_the_round_trip) {
  for (const exact_header& header : {exact_header{}, exact_header{.sequence = 0xfedcba98, .last = true}}) {
    EXPECT_EQ(decode_exact_header(encode(header)), header);
  }
  const exact_report report{.silent_router_seen = true,
                            .hops = 3,
                            .explicit_rate_bps = 1953 << 10,
                            .current_rate_bps = 2000,
                            .total_delay_us = 4800,
                            .max_delay_us = 1600,
                            .held_us = 160,
                            .highest_sequence = 100,
                            .received_packets = 90,
                            .arrived_bitmap = 0x80000001};
  EXPECT_EQ(decode_exact_report(encode(report)), report);
}

TEST(exact_header_codec, refuses_other_kinds_reserved_flags_and_short_bytes) {
  const exact_header_buffer data = encode(exact_header{.sequence = 1});
  const exact_report_buffer report = encode(exact_report{});
  EXPECT_FALSE(decode_exact_report(data));
  EXPECT_FALSE(decode_exact_header(report));
  EXPECT_FALSE(decode_exact_header(std::span(data).first(data.size() - 1)));
  EXPECT_FALSE(decode_exact_report(std::span(report).first(report.size() - 1)));
  exact_header_buffer flagged = data;
  flagged[0] |= 0x2;
  EXPECT_FALSE(decode_exact_header(flagged));
}

TEST(exact_header_codec, refuses_delays_that_contradict_the_hops) {
  EXPECT_FALSE(decode_exact_report(encode(exact_report{.hops = 0, .total_delay_us = 160, .max_delay_us = 160})));
  EXPECT_FALSE(decode_exact_report(encode(exact_report{.hops = 2, .total_delay_us = 160, .max_delay_us = 320})));
  EXPECT_FALSE(decode_exact_report(encode(exact_report{.hops = 2, .total_delay_us = 480, .max_delay_us = 160})));
}

TEST(hello_codec, survives_the_round_trip) {
  const hello sent = two_nodes();
  const auto arrived = decode_hello(encode(sent));
  ASSERT_TRUE(arrived);
  EXPECT_EQ(*arrived, sent);
}

TEST(hello_codec, every_shorter_and_longer_message_is_refused) {
  std::vector<std::uint8_t> bytes = encode(two_nodes());
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_hello(std::span(bytes).first(size))) << size;
  bytes.push_back(0);
  EXPECT_FALSE(decode_hello(bytes));
}

TEST(hello_codec, a_flow_to_a_neighbour_that_is_not_listed_is_refused) {
  hello message = two_nodes();
  std::vector<std::uint8_t> bytes = encode(message);
  const std::size_t next = exact_hello::size_bytes + exact_hello_node::size_bytes + 2 * exact_hello_neighbour::size_bytes;
  ASSERT_EQ(bytes[next], 1);
  bytes[next] = 2;
  EXPECT_FALSE(decode_hello(bytes));
}

TEST(hello_codec, what_does_not_fit_is_left_out_and_counted) {
  hello message = two_nodes();
  for (std::uint32_t flow = 0; flow < 300; ++flow) message.nodes[0].flows.push_back({.next = 0, .flow = flow, .cost_s_per_bit = 1e-6});
  std::size_t left_out = 0;
  const std::vector<std::uint8_t> bytes = encode(message, &left_out);
  EXPECT_LE(bytes.size(), max_hello_bytes);
  EXPECT_GT(left_out, 100U);
  ASSERT_TRUE(decode_hello(bytes));
}

TEST(hello_codec, random_bytes_are_read_or_refused) {
  PERHOP_TELL_SEED();
  std::mt19937_64 random(test_seed());
  const std::vector<std::uint8_t> good = encode(two_nodes());
  std::size_t read = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::vector<std::uint8_t> bytes = good;
    for (std::uint64_t change = random() % 4; change > 0; --change) bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    if (const auto message = decode_hello(bytes)) {
      ++read;
      for (const hello_node& node : message->nodes) {
        for (const hello_flow& flow : node.flows) ASSERT_LT(flow.next, node.neighbours.size());
      }
    }
  }
  EXPECT_GT(read, 1000U);
}

TEST(rates_rounded_down, are_the_largest_that_is_not_above) {
  PERHOP_TELL_SEED();
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t rate_bps = random() >> (21 + random() % 40);
    const std::uint64_t down_bps = quantise_rate_down_bps(rate_bps);
    ASSERT_LE(down_bps, rate_bps);
    ASSERT_EQ(quantise_rate_bps(down_bps), down_bps);
    const std::uint64_t near_bps = quantise_rate_bps(rate_bps);
    if (near_bps <= rate_bps) {
      ASSERT_EQ(down_bps, near_bps);
    } else {
      // Nothing that the header can carry lies between.
      ASSERT_EQ(quantise_rate_down_bps(near_bps - 1), down_bps);
    }
  }
}

}  // namespace
}  // namespace perhop::wire
