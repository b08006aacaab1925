// SPDX-License-Identifier: GPL-2.0-or-later
//
// It is one file: timelines of one class, with the same receiver.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "host/core/policy/delayed_tcp_ack.hpp"
#include "host/core/policy/inter_arrival_filter.hpp"
#include "tests/host/allocation_count.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::policy {
namespace {

constexpr std::uint32_t segment_bytes = 1000;

/// A TCP that acknowledges every segment at once, behind the thinning. Segments are numbered from 0.
class receiver {
public:
  explicit receiver(const tcp_ack_config& config) : thinning(config) {
    thinning.on_data(0, {.sequence = UINT32_MAX, .syn = true});  // data start at sequence number 0
  }

  /// The segment arrives, and the local TCP answers. @return what becomes of the TCP ACK
  tcp_ack_verdict arrives(time_us now, std::uint32_t segment, std::uint32_t packets_in_flight = 0, std::uint32_t hops = 2,
                          bool fin = false) {
    thinning.on_data(now, {.sequence = segment * segment_bytes,
                           .payload_bytes = segment_bytes,
                           .packets_in_flight = packets_in_flight,
                           .forward_hops = hops,
                           .fin = fin});
    arrived_.insert(segment);
    while (arrived_.contains(next_)) ++next_;
    return answers(now);
  }

  tcp_ack_verdict answers(time_us now, std::uint32_t window_bytes = 65535) {
    return count(thinning.on_tcp_ack(now, {.tcp_ack = next_ * segment_bytes, .window_bytes = window_bytes}));
  }

  tcp_ack_verdict count(tcp_ack_verdict verdict) {
    if (verdict.action == tcp_ack_action::pass) {
      ++sent;
      ++by_reason[static_cast<std::size_t>(verdict.reason)];
    }
    return verdict;
  }

  std::uint64_t because(tcp_ack_reason reason) const { return by_reason[static_cast<std::size_t>(reason)]; }

