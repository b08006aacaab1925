// SPDX-License-Identifier: GPL-2.0-or-later
//
// EXACT's sender and receiver, DIID and TFRC, packet by packet.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <utility>

#include "host/core/policy/delayed_increase.hpp"
#include "host/core/policy/exact_receiver.hpp"
#include "host/core/policy/exact_sender.hpp"
#include "host/core/policy/tfrc_equation.hpp"
#include "host/core/policy/tfrc_loss_intervals.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::policy {
namespace {

wire::path_header path_of(std::uint64_t rate_bps, std::uint8_t hops = 3) {
  return {.hops = hops, .total_delay_us = hops * 8000U, .max_delay_us = 8000, .explicit_rate_bps = rate_bps, .current_rate_bps = rate_bps};
}

TEST(exact_receiver, tells_at_once_when_the_rate_falls_or_the_path_changes) {
  exact_receiver receiver;
  EXPECT_TRUE(receiver.on_data(0, path_of(100'000), {.sequence = 0}));
  receiver.take_report(0);
  EXPECT_FALSE(receiver.on_data(1000, path_of(96'000), {.sequence = 1}));
  EXPECT_TRUE(receiver.on_data(2000, path_of(94'000), {.sequence = 2}));
  receiver.take_report(2000);
  EXPECT_TRUE(receiver.on_data(3000, path_of(94'000, 4), {.sequence = 3}));
  receiver.take_report(3000);
  EXPECT_FALSE(receiver.on_data(4000, path_of(97'000, 4), {.sequence = 4}));
  EXPECT_TRUE(receiver.on_data(5000, path_of(99'000, 4), {.sequence = 5}));
}

TEST(exact_receiver, else_waits_for_packets_and_half_a_round_trip_but_not_for_long) {
  exact_receiver receiver({.every_packets = 4, .repeat_after_us = 0});
  receiver.on_data(0, path_of(100'000), {.sequence = 0});
  receiver.take_report(0);
  EXPECT_FALSE(receiver.deadline());
  for (std::uint32_t i = 1; i <= 4; ++i) EXPECT_FALSE(receiver.on_data(i * 1000, path_of(100'000), {.sequence = i})) << i;
  EXPECT_EQ(receiver.deadline(), 200'000U);
  EXPECT_TRUE(receiver.on_data(24'000, path_of(100'000), {.sequence = 5}));
}

TEST(exact_receiver, a_report_is_repeated_once_when_the_flow_stops_for_longer_than_it_used_to) {
  exact_receiver receiver;
  std::uint64_t now_us = 0;
  for (std::uint32_t i = 0; i < 40; ++i) {
    now_us = i * 10'000;
    if (receiver.on_data(now_us, path_of(100'000), {.sequence = i})) receiver.take_report(now_us);
  }
  if (const auto due = receiver.deadline(); due && receiver.counters().repeated_reports == 0) receiver.take_report(now_us = *due);
  ASSERT_TRUE(receiver.deadline());
  EXPECT_EQ(*receiver.deadline(), 390'000U + 100'000U);
  EXPECT_EQ(receiver.take_report(490'000).highest_sequence, 39U);
  EXPECT_EQ(receiver.counters().repeated_reports, 1U);
  EXPECT_FALSE(receiver.deadline()) << "once";
  receiver.on_data(500'000, path_of(100'000), {.sequence = 40});
  receiver.take_report(500'000);
  EXPECT_TRUE(receiver.deadline()) << "and again after each packet";
  receiver.on_data(510'000, path_of(100'000), {.sequence = 41, .last = true});
  receiver.take_report(510'000);
  EXPECT_FALSE(receiver.deadline()) << "not at the end";
  exact_receiver plain({.repeat_after_us = 0});
  plain.on_data(0, path_of(100'000), {.sequence = 0});
  plain.take_report(0);
  EXPECT_FALSE(plain.deadline());
}

TEST(exact_receiver, the_report_says_what_arrived) {
  exact_receiver receiver;
  for (const std::uint32_t sequence : {10U, 12U, 11U, 15U, 12U}) receiver.on_data(sequence * 100, path_of(100'000), {.sequence = sequence});
  const wire::exact_report report = receiver.take_report(2100);
  EXPECT_EQ(report.highest_sequence, 15U);
  EXPECT_EQ(report.received_packets, 4U);
  EXPECT_EQ(report.arrived_bitmap, 0b11100U);  // 12, 11 and 10; not 14 and 13
  EXPECT_EQ(report.held_us, 600U);
  EXPECT_EQ(receiver.counters().duplicates, 1U);
}

TEST(exact_receiver, a_ttl_that_fell_more_often_than_hops_were_counted_shows_a_silent_router) {
  exact_receiver receiver;
  receiver.on_data(0, path_of(100'000, 3), {.sequence = 0}, 3);
  EXPECT_FALSE(receiver.take_report(0).silent_router_seen);
  receiver.on_data(1, path_of(100'000, 3), {.sequence = 1}, 4);
  EXPECT_TRUE(receiver.take_report(1).silent_router_seen);
}

wire::exact_report report_of(std::uint32_t highest, std::uint64_t rate_bps) {
  return {.hops = 1, .explicit_rate_bps = rate_bps, .highest_sequence = highest, .received_packets = highest + 1};
}

TEST(exact_sender, the_first_round_trip_sends_two_packets_that_ask_for_the_application_rate) {
  exact_sender sender({.max_rate_bps = 2'000'000});
  sender.set_application_rate(500'000);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(sender.next_send(0), 0U);
    EXPECT_EQ(sender.on_send(0).explicit_rate_bps, 500'000U);
  }
  EXPECT_FALSE(sender.next_send(0));
  EXPECT_TRUE(sender.on_report(50'000, report_of(1, 120'000)));
  EXPECT_EQ(sender.rate_bps(), 120'000U);
  EXPECT_EQ(sender.smoothed_round_trip_us(), 50'000U);
  // 12,000 bits at 120 kb/s: 100 ms from packet to packet.
  const auto first = sender.next_send(50'000);
  ASSERT_TRUE(first);
  EXPECT_EQ(sender.on_send(*first).current_rate_bps, 120'000U);
  EXPECT_EQ(sender.next_send(*first), *first + 100'000);
}

TEST(exact_sender, its_own_routers_allocation_is_in_force_at_once) {
  exact_sender sender({.max_rate_bps = 2'000'000});
  sender.on_send(0);
  sender.on_report(20'000, report_of(0, 1'000'000));
  const std::uint64_t sent_us = *sender.next_send(20'000);
  sender.on_send(sent_us);
  sender.on_first_hop(sent_us, 120'000);
  EXPECT_EQ(sender.rate_bps(), 120'000U);
  EXPECT_EQ(sender.next_send(sent_us), sent_us + 100'000) << "the packet just sent is paced by it already";
  EXPECT_EQ(sender.on_send(sent_us + 100'000).current_rate_bps, 120'000U);
  // A report that passed the router before does not bring the old rate back.
  sender.on_report(sent_us + 110'000, report_of(1, 1'000'000));
  EXPECT_EQ(sender.rate_bps(), 120'000U);
  // What the packet asked for limits nothing, and the reports hold again.
  sender.on_first_hop(sent_us + 120'000, 2'000'000);
  EXPECT_EQ(sender.rate_bps(), 1'000'000U);
}

TEST(exact_sender, without_reports_the_rate_halves_down_to_a_packet_a_second) {
  exact_sender sender({.max_rate_bps = 2'000'000});
  sender.on_send(0);
  sender.on_report(20'000, report_of(0, 1'000'000));
  std::uint64_t now = 20'000;
  std::uint64_t before = sender.rate_bps();
  std::uint64_t sent = 0;
  while (now < 20'000'000) {
    now += 1000;
    if (const auto next = sender.next_send(now); next && *next <= now) {
      sender.on_send(now);
      ++sent;
    }
    if (sender.deadline() && *sender.deadline() <= now) sender.on_deadline(now);
    EXPECT_LE(sender.rate_bps(), before);
    before = sender.rate_bps();
  }
  EXPECT_EQ(sender.rate_bps(), 12'000U);
  EXPECT_GE(sender.counters().halvings, 6U);
  EXPECT_GT(sent, 15U) << "a path that comes back would not be found";
  EXPECT_LT(sent, 60U);
}

// A sender and a receiver over a way of 25 ms there and back, at 148 kb/s: 12.3 packets a second, of which 2.8 fit into a round trip and
// a feedback interval.
TEST(exact_sender, the_safety_window_does_not_hold_back_a_flow_whose_reports_come_in_time) {
  constexpr std::uint64_t rate_bps = 148'000, one_way_us = 12'500, duration_us = 20'000'000;
  exact_sender sender({.max_rate_bps = 2'000'000});
  exact_receiver receiver;
  std::deque<std::pair<std::uint64_t, std::uint32_t>> packets;
  std::deque<std::pair<std::uint64_t, wire::exact_report>> reports;
  std::uint64_t sent = 0;
  for (std::uint64_t now_us = 0; now_us < duration_us; now_us += 500) {
    if (!packets.empty() && packets.front().first <= now_us) {
      const bool at_once = receiver.on_data(now_us, path_of(rate_bps), {.sequence = packets.front().second});
      packets.pop_front();
      if (at_once) reports.emplace_back(now_us + one_way_us, receiver.take_report(now_us));
    }
    if (const auto due = receiver.deadline(); due && *due <= now_us)
      reports.emplace_back(now_us + one_way_us, receiver.take_report(now_us));
    if (!reports.empty() && reports.front().first <= now_us) {
      sender.on_report(now_us, reports.front().second);
      reports.pop_front();
    }
    if (const auto deadline = sender.deadline(); deadline && *deadline <= now_us) sender.on_deadline(now_us);
    if (const auto next = sender.next_send(now_us); next && *next <= now_us) {
      packets.emplace_back(now_us + one_way_us, sender.on_send(now_us).header.sequence);
      ++sent;
      EXPECT_LE(sender.unacknowledged_packets(), sender.window_packets());
    }
  }
  EXPECT_GT(static_cast<double>(sent) * 12'000 / (duration_us / 1e6), 0.95 * rate_bps);
  EXPECT_EQ(sender.counters().halvings, 0U);
  EXPECT_LE(sender.window_packets(), 3U);
}

TEST(exact_sender, one_lost_packet_or_report_of_a_slow_flow_halves_nothing_and_more_do) {
  exact_sender sender({.max_rate_bps = 2'000'000});
  sender.on_send(0);
  sender.on_report(100'000, report_of(0, 24'000));
  // A packet every 500 ms: of the next one nothing is heard, the one after it is reported 200 ms late.
  const std::uint64_t next_us = *sender.next_send(100'000);
  sender.on_send(next_us);
  const std::uint64_t after_us = *sender.next_send(next_us);
  ASSERT_TRUE(sender.deadline());
  EXPECT_GE(*sender.deadline(), after_us + 100'000 + 200'000);
  sender.on_send(after_us);
  sender.on_deadline(after_us + 100'000 + 200'000 - 1);
  EXPECT_EQ(sender.counters().halvings, 0U);
  for (int i = 0; i < 4 && sender.counters().halvings == 0; ++i) sender.on_deadline(*sender.deadline());
  EXPECT_EQ(sender.counters().halvings, 1U);
}

TEST(exact_sender, after_an_outage_it_knows_nothing_of_the_round_trip_before_or_of_packets_that_waited) {
  exact_sender sender({.packet_bytes = 500});
  sender.on_send(0);
  sender.on_report(400'000, report_of(0, 1'000'000));
  ASSERT_EQ(sender.smoothed_round_trip_us(), 400'000U);
  sender.on_send(500'000);
  sender.restart();
  EXPECT_EQ(sender.smoothed_round_trip_us(), 0U);
  sender.on_send(9'000'000);
  EXPECT_FALSE(sender.on_report(9'010'000, report_of(1, 2'000'000))) << "what waited tells of the way before";
  EXPECT_FALSE(sender.started());
  EXPECT_EQ(sender.counters().stale_reports, 1U);
  EXPECT_TRUE(sender.on_report(9'020'000, report_of(2, 500'000)));
  EXPECT_EQ(sender.smoothed_round_trip_us(), 20'000U);
}

TEST(exact_sender, hostile_reports_are_counted_and_bounded) {
  exact_sender sender({.max_rate_bps = 2'000'000});
  EXPECT_FALSE(sender.on_report(0, report_of(0, 1'000'000))) << "nothing was sent";
  sender.on_send(0);
  EXPECT_FALSE(sender.on_report(10, report_of(1, 1'000'000))) << "packet 1 was never sent";
  EXPECT_EQ(sender.counters().foreign_reports, 2U);
  EXPECT_TRUE(sender.on_report(10'000, report_of(0, 0)));
  EXPECT_EQ(sender.rate_bps(), 12'000U);
  EXPECT_EQ(sender.counters().zero_rates, 1U);
  EXPECT_TRUE(sender.on_report(10'000, report_of(0, wire::unlimited_rate_bps)));
  EXPECT_EQ(sender.rate_bps(), 2'000'000U);
}

TEST(exact_sender, random_reports_never_break_window_or_rate) {
  PERHOP_TELL_SEED();
  std::mt19937_64 random(test_seed());
  exact_sender sender({.max_rate_bps = 11'000'000});
  std::uint64_t now = 0;
  for (int step = 0; step < 200'000; ++step) {
    now += random() % 20'000;
    if (const auto next = sender.next_send(now); next && *next <= now) {
      ASSERT_LT(sender.unacknowledged_packets(), sender.window_packets());
      sender.on_send(now);
    }
    if (sender.deadline() && *sender.deadline() <= now) sender.on_deadline(now);
    if (random() % 3 == 0) {
      wire::exact_report report =
          report_of(static_cast<std::uint32_t>(random() % (sender.counters().packets + 3)), random() >> (random() % 64));
      report.held_us = static_cast<std::uint32_t>(random() % 100'000);
      report.silent_router_seen = random() % 50 == 0;
      report.received_packets = static_cast<std::uint32_t>(random());
      sender.on_report(now, report);
    }
    if (random() % 1000 == 0) sender.set_window_limit(static_cast<std::uint32_t>(random() % 5));
    ASSERT_GE(sender.rate_bps(), 12'000U);
    ASSERT_LE(sender.rate_bps(), 11'000'000U);
  }
  EXPECT_GT(sender.counters().packets, 500U);
  EXPECT_GT(sender.counters().foreign_reports, 100U);
}

TEST(delayed_increase, falls_at_once_and_rises_to_what_was_sustained) {
  delayed_increase policy;
  EXPECT_EQ(policy.on_signal(0, 100), 100U);
  EXPECT_EQ(policy.on_signal(1'000'000, 60), 60U);
  EXPECT_EQ(policy.on_signal(2'000'000, 90), 60U);
  EXPECT_EQ(policy.on_signal(3'000'000, 80), 60U);
  EXPECT_EQ(policy.allowed_bps(6'999'999), 60U);
  EXPECT_EQ(policy.allowed_bps(7'000'000), 80U);  // 60 ended at 2 s
  EXPECT_EQ(policy.on_signal(7'500'000, 85), 80U);
  EXPECT_EQ(policy.on_signal(8'000'000, 40), 40U);
  EXPECT_EQ(policy.changes(), 3U);
}

TEST(delayed_increase, is_the_smallest_signal_of_the_window_by_brute_force) {
  PERHOP_TELL_SEED();
  std::mt19937_64 random(test_seed());
  for (const delayed_increase_rule rule : {delayed_increase_rule::window_minimum, delayed_increase_rule::current}) {
    delayed_increase policy({.window_us = 1000, .rule = rule});
    std::deque<std::pair<std::uint64_t, std::uint64_t>> signals;
    std::uint64_t now = 0;
    std::uint64_t started = 0;
    std::uint64_t allowed = 0;
    for (int step = 0; step < 20'000; ++step) {
      now += random() % 400;
      while (signals.size() > 1 && signals[1].first + 1000 <= now) signals.pop_front();  // over before the window began
      const std::uint64_t signal = 1 + random() % 20;
      const auto expect = [&] {
        if (signals.back().second < allowed) {
          allowed = signals.back().second;
        } else if (now - started >= 1000) {
          std::uint64_t smallest = signals.back().second;
          for (std::size_t i = 0; i + 1 < signals.size(); ++i) {
            if (signals[i + 1].first + 1000 > now) smallest = std::min(smallest, signals[i].second);
          }
          if (smallest > allowed) allowed = rule == delayed_increase_rule::current ? signals.back().second : smallest;
        }
      };
      if (signals.empty()) {
        allowed = signal;
        started = now;
      } else {
        expect();
      }
      signals.emplace_back(now, signal);
      expect();
      ASSERT_EQ(policy.on_signal(now, signal), allowed) << "step " << step;
      ASSERT_LE(allowed, signal);
    }
  }
}

TEST(tfrc_equation, gives_the_vectors_of_both_profiles) {
  const auto rate = [](double p, tfrc_profile profile) {
    return tfrc_rate({.packet_bytes = 1000, .round_trip_s = 0.2, .loss_event_rate = p}, profile);
  };
  EXPECT_NEAR(rate(0.001, tfrc_profile::paper), 191495, 0.5);
  EXPECT_NEAR(rate(0.01, tfrc_profile::paper), 55027, 0.5);
  EXPECT_NEAR(rate(0.05, tfrc_profile::paper), 17036, 0.5);
  EXPECT_NEAR(rate(0.1, tfrc_profile::paper), 7793, 0.5);
  EXPECT_NEAR(rate(0.001, tfrc_profile::rfc5348), 191922, 0.5);
  EXPECT_NEAR(rate(0.01, tfrc_profile::rfc5348), 56166, 0.5);
  EXPECT_NEAR(rate(0.05, tfrc_profile::rfc5348), 18429, 0.5);
  EXPECT_NEAR(rate(0.1, tfrc_profile::rfc5348), 8851, 0.5);
}

TEST(tfrc_equation, its_inverse_gives_the_loss_back_and_extremes_stay_finite) {
  const tfrc_equation_input input{.packet_bytes = 1000, .round_trip_s = 0.2, .loss_event_rate = 0.03};
  EXPECT_NEAR(tfrc_loss_event_rate(tfrc_rate(input), input), 0.03, 1e-9);
  for (const double p : {0.0, 1.0, 5.0}) {
    const double rate = tfrc_rate({.round_trip_s = 0, .loss_event_rate = p});
    EXPECT_TRUE(std::isfinite(rate) && rate > 0) << p;
  }
}

TEST(tfrc_loss_intervals, weigh_the_newest_half_fully_and_the_rest_less_and_less) {
  const tfrc_loss_intervals intervals(8);
  const double expected[] = {1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2};
  for (std::size_t age = 0; age < 8; ++age) EXPECT_NEAR(intervals.weight(age) * 6, expected[age], 1e-12) << age;
}

TEST(tfrc_loss_intervals, the_running_interval_counts_only_when_it_raises_the_mean) {
  tfrc_loss_intervals intervals(8);
  EXPECT_EQ(intervals.loss_event_rate(), 0);
  intervals.on_loss_event();
  for (int i = 0; i < 8; ++i) {
    intervals.on_packets(100);
    intervals.on_loss_event();
  }
  EXPECT_NEAR(intervals.mean_packets(), 100, 1e-9);
  intervals.on_packets(50);
  EXPECT_NEAR(intervals.mean_packets(), 100, 1e-9);
  intervals.on_packets(650);
  EXPECT_NEAR(intervals.mean_packets(), (700 + 5 * 100) / 6.0, 1e-9);
  EXPECT_NEAR(intervals.loss_event_rate(), 6.0 / 1200, 1e-12);
}

}  // namespace
}  // namespace perhop::policy