  delayed_tcp_ack thinning;
  std::uint64_t sent = 0;
  std::array<std::uint64_t, tcp_ack_reason_count> by_reason{};

private:
  std::set<std::uint32_t> arrived_;
  std::uint32_t next_ = 0;
};

constexpr tcp_ack_config dca{.kind = tcp_ack_kind::dca, .tcp_ack_retransmission = false};
constexpr tcp_ack_config dca_of(std::uint32_t window_packets) {
  return {.kind = tcp_ack_kind::dca, .fixed_window_packets = window_packets, .tcp_ack_retransmission = false};
}

void expect_hold(const tcp_ack_verdict& verdict) { EXPECT_EQ(verdict.action, tcp_ack_action::hold); }
void expect_pass(const tcp_ack_verdict& verdict, tcp_ack_reason reason) {
  EXPECT_EQ(verdict.action, tcp_ack_action::pass);
  EXPECT_EQ(verdict.reason, reason);
}

// D-03: I_avg <- 0.8 I_avg + 0.2 I_s.
TEST(inter_arrival_filter, is_equation_1) {
  inter_arrival_filter filter;
  EXPECT_FALSE(filter.average_us256());
  filter.on_arrival(1000);
  EXPECT_FALSE(filter.average_us256()) << "one arrival has no interval";
  filter.on_arrival(11'000);
  EXPECT_EQ(filter.average_us256(), 10'000U << 8);
  filter.on_arrival(31'000);
  EXPECT_EQ(filter.average_us256(), 12'000U << 8);  // 0.8 * 10 + 0.2 * 20 ms
  filter.on_arrival(31'000);
  EXPECT_EQ(filter.average_us256(), 9'600U << 8);
  filter.on_arrival(36'000);
  EXPECT_EQ(filter.average_us256(), 8'680U << 8);
}

TEST(inter_arrival_filter, agrees_with_the_formula_in_floating_point) {
  std::mt19937 random(static_cast<std::uint32_t>(test_seed()));
  PERHOP_TELL_SEED();
  inter_arrival_filter filter;
  double average_us = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint32_t interval_us = random() % 100'000;
    average_us = i == 0 ? interval_us : 0.8 * average_us + 0.2 * interval_us;
    filter.on_sample(interval_us);
    ASSERT_NEAR(static_cast<double>(*filter.average_us256()) / 256, average_us, 0.02) << i;
  }
}

// D-01, as a timeline: one TCP ACK for 5 packets.
//
//   ms   0   10   20   30   40   50   60
//        1    2    3    4    5    6    7      packets
//        |    .    .    .    .    |    .      TCP ACKs (the first at once: no interval is known yet)
TEST(dca, acknowledges_every_w_packets) {
  receiver node(dca_of(5));
  expect_pass(node.arrives(0, 0, 8), tcp_ack_reason::at_once);
  for (std::uint32_t segment = 1; segment <= 4; ++segment) expect_hold(node.arrives(segment * 10'000, segment, 8));
  expect_pass(node.arrives(50'000, 5, 8), tcp_ack_reason::window);
  expect_hold(node.arrives(60'000, 6, 8));
}

TEST(dca, sends_one_tcp_ack_for_w_packets_of_a_long_transfer) {
  for (std::uint32_t window = 1; window <= 10; ++window) {
    receiver node(dca_of(window));
    constexpr std::uint32_t segments = 5000;
    for (std::uint32_t segment = 0; segment < segments; ++segment) node.arrives(segment * 10'000, segment, 20);
    EXPECT_EQ(node.sent, 1 + (segments - 1) / window) << "w = " << window;
    EXPECT_EQ(node.because(tcp_ack_reason::delay_timer), 0U);
  }
}

// D-21 through the policy: the hops of the path set w.
TEST(dca, takes_its_window_from_the_hops_of_the_path) {
  for (const auto& [hops, window] : {std::pair{2U, 20U}, {3U, 20U}, {4U, 5U}, {9U, 5U}, {10U, 3U}, {15U, 3U}, {0U, 3U}}) {
    receiver node(dca);
    for (std::uint32_t segment = 0; segment < 2; ++segment) node.arrives(segment * 5000, segment, 20, hops);
    EXPECT_EQ(node.thinning.window_packets(), window) << hops << " hops";
  }
}

TEST(dca, window_of_all_in_flight_wins_over_the_table) {
  receiver node({.kind = tcp_ack_kind::dca, .whole_window = true});
  node.arrives(0, 0, 17, 12);
  EXPECT_EQ(node.thinning.window_packets(), 17U);
}

TEST(dca, window_is_5_while_nobody_tells_what_is_in_flight) {
  receiver node(dca);
  node.arrives(0, 0, 0, 2);
  EXPECT_EQ(node.thinning.window_packets(), 5U);
  receiver longer(dca);
  longer.arrives(0, 0, 0, 12);
  EXPECT_EQ(longer.thinning.window_packets(), 3U) << "min(5, table)";
}

// A sender with a window of `window` packets and one hop between: what it may send it sends at once, a packet takes 8 ms,
// a TCP ACK 2 ms. @return its time for `segments` packets
struct stop_and_go {
  receiver node;
  std::uint64_t timer_fired = 0;

  explicit stop_and_go(const tcp_ack_config& config) : node(config) {}

  template <typename window_of>
  time_us transfer(std::uint32_t segments, window_of window, bool fin = false) {
    constexpr time_us data_us = 8000;
    constexpr time_us tcp_ack_us = 2000;
    time_us now = 0;
    std::uint32_t acknowledged = 0;
    std::uint32_t sent = 0;
    std::deque<std::uint32_t> in_flight_of;  // packets in the queue, by what was in flight when each was sent
    std::uint32_t arrived = 0;
    const auto fill = [&] {
      while (sent < segments && sent - acknowledged < window(sent)) {
        ++sent;
        in_flight_of.push_back(sent - acknowledged);
      }
    };
    fill();
    while (acknowledged < segments) {
      bool tcp_ack = false;
      if (!in_flight_of.empty()) {
        now += data_us;
        const auto verdict = node.arrives(now, arrived, in_flight_of.front(), 1, fin && arrived + 1 == segments);
        in_flight_of.pop_front();
        ++arrived;
        tcp_ack = verdict.action == tcp_ack_action::pass;
      } else {
        const auto deadline = node.thinning.deadline();
        if (!deadline) return 0;  // nobody will ever do anything again
        now = std::max(now, *deadline);
        const auto release = node.thinning.on_deadline(now);
        tcp_ack = release.release == tcp_ack_release::send_held;
        ++timer_fired;
      }
      if (tcp_ack) {
        now += tcp_ack_us;
        acknowledged = arrived;
        fill();
      }
    }
    return now;
  }
};

// The trap of facts: w = 3 while one packet may be in flight would wait for packets that nobody may send.
TEST(dca, never_waits_for_more_than_the_sender_may_send) {
  for (std::uint32_t window = 1; window <= 8; ++window) {
    for (const std::uint32_t w : {1U, 3U, 5U, 20U}) {
      stop_and_go path(dca_of(w));
      const time_us took_us = path.transfer(1000, [window](std::uint32_t) { return window; });
      EXPECT_LE(took_us, 1000 * 8000 + 1002 * 2000U / std::min(window, w) + 100'000U) << "window " << window << ", w " << w;
      EXPECT_LE(path.timer_fired, 1U) << "window " << window << ", w " << w;
    }
  }
}

TEST(dca, whole_window_acknowledges_once_a_window) {
  stop_and_go path({.kind = tcp_ack_kind::dca, .whole_window = true, .tcp_ack_retransmission = false});
  path.transfer(1000, [](std::uint32_t) { return 10U; });
  EXPECT_LE(path.node.sent, 104U);
  EXPECT_LE(path.timer_fired, 1U) << "the end of the transfer";
}

// The window falls without a loss (a congestion window limit after a re-route): the run in which it falls waits in vain,
// and the next one if the fall came in its middle.
TEST(dca, a_window_that_fell_costs_two_waits_at_most) {
  for (std::uint32_t before = 2; before <= 20; ++before) {
    for (std::uint32_t after = 1; after < before; ++after) {
      stop_and_go path({.kind = tcp_ack_kind::dca, .whole_window = true, .tcp_ack_retransmission = false});
      path.transfer(500, [&](std::uint32_t sent) { return sent < 250 ? before : after; });
      EXPECT_LE(path.timer_fired, 3U) << before << " to " << after << " (one of them is the end of the transfer)";
    }
  }
}

TEST(dca, after_a_wait_in_vain_no_more_is_expected_than_came) {
  receiver node(dca_of(5));
  for (std::uint32_t segment = 0; segment < 9; ++segment) node.arrives(segment * 10'000, segment, 8);
  ASSERT_TRUE(node.thinning.holds());
  EXPECT_EQ(node.thinning.window_packets(), 5U);
  node.thinning.on_deadline(*node.thinning.deadline());  // 3 of 5 had come
  EXPECT_EQ(node.thinning.window_packets(), 3U);
  node.arrives(200'000, 9, 8);
  EXPECT_EQ(node.thinning.window_packets(), 5U) << "more is in flight after all";
}

TEST(dca, end_of_a_transfer_waits_for_the_timer_at_most_and_not_at_all_for_a_fin) {
  for (std::uint32_t segments = 1; segments < 60; ++segments) {
    stop_and_go open(dca_of(5));
    const time_us open_us = open.transfer(segments, [](std::uint32_t) { return 7U; });
    ASSERT_NE(open_us, 0U) << segments;
    EXPECT_LE(open.timer_fired, 1U) << segments;
    stop_and_go closed(dca_of(5));
    const time_us closed_us = closed.transfer(segments, [](std::uint32_t) { return 7U; }, true);
    ASSERT_NE(closed_us, 0U) << segments;
    EXPECT_EQ(closed.timer_fired, 0U) << segments;
    EXPECT_LE(closed_us, open_us) << segments;
  }
}

// D-02: a TCP ACK for each packet out of order, and for every one that fills a gap.
//
//   packets   1 2 3 . 5 6 7 4 8 9 10
//   TCP ACKs  | . . . | | | | . . |     w = 3
TEST(dca, disorder_and_filled_gaps_are_told_at_once) {
  receiver node(dca_of(3));
  node.arrives(0, 0, 9);
  expect_hold(node.arrives(10'000, 1, 9));
  expect_hold(node.arrives(20'000, 2, 9));
  for (std::uint32_t segment = 4; segment <= 6; ++segment)
    expect_pass(node.arrives(segment * 10'000, segment, 9), tcp_ack_reason::disorder);
  expect_pass(node.arrives(70'000, 3, 9), tcp_ack_reason::disorder);
  expect_hold(node.arrives(80'000, 7, 9));
  expect_hold(node.arrives(90'000, 8, 9));
  expect_pass(node.arrives(100'000, 9, 9), tcp_ack_reason::window);
}

TEST(dca, every_packet_is_told_until_the_last_of_several_gaps_is_filled) {
  receiver node(dca_of(3));
  for (std::uint32_t segment = 0; segment < 4; ++segment) node.arrives(segment * 1000, segment, 9);
  for (const std::uint32_t segment : {5U, 7U, 9U, 4U, 6U, 8U}) {
    expect_pass(node.arrives(10'000 + segment, segment, 9), tcp_ack_reason::disorder);
  }
  expect_hold(node.arrives(20'000, 10, 9));
}

TEST(dca, a_gap_that_is_still_open_is_told_even_when_tcp_acks_cross_the_data) {
  receiver node(dca_of(9));
  for (const std::uint32_t segment : {0U, 1U, 2U, 4U, 6U, 8U}) node.arrives(segment * 1000, segment, 9);
  for (const std::uint32_t segment : {3U, 5U})
    node.thinning.on_data(9000, {.sequence = segment * 1000, .payload_bytes = 1000, .packets_in_flight = 9});
  expect_pass(node.thinning.on_tcp_ack(9000, {.tcp_ack = 5000, .window_bytes = 65535}), tcp_ack_reason::disorder);
  expect_pass(node.thinning.on_tcp_ack(9000, {.tcp_ack = 7000, .window_bytes = 65535}), tcp_ack_reason::disorder);
}

TEST(dca, a_window_halved_by_a_loss_counts_at_once) {
  receiver node(dca_of(5));
  for (std::uint32_t segment = 0; segment < 4; ++segment) node.arrives(segment * 10'000, segment, 8);
  node.arrives(50'000, 5, 8);
  node.arrives(90'000, 4, 2);  // sent again by a sender that has two packets in flight
  EXPECT_EQ(node.thinning.window_packets(), 2U);
}

TEST(dca, a_packet_that_comes_twice_is_told_at_once) {
  receiver node(dca_of(5));
  for (std::uint32_t segment = 0; segment < 3; ++segment) node.arrives(segment * 1000, segment, 9);
  expect_pass(node.arrives(4000, 1, 9), tcp_ack_reason::disorder);
}

TEST(dca, what_is_not_a_bare_tcp_ack_in_order_passes) {
  const auto passes = [](const tcp_ack_departure& departure, tcp_ack_reason reason) {
    receiver node(dca_of(5));
    node.arrives(0, 0, 9);
    node.thinning.on_data(10'000, {.sequence = 1000, .payload_bytes = 1000, .packets_in_flight = 9});
    expect_pass(node.thinning.on_tcp_ack(10'000, departure), reason);
    EXPECT_FALSE(node.thinning.holds());
  };
  passes({.tcp_ack = 2000, .window_bytes = 65535, .bare = false}, tcp_ack_reason::at_once);
  passes({.tcp_ack = 2000, .window_bytes = 65535, .sack_blocks = true}, tcp_ack_reason::disorder);
  passes({.tcp_ack = 1000, .window_bytes = 65535}, tcp_ack_reason::at_once);
  passes({.tcp_ack = 2000, .window_bytes = 0}, tcp_ack_reason::at_once);
}

TEST(dca, window_updates_pass) {
  receiver node(dca_of(5));
  for (std::uint32_t segment = 0; segment < 3; ++segment) node.arrives(segment * 1000, segment, 9);
  expect_pass(node.answers(5000, 32768), tcp_ack_reason::at_once);
  node.thinning.on_data(6000, {.sequence = 3000, .payload_bytes = 1000, .packets_in_flight = 9});
  expect_pass(node.thinning.on_tcp_ack(6000, {.tcp_ack = 4000, .window_bytes = 0}), tcp_ack_reason::at_once);
  node.thinning.on_data(7000, {.sequence = 4000, .payload_bytes = 1000, .packets_in_flight = 9});
  expect_pass(node.thinning.on_tcp_ack(7000, {.tcp_ack = 5000, .window_bytes = 65535}), tcp_ack_reason::at_once);
  node.thinning.on_data(8000, {.sequence = 5000, .payload_bytes = 1000, .packets_in_flight = 9});
  expect_hold(node.thinning.on_tcp_ack(8000, {.tcp_ack = 6000, .window_bytes = 65535}));
}

TEST(dca, tcp_ack_of_a_handshake_passes) {
  delayed_tcp_ack client(dca_of(5));
  client.on_data(0, {.sequence = 99, .syn = true});
  expect_pass(client.on_tcp_ack(1, {.tcp_ack = 100, .window_bytes = 65535}), tcp_ack_reason::at_once);
}

// D-04: T_w = 1.5 * w * I_avg from the oldest packet not acknowledged.
TEST(dca, timer_is_equation_2) {
  receiver node(dca_of(5));
  for (std::uint32_t segment = 0; segment <= 5; ++segment) node.arrives(segment * 10'000, segment, 9);  // the last fills w
  EXPECT_FALSE(node.thinning.deadline());
  node.arrives(60'000, 6, 9);
  EXPECT_EQ(node.thinning.deadline(), 60'000U + 75'000U);
  node.arrives(70'000, 7, 9);
  EXPECT_EQ(node.thinning.deadline(), 60'000U + 75'000U) << "counts from the oldest packet";
  EXPECT_EQ(node.thinning.on_deadline(134'999).release, tcp_ack_release::nothing);
  const tcp_ack_release_verdict fired = node.thinning.on_deadline(135'000);
  EXPECT_EQ(fired.release, tcp_ack_release::send_held);
  EXPECT_EQ(fired.reason, tcp_ack_reason::delay_timer);
  EXPECT_FALSE(node.thinning.deadline());
  EXPECT_EQ(node.thinning.on_deadline(200'000).release, tcp_ack_release::nothing) << "once";
  node.arrives(140'000, 8, 9);
  EXPECT_TRUE(node.thinning.holds());
  EXPECT_EQ(node.thinning.deadline(), 140'000U + 165'000U);  // 1.5 * 5 * (0.8 * 10 + 0.2 * 70) ms
}

TEST(dca, no_tcp_ack_waits_longer_than_500_ms) {
  receiver node(dca_of(5));
  node.arrives(0, 0, 9);
  node.arrives(400'000, 1, 9);  // I_avg = 400 ms, T_w = 3 s
  EXPECT_EQ(node.thinning.deadline(), 900'000U);
  node.arrives(800'000, 2, 9);
  EXPECT_EQ(node.thinning.deadline(), 900'000U);
  EXPECT_EQ(node.thinning.on_deadline(900'000).reason, tcp_ack_reason::hard_limit);
  node.arrives(1'000'000, 3, 9);
  EXPECT_EQ(node.thinning.deadline(), 1'500'000U) << "of the oldest packet that is not acknowledged";
}

// D-04: with the arrivals of a channel, the timer is a fallback.
TEST(dca, less_than_1_percent_of_the_tcp_acks_of_a_steady_flow_come_from_the_timer) {
  std::mt19937 random(static_cast<std::uint32_t>(test_seed()));
  PERHOP_TELL_SEED();
  for (const std::uint32_t window : {2U, 3U, 5U, 10U}) {
    receiver node(dca_of(window));
    std::exponential_distribution<double> gap_us(1.0 / 12'000);
    time_us now = 0;
    std::uint64_t fired = 0;
    for (std::uint32_t segment = 0; segment < 50'000; ++segment) {
      // Never faster than the air carries a packet: 5 ms, and 12 ms more by chance.
      now += 5000 + static_cast<time_us>(std::min(gap_us(random), 40'000.0) / 4);
      if (const auto deadline = node.thinning.deadline(); deadline && *deadline < now) {
        fired += node.thinning.on_deadline(*deadline).release == tcp_ack_release::send_held ? 1 : 0;
      }
      node.arrives(now, segment, 20);
    }
    EXPECT_LT(static_cast<double>(fired), 0.01 * static_cast<double>(node.sent + fired)) << "w = " << window;
  }
}

TEST(dca, timer_costs_nothing_when_a_tcp_ack_crossed_it) {
  receiver node(dca_of(3));
  for (std::uint32_t segment = 0; segment < 3; ++segment) node.arrives(segment * 10'000, segment, 9);
  ASSERT_TRUE(node.thinning.deadline());
  node.arrives(30'000, 3, 9);
  EXPECT_FALSE(node.thinning.deadline()) << "w was reached first";
}

// Data that arrived after the local TCP had decided is still waited for.
TEST(dca, a_tcp_ack_that_crossed_data_leaves_that_data_pending) {
  receiver node(dca_of(2));
  node.arrives(0, 0, 9);
  node.thinning.on_data(10'000, {.sequence = 1000, .payload_bytes = 1000, .packets_in_flight = 9});
  node.thinning.on_data(10'010, {.sequence = 2000, .payload_bytes = 1000, .packets_in_flight = 9});
  expect_pass(node.thinning.on_tcp_ack(10'020, {.tcp_ack = 2000, .window_bytes = 65535}), tcp_ack_reason::window);
  expect_hold(node.thinning.on_tcp_ack(10'030, {.tcp_ack = 3000, .window_bytes = 65535}));
  node.thinning.on_data(20'000, {.sequence = 3000, .payload_bytes = 1000, .packets_in_flight = 9});
  expect_pass(node.thinning.on_tcp_ack(20'000, {.tcp_ack = 4000, .window_bytes = 65535}), tcp_ack_reason::window);
}

TEST(dca, sequence_numbers_may_wrap) {
  delayed_tcp_ack node(dca_of(3));
  std::uint32_t sequence = UINT32_MAX - 4500;
  node.on_data(0, {.sequence = sequence - 1, .syn = true});
  std::uint32_t passed = 0;
  for (int i = 0; i < 31; ++i) {
    node.on_data(i * 1000, {.sequence = sequence, .payload_bytes = 1000, .packets_in_flight = 9, .forward_hops = 5});
    sequence += 1000;
    passed += node.on_tcp_ack(i * 1000, {.tcp_ack = sequence, .window_bytes = 65535}).action == tcp_ack_action::pass ? 1 : 0;
  }
  EXPECT_EQ(passed, 11U);  // the first, and one for each 3 of the other 30
}

// D-22 in place: started when a TCP ACK is sent, cancelled by data, and it repeats what was sent.
TEST(dca, repeats_a_tcp_ack_that_nobody_answers) {
  receiver node({.kind = tcp_ack_kind::dca, .fixed_window_packets = 2});
  node.arrives(0, 0, 9);
  EXPECT_EQ(node.thinning.deadline(), 1'000'000U);
  node.arrives(10'000, 1, 9);
  EXPECT_EQ(node.thinning.deadline(), 10'000U + 30'000U) << "data arrived: the delay timer runs in its place";
  node.arrives(20'000, 2, 9);
  EXPECT_EQ(node.thinning.deadline(), 1'020'000U);
  EXPECT_EQ(node.thinning.on_deadline(1'020'000).release, tcp_ack_release::send_again);
  EXPECT_EQ(node.thinning.deadline(), 3'020'000U);
  node.thinning.on_data(1'500'000, {.sequence = 3000, .payload_bytes = segment_bytes, .packets_in_flight = 9});
  EXPECT_FALSE(node.thinning.deadline()) << "data arrived: the local TCP is about to answer";
}

TEST(dca, repeats_nothing_when_told_not_to_or_after_a_fin) {
  receiver off(dca_of(1));
  off.arrives(0, 0, 9);
  EXPECT_FALSE(off.thinning.deadline());
  receiver closed({.kind = tcp_ack_kind::dca});
  closed.arrives(0, 0, 9, 2, true);
  EXPECT_FALSE(closed.thinning.deadline());
}

TEST(dca, the_first_packet_whose_sender_had_the_tcp_ack_tells_the_round_trip) {
  receiver node({.kind = tcp_ack_kind::dca, .rule = dca_window_rule::delay});
  node.arrives(0, 0, 4);       // its TCP ACK is timed: 1 segment
  node.arrives(10'000, 1, 4);  // 4 in flight before its end, segment 2: sent before the TCP ACK arrived
  EXPECT_EQ(node.thinning.window_packets(), 4U) << "the delay is unknown: min(5, 4 in flight)";
  node.arrives(90'000, 4, 4);  // behind segment 5 there are 4 in flight: segment 1 was acknowledged
  node.arrives(90'001, 5, 20);
  EXPECT_EQ(node.thinning.window_packets(), 5U) << "90 ms";
}

TEST(dca, a_packet_that_was_on_its_way_does_not_answer_a_duplicate_tcp_ack) {
  receiver node({.kind = tcp_ack_kind::dca, .rule = dca_window_rule::delay});
  node.arrives(0, 0, 1);
  node.arrives(90'000, 1, 1);
  node.arrives(180'000, 2, 1);
  node.arrives(270'000, 4, 2);  // segment 3 is missing: the TCP ACK for 2 once more
  node.arrives(271'000, 5, 3);  // sent before that came, by a sender that had the first one
  node.arrives(272'000, 6, 20);
  EXPECT_EQ(node.thinning.window_packets(), 5U) << "90 ms, not 1";
}

TEST(dca, timestamps_tell_the_round_trip) {
  delayed_tcp_ack node({.kind = tcp_ack_kind::dca, .rule = dca_window_rule::delay});
  node.on_data(0, {.sequence = 0, .payload_bytes = 1000, .packets_in_flight = 20, .timestamp_echo = 1});
  node.on_tcp_ack(0, {.tcp_ack = 1000, .window_bytes = 65535, .timestamp_value = 77});
  node.on_data(20'000, {.sequence = 1000, .payload_bytes = 1000, .packets_in_flight = 20, .timestamp_echo = 76});
  EXPECT_EQ(node.window_packets(), 5U) << "an older timestamp answers nothing";
  node.on_data(30'000, {.sequence = 2000, .payload_bytes = 1000, .packets_in_flight = 20, .timestamp_echo = 77});
  EXPECT_EQ(node.window_packets(), 20U) << "30 ms";
}

TEST(dca, two_way_data_tell_the_round_trip) {
  delayed_tcp_ack node({.kind = tcp_ack_kind::dca, .rule = dca_window_rule::delay});
  node.on_data(0, {.sequence = 0, .payload_bytes = 1000, .packets_in_flight = 20, .min_rtt_us = 79'000});
  EXPECT_EQ(node.window_packets(), 20U);
}

// D-23 as TCP-DAA's own papers have it: from 1 packet by 0.3 for each in order to 4, so packets 1 + 0.3 n >= 2, 3, 4 from n = 4, 7, 10 on.
TEST(daa, window_begins_at_1_and_grows_by_a_part_of_a_packet_to_4) {
  receiver node({.kind = tcp_ack_kind::daa});
  EXPECT_EQ(node.thinning.window_packets(), 1U);
  std::vector<std::uint32_t> told;
  for (std::uint32_t segment = 0; segment < 24; ++segment) {
    if (node.arrives(segment * 10'000, segment).action == tcp_ack_action::pass) told.push_back(segment);
  }
  EXPECT_EQ(told, (std::vector<std::uint32_t>{0, 1, 2, 4, 7, 11, 15, 19, 23}));
  EXPECT_EQ(node.because(tcp_ack_reason::window), 8U);
  EXPECT_EQ(node.thinning.window_packets(), 4U);
}

/// A receiver whose window is 4 and that waits for nothing: packets 0 to 11 have come, one every 10 ms.
receiver grown_daa() {
  receiver node({.kind = tcp_ack_kind::daa});
  for (std::uint32_t segment = 0; segment < 12; ++segment) node.arrives(segment * 10'000, segment);
  return node;
}

TEST(daa, disorder_takes_the_window_to_2_and_it_grows_by_whole_packets) {
  receiver node = grown_daa();
  expect_pass(node.arrives(130'000, 13), tcp_ack_reason::disorder);
  EXPECT_EQ(node.thinning.window_packets(), 2U);
  expect_pass(node.arrives(140'000, 12), tcp_ack_reason::disorder);
  EXPECT_EQ(node.thinning.window_packets(), 2U);
  expect_hold(node.arrives(150'000, 14));
  EXPECT_EQ(node.thinning.window_packets(), 3U);
  expect_hold(node.arrives(160'000, 15));
  EXPECT_EQ(node.thinning.window_packets(), 4U);
  expect_hold(node.arrives(170'000, 16));
  expect_pass(node.arrives(180'000, 17), tcp_ack_reason::window);
}

// A packet out of order does not end the beginning.
TEST(daa, a_loss_before_the_window_was_4_leaves_its_growth_slow) {
  receiver node({.kind = tcp_ack_kind::daa});
  for (std::uint32_t segment = 0; segment < 9; ++segment) node.arrives(segment * 10'000, segment);
  node.arrives(90'000, 10);  // would have been the tenth in order
  node.arrives(100'000, 9);
  ASSERT_EQ(node.thinning.window_packets(), 2U);
  for (std::uint32_t segment = 11; segment < 14; ++segment) {
    node.arrives(segment * 10'000, segment);
    EXPECT_EQ(node.thinning.window_packets(), 2U) << "2.3, 2.6, 2.9";
  }
  node.arrives(140'000, 14);
  EXPECT_EQ(node.thinning.window_packets(), 3U);
}

TEST(daa, timer_is_two_and_a_half_inter_arrival_times_after_the_last_packet) {
  receiver node = grown_daa();
  EXPECT_FALSE(node.thinning.deadline());
  expect_hold(node.arrives(120'000, 12));
  EXPECT_EQ(node.thinning.deadline(), 145'000U);
  expect_hold(node.arrives(125'000, 13));
  EXPECT_EQ(node.thinning.deadline(), 125'000U + 22'500U);  // 2.5 * (0.8 * 10 + 0.2 * 5) ms
  const tcp_ack_release_verdict fired = node.thinning.on_deadline(147'500);
  EXPECT_EQ(fired.release, tcp_ack_release::send_held);
  EXPECT_EQ(fired.reason, tcp_ack_reason::delay_timer);
  EXPECT_EQ(node.thinning.last_reason(), tcp_ack_reason::delay_timer);
  EXPECT_EQ(node.thinning.window_packets(), 2U) << "what is late may be lost";
  EXPECT_FALSE(node.thinning.deadline()) << "TCP-DAA repeats no TCP ACK";
}

TEST(daa, average_is_over_times_between_packets_in_order) {
  receiver node = grown_daa();
  node.arrives(200'000, 13);  // 12 is missing
  node.arrives(300'000, 12);  // fills the gap
  expect_hold(node.arrives(400'000, 14));
  EXPECT_EQ(node.thinning.deadline(), 425'000U) << "none of the three times was one between two packets in order";
  expect_hold(node.arrives(420'000, 15));
  EXPECT_EQ(node.thinning.deadline(), 420'000U + 30'000U);  // 2.5 * (0.8 * 10 + 0.2 * 20) ms
}

TEST(daa, no_average_waits_longer_than_the_hard_limit) {
  receiver node = grown_daa();
  const time_us late = time_us{UINT32_MAX} * 4;
  expect_hold(node.arrives(late, 12));
  EXPECT_EQ(node.thinning.deadline(), late + delayed_tcp_ack::hard_limit_us);
  EXPECT_EQ(node.thinning.on_deadline(late + delayed_tcp_ack::hard_limit_us).reason, tcp_ack_reason::hard_limit);
}

// D-23 as paper 001 has it: the window grows from 2 to 4 without loss and falls to 2 when a packet is out of order; no TCP ACK waits
// longer than one inter-arrival time after the last packet.
constexpr tcp_ack_config daa_as_in_001{.kind = tcp_ack_kind::daa, .profile = daa_profile::as_in_001};

TEST(daa_as_in_001, window_grows_to_4_without_loss_and_falls_to_2) {
  receiver node(daa_as_in_001);
  std::vector<std::uint32_t> told;
  for (std::uint32_t segment = 0; segment < 20; ++segment) {
    if (node.arrives(segment * 10'000, segment).action == tcp_ack_action::pass) told.push_back(segment);
  }
  EXPECT_EQ(told, (std::vector<std::uint32_t>{0, 3, 7, 11, 15, 19}));
  EXPECT_EQ(node.thinning.window_packets(), 4U);
  expect_pass(node.arrives(210'000, 21), tcp_ack_reason::disorder);
  EXPECT_EQ(node.thinning.window_packets(), 2U);
  expect_pass(node.arrives(220'000, 20), tcp_ack_reason::disorder);
  EXPECT_EQ(node.thinning.window_packets(), 2U);
  expect_hold(node.arrives(230'000, 22));
  expect_pass(node.arrives(240'000, 23), tcp_ack_reason::window);
  EXPECT_EQ(node.thinning.window_packets(), 3U);
}

TEST(daa_as_in_001, timer_is_one_inter_arrival_time_after_the_last_packet) {
  receiver node(daa_as_in_001);
  for (std::uint32_t segment = 0; segment <= 4; ++segment) node.arrives(segment * 10'000, segment);
  ASSERT_TRUE(node.thinning.holds());
  EXPECT_EQ(node.thinning.deadline(), 50'000U);
  node.arrives(45'000, 5);
  EXPECT_EQ(node.thinning.deadline(), 45'000U + 9000U);  // 0.8 * 10 + 0.2 * 5 ms
  EXPECT_EQ(node.thinning.on_deadline(54'000).release, tcp_ack_release::send_held);
  EXPECT_FALSE(node.thinning.deadline()) << "TCP-DAA repeats no TCP ACK";
}

TEST(daa, sender_constants_are_those_of_table_2) {
  EXPECT_EQ(tcp_daa_sender::duplicate_tcp_ack_threshold, 2U);
  EXPECT_EQ(tcp_daa_sender::congestion_window_limit_packets, 4U);
  EXPECT_EQ(tcp_daa_sender::retransmission_timeout_factor, 5U);
}

TEST(no_thinning, passes_everything_and_waits_for_nothing) {
  receiver node({});
  for (std::uint32_t segment = 0; segment < 10; ++segment) {
    EXPECT_EQ(node.arrives(segment * 1000, segment, 9).action, tcp_ack_action::pass);
    EXPECT_FALSE(node.thinning.deadline());
  }
  EXPECT_EQ(node.thinning.window_packets(), 1U);
}

TEST(packets_per_tcp_ack, is_what_the_receiver_will_do) {
  EXPECT_EQ(packets_per_tcp_ack({}, 5, 0, 9), 1U);
  EXPECT_EQ(packets_per_tcp_ack(dca, 2, 0, 9), 9U);
  EXPECT_EQ(packets_per_tcp_ack(dca, 5, 0, 9), 5U);
  EXPECT_EQ(packets_per_tcp_ack(dca, 5, 0, 2), 2U);
  EXPECT_EQ(packets_per_tcp_ack(dca, 12, 0, 0), 3U);
  EXPECT_EQ(packets_per_tcp_ack(dca_of(7), 12, 0, 9), 7U);
  EXPECT_EQ(packets_per_tcp_ack({.kind = tcp_ack_kind::daa}, 12, 0, 9), 4U);
  EXPECT_EQ(packets_per_tcp_ack(daa_as_in_001, 12, 0, 9), 4U);
}

// Whatever arrives in whatever order: a held TCP ACK has a deadline within 500 ms of the oldest data that it is the first
// to tell of, deadlines end, the window stays within 1 and 255, nothing is allocated.
TEST(thinning_invariants, hold_for_random_arrivals) {
  std::mt19937_64 random(test_seed());
  PERHOP_TELL_SEED();
  const std::array<tcp_ack_config, 7> configs{{{.kind = tcp_ack_kind::dca},
                                               {.kind = tcp_ack_kind::dca, .rule = dca_window_rule::delay},
                                               {.kind = tcp_ack_kind::dca, .rule = dca_window_rule::hop_and_delay},
                                               {.kind = tcp_ack_kind::dca, .fixed_window_packets = UINT32_MAX},
                                               {.kind = tcp_ack_kind::dca, .whole_window = true},
                                               {.kind = tcp_ack_kind::daa},
                                               daa_as_in_001}};
  const std::uint64_t allocated = allocation_count();
  std::uint64_t held = 0;
  std::uint64_t fired = 0;
  for (int run = 0; run < 600; ++run) {
    delayed_tcp_ack node(configs[static_cast<std::size_t>(run) % configs.size()]);
    time_us now = random() % 1000;
    std::uint32_t next = static_cast<std::uint32_t>(random());
    constexpr time_us none = UINT64_MAX;
    time_us oldest = none;  // of data that no TCP ACK has told of
    for (int step = 0; step < 500; ++step) {
      now += random() % 4 == 0 ? random() % 300'000 : random() % 3000;
      while (const auto deadline = node.deadline()) {
        if (*deadline > now) break;
        const tcp_ack_release release = node.on_deadline(*deadline).release;
        ASSERT_NE(release, tcp_ack_release::nothing) << "a deadline that does nothing would fire for ever";
        if (release == tcp_ack_release::send_held) oldest = none;
        ++fired;
      }
      ASSERT_FALSE(node.holds() && oldest != none && now >= oldest + delayed_tcp_ack::hard_limit_us);
      const std::uint32_t payload_bytes = 1 + random() % 1500;
      const bool wild = random() % 50 == 0;
      const std::uint32_t sequence = wild ? static_cast<std::uint32_t>(random()) : random() % 10 == 0 ? next + 1000 : next;
      node.on_data(now, {.sequence = sequence,
                         .payload_bytes = random() % 40 == 0 ? 0 : payload_bytes,
                         .packets_in_flight = static_cast<std::uint32_t>(random() % 3 == 0 ? random() % 256 : random() % 6),
                         .forward_hops = static_cast<std::uint32_t>(random() % 20),
                         .min_rtt_us = static_cast<std::uint32_t>(random() % 5 == 0 ? random() : 0),
                         .syn = random() % 200 == 0,
                         .fin = random() % 400 == 0,
                         .timestamp_echo = random() % 2 == 0 ? std::optional(static_cast<std::uint32_t>(random())) : std::nullopt});
      if (oldest == none) oldest = now;
      if (sequence == next) next += payload_bytes;
      ASSERT_GE(node.window_packets(), 1U);
      ASSERT_LE(node.window_packets(), 255U);
      if (random() % 8 == 0) continue;  // the local TCP says nothing
      const auto verdict = node.on_tcp_ack(now, {.tcp_ack = next,
                                                 .window_bytes = static_cast<std::uint32_t>(random() % 30 == 0 ? 0 : 65535),
                                                 .bare = random() % 20 != 0,
                                                 .sack_blocks = random() % 40 == 0});
      if (verdict.action == tcp_ack_action::pass) {
        oldest = none;
      } else {
        ++held;
        ASSERT_TRUE(node.deadline());
        ASSERT_LE(*node.deadline(), now + delayed_tcp_ack::hard_limit_us);
      }
    }
    for (int last = 0; node.deadline(); ++last) {
      ASSERT_LT(last, 8) << "a flow that ended must fall silent";
      node.on_deadline(*node.deadline());
    }
  }
  EXPECT_EQ(allocation_count(), allocated);
  EXPECT_GT(held, 10'000U);
  EXPECT_GT(fired, 1000U);
}

}  // namespace
}  // namespace perhop::policy
