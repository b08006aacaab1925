// SPDX-License-Identifier: GPL-2.0-or-later
//
// TFRC packet by packet: its header, losses and loss events, feedback, slow start, the timer without feedback; and both ends over a path
// that loses what a test says.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "host/core/policy/tfrc_equation.hpp"
#include "host/core/policy/tfrc_loss_intervals.hpp"
#include "host/core/policy/tfrc_receiver.hpp"
#include "host/core/policy/tfrc_sender.hpp"
#include "host/core/wire/tfrc_header.hpp"
#include "sim/exact/tfrc_path.hpp"

namespace perhop::policy {
namespace {

constexpr double s = 1000;
constexpr std::uint32_t round_trip_us = 100'000;
constexpr double round_trip_s = 0.1;

double equation(double p, tfrc_profile profile = tfrc_profile::paper, double r = round_trip_s) {
  return tfrc_rate({.packet_bytes = s, .round_trip_s = r, .loss_event_rate = p}, profile);
}

/// A receiver to which packets come evenly, but for those that are lost.
class receiver_test : public testing::Test {
protected:
  static constexpr time_us gap_us = 10'000;

  /// Packets up to `end`, of which `lost` do not come. Reports are taken when they are due.
  void arrive(std::uint32_t end, const std::vector<std::uint32_t>& lost = {}) {
    for (; next_ != end; ++next_) {
      now_ += gap_us;
      while (receiver_.deadline() && *receiver_.deadline() <= now_) {
        const time_us due = *receiver_.deadline();
        if (receiver_.on_deadline(due)) report(due);
      }
      if (std::find(lost.begin(), lost.end(), next_) != lost.end()) continue;
      at_once_ = receiver_.on_data(now_, {.sequence = next_, .sent_us = static_cast<std::uint32_t>(now_), .round_trip_us = told_us_});
      for (const tfrc_ended_interval& ended : receiver_.ended()) ended_.push_back(ended);
      if (at_once_) report(now_);
    }
  }

  void report(time_us now) {
    reports_.push_back(receiver_.take_report(now));
    reported_us_.push_back(now);
  }

  tfrc_receiver receiver_;
  std::uint32_t next_ = 0;
  time_us now_ = 1'000'000;
  std::uint32_t told_us_ = round_trip_us;
  bool at_once_ = false;
  std::vector<wire::tfrc_report> reports_;
  std::vector<time_us> reported_us_;
  std::vector<tfrc_ended_interval> ended_;
};

TEST(tfrc_header, comes_back_as_it_was_written) {
  const wire::tfrc_header header{.sequence = 0xFEDCBA98, .sent_us = 0x89ABCDEF, .round_trip_us = 123'456};
  EXPECT_EQ(wire::decode_tfrc_header(wire::encode(header)), header);
  const wire::tfrc_report report{.sent_us = 0x89ABCDEF, .held_us = 77, .receive_rate_bytes_per_s = 125'000, .loss_event_rate = 1 / 80.5};
  EXPECT_EQ(wire::decode_tfrc_report(wire::encode(report)), report);
  EXPECT_EQ(wire::decode_tfrc_report(wire::encode(wire::tfrc_report{}))->loss_event_rate, 0);
  EXPECT_FALSE(wire::decode_tfrc_report(wire::encode(header))) << "of the other kind";
  auto above_one = wire::encode(report);
  above_one[13] = above_one[14] = above_one[16] = 0;
  above_one[15] = 0;
  above_one[16] = 255;  // 255/256 packets between loss events
  EXPECT_FALSE(wire::decode_tfrc_report(above_one));
}

TEST(tfrc_loss_intervals, newer_intervals_weigh_more_than_older_ones) {
  // RFC 5348, 5.4, by hand: the newest is 80, the oldest of the eight 10; 5 has left the history.
  tfrc_loss_intervals intervals(8);
  intervals.on_loss_event();
  for (const std::uint64_t packets : {5, 10, 20, 30, 40, 50, 60, 70, 80}) {
    intervals.on_packets(packets);
    intervals.on_loss_event();
  }
  EXPECT_NEAR(intervals.mean_packets(), (80 + 70 + 60 + 50 + 0.8 * 40 + 0.6 * 30 + 0.4 * 20 + 0.2 * 10) / 6, 1e-9);
}

TEST(tfrc_loss_intervals, history_is_discounted_in_the_profile_of_the_rfc_only) {
  // RFC 5348, 5.5: eight intervals of 100, and 700 packets without a loss. DF = max(0.5, 2 * 100 / 700).
  for (const auto profile : {tfrc_profile::paper, tfrc_profile::rfc5348}) {
    tfrc_loss_intervals intervals(8, profile);
    intervals.on_loss_event();
    for (int i = 0; i < 8; ++i) {
      intervals.on_packets(100);
      intervals.on_loss_event();
    }
    intervals.on_packets(700);
    const double discount = profile == tfrc_profile::paper ? 1 : 0.5;
    EXPECT_NEAR(intervals.mean_packets(), (700 + discount * 500) / (1 + discount * 5), 1e-9);
  }
}

TEST_F(receiver_test, a_packet_is_lost_once_three_later_ones_have_come) {
  arrive(23, {20});
  EXPECT_EQ(receiver_.counters().lost, 0U);
  arrive(24);
  EXPECT_EQ(receiver_.counters().lost, 1U);
  EXPECT_EQ(receiver_.counters().loss_events, 1U);
  EXPECT_TRUE(at_once_) << "the loss event rate has risen";
}

TEST_F(receiver_test, a_late_packet_is_no_loss_and_a_second_copy_nothing) {
  arrive(20);
  for (const std::uint32_t sequence : {22, 21, 21, 20, 20, 23, 24, 25}) receiver_.on_data(now_, {sequence, 0, round_trip_us});
  EXPECT_EQ(receiver_.counters().lost, 0U);
  EXPECT_EQ(receiver_.counters().late, 2U);
  EXPECT_EQ(receiver_.counters().packets, 26U);
  receiver_.on_data(now_, {26 + tfrc_receiver::most_gap_packets + 1, 0, round_trip_us});
  EXPECT_EQ(receiver_.counters().foreign, 1U);
}

TEST_F(receiver_test, losses_within_a_round_trip_are_one_event) {
  // Ten packets a round trip: 50 to 59 are one event, 61 another.
  arrive(100, {50, 53, 59, 61});
  EXPECT_EQ(receiver_.counters().lost, 4U);
  EXPECT_EQ(receiver_.counters().loss_events, 2U);
  ASSERT_EQ(ended_.size(), 1U);
  EXPECT_EQ(ended_[0].true_packets, 11) << "from the first loss of an event to the first of the next";
}

TEST_F(receiver_test, a_long_outage_is_as_many_events_as_round_trips) {
  std::vector<std::uint32_t> lost;
  for (std::uint32_t sequence = 50; sequence < 85; ++sequence) lost.push_back(sequence);
  arrive(100, lost);
  // Events begin at 50, and at the first loss more than 10 packets' time later: 61, 72, 83.
  EXPECT_EQ(receiver_.counters().loss_events, 4U);
  ASSERT_EQ(ended_.size(), 3U);
  for (const tfrc_ended_interval& ended : ended_) EXPECT_EQ(ended.true_packets, 11);
}

TEST_F(receiver_test, each_interval_is_told_beside_what_was_predicted_for_it) {
  arrive(1300, {100, 200, 400, 700, 1100});
  ASSERT_EQ(ended_.size(), 4U);
  const double truth[] = {100, 200, 300, 400};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(ended_[i].true_packets, truth[i]) << i;
  // The first interval is what the equation gives for the rate so far: 100 packets a second, of which a report at the very time of an
  // arrival sees nine in a tenth of a second.
  const double first = ended_[0].predicted_packets;
  EXPECT_NEAR(equation(1 / first), 90 * s, 1.0);
  EXPECT_NEAR(ended_[1].predicted_packets, (first + 100) / 2, 1e-9);
  EXPECT_NEAR(ended_[2].predicted_packets, (first + 100 + 200) / 3, 1e-9);
  EXPECT_NEAR(ended_[3].predicted_packets, (first + 100 + 200 + 300) / 4, 1e-9);
}

TEST(tfrc_receiver, the_first_interval_is_that_of_the_rate_before_the_loss_or_by_the_newer_rfc_of_the_largest_ever) {
  for (const auto profile : {tfrc_profile::paper, tfrc_profile::rfc5348}) {
    tfrc_receiver receiver({.profile = profile});
    time_us now = 1'000'000;
    // 1000 packets a second, then 100, and one of those is lost.
    for (std::uint32_t sequence = 0; sequence < 704; ++sequence) {
      now += sequence < 500 ? 1000 : 10'000;
      while (receiver.deadline() && *receiver.deadline() <= now) {
        const time_us due = *receiver.deadline();
        if (receiver.on_deadline(due)) receiver.take_report(due);
      }
      if (sequence == 700) continue;
      if (receiver.on_data(now, {.sequence = sequence, .sent_us = 0, .round_trip_us = round_trip_us}) && sequence < 703) {
        receiver.take_report(now);
      }
    }
    ASSERT_EQ(receiver.counters().loss_events, 1U);
    const double rate = equation(receiver.loss_event_rate(), profile);
    if (profile == tfrc_profile::paper) {
      EXPECT_NEAR(rate, 90 * s, 10 * s);
    } else {
      EXPECT_NEAR(rate, 1000 * s, 20 * s);
    }
  }
}

TEST_F(receiver_test, the_first_loss_at_the_very_beginning_asks_for_half_a_packet_a_round_trip) {
  arrive(5, {0});
  EXPECT_EQ(receiver_.counters().loss_events, 1U);
  EXPECT_NEAR(equation(receiver_.loss_event_rate()), 0.5 * s / round_trip_s, 0.01 * s / round_trip_s);
}

TEST_F(receiver_test, reports_go_for_the_first_packet_and_once_a_round_trip) {
  arrive(101);
  ASSERT_EQ(reports_.size(), 11U) << "one second of packets";
  EXPECT_EQ(reports_[0].receive_rate_bytes_per_s, 0U) << "one packet is no rate";
  for (std::size_t i = 1; i < reports_.size(); ++i) {
    EXPECT_EQ(reported_us_[i] - reported_us_[i - 1], round_trip_us);
    EXPECT_NEAR(reports_[i].receive_rate_bytes_per_s, s * 1e6 / gap_us, 0.1 * s * 1e6 / gap_us);
    EXPECT_EQ(reports_[i].sent_us + reports_[i].held_us, static_cast<std::uint32_t>(reported_us_[i]));
  }
}

TEST_F(receiver_test, after_a_silence_the_first_packet_is_reported_at_once) {
  arrive(50);
  const std::size_t before = reports_.size();
  now_ += 10 * round_trip_us;
  arrive(51);
  EXPECT_TRUE(at_once_);
  EXPECT_EQ(reports_.size(), before + 2) << "what had come before the silence, and this";
  EXPECT_LT(reports_.back().receive_rate_bytes_per_s, 2 * s) << "one packet in a second";
}

/// A sender whose reports say what a test wants.
class sender_test : public testing::Test {
protected:
  void send() {
    now_ = sender_.next_send(now_);
    sent_ = sender_.on_send(now_);
  }

  /// The last packet is told of a round trip after it left.
  void report(double receive_rate, double p = 0) {
    now_ = std::max(now_, sent_us64_ + round_trip_us);
    EXPECT_TRUE(sender_.on_report(now_, {.sent_us = sent_.sent_us,
                                         .held_us = static_cast<std::uint32_t>(now_) - sent_.sent_us - round_trip_us,
                                         .receive_rate_bytes_per_s = static_cast<std::uint32_t>(receive_rate),
                                         .loss_event_rate = p}));
  }

  void round(double receive_rate, double p = 0) {
    send();
    sent_us64_ = now_;
    report(receive_rate, p);
  }

  void use(tfrc_profile profile) { sender_ = tfrc_sender({.profile = profile}); }

  tfrc_sender sender_;
  time_us now_ = 5'000'000;
  time_us sent_us64_ = 0;
  wire::tfrc_header sent_;
};

TEST_F(sender_test, begins_with_a_packet_a_second_and_then_one_a_round_trip) {
  EXPECT_EQ(sender_.next_send(now_), now_);
  send();
  EXPECT_EQ(sender_.next_send(now_), now_ + 1'000'000);
  EXPECT_EQ(sent_.round_trip_us, 0U);
  sent_us64_ = now_;
  report(0);
  EXPECT_NEAR(sender_.rate_bytes_per_s(), s / round_trip_s, 1e-6);
  send();
  EXPECT_EQ(sent_.sequence, 1U);
  EXPECT_EQ(sent_.round_trip_us, round_trip_us);
}

TEST_F(sender_test, begins_with_rfc_3390s_window_in_the_profile_of_the_rfc) {
  use(tfrc_profile::rfc5348);
  round(0);
  EXPECT_NEAR(sender_.rate_bytes_per_s(), 4000 / round_trip_s, 1e-6);
}

TEST_F(sender_test, doubles_once_a_round_trip_until_the_first_loss_to_twice_what_was_received) {
  round(0);
  for (const double factor : {2.0, 4.0, 8.0}) {
    round(1e6);
    EXPECT_NEAR(sender_.rate_bytes_per_s(), factor * s / round_trip_s, 1e-6);
  }
  report(1e6);
  EXPECT_NEAR(sender_.rate_bytes_per_s(), 8 * s / round_trip_s, 1e-6) << "the same round trip";
  round(50'000);
  EXPECT_NEAR(sender_.rate_bytes_per_s(), 100'000, 1e-6) << "limited by what was received";
}

TEST_F(sender_test, the_equation_rules_once_there_was_a_loss) {
  for (const auto profile : {tfrc_profile::paper, tfrc_profile::rfc5348}) {
    use(profile);
    round(0);
    round(1e6, 0.01);
    EXPECT_NEAR(sender_.rate_bytes_per_s(), equation(0.01, profile), 1e-6);
    round(1e6, 0.1);
    EXPECT_NEAR(sender_.rate_bytes_per_s(), equation(0.1, profile), 1e-6);
  }
}

TEST_F(sender_test, what_was_received_is_the_last_report_or_the_largest_of_two_round_trips) {
  for (const auto profile : {tfrc_profile::paper, tfrc_profile::rfc5348}) {
    use(profile);
    round(0);
    for (int i = 0; i < 5; ++i) round(20'000, 0.001);
    round(10'000, 0.001);
    EXPECT_NEAR(sender_.rate_bytes_per_s(), profile == tfrc_profile::paper ? 20'000 : 40'000, 1e-6);
  }
}

TEST_F(sender_test, the_rate_is_halved_when_no_feedback_comes) {
  for (const double p : {0.0, 0.01}) {
    use(tfrc_profile::paper);
    round(0);
    round(1e6, p);
    double rate = sender_.rate_bytes_per_s();
    for (int i = 0; i < 4; ++i) {
      const time_us due = *sender_.deadline();
      EXPECT_NEAR(static_cast<double>(due - now_), 1e6 * std::max(4 * round_trip_s, 2 * s / rate), 1);
      sender_.on_deadline(due - 1);
      EXPECT_NEAR(sender_.rate_bytes_per_s(), rate, 1e-6) << "not before its time";
      sender_.on_deadline(due);
      now_ = due;
      EXPECT_NEAR(sender_.rate_bytes_per_s(), rate / 2, 1e-6) << p;
      rate = sender_.rate_bytes_per_s();
    }
    for (int i = 0; i < 40; ++i) sender_.on_deadline(*sender_.deadline());
    EXPECT_NEAR(sender_.rate_bytes_per_s(), s / 64, 1e-6) << "a packet in 64 s, whatever happens";
  }
}

TEST_F(sender_test, without_the_first_report_the_first_timer_is_two_seconds) {
  send();
  EXPECT_EQ(*sender_.deadline(), now_ + 2'000'000);
  sender_.on_deadline(*sender_.deadline());
  EXPECT_NEAR(sender_.rate_bytes_per_s(), s / 2, 1e-9);
}

TEST_F(sender_test, a_longer_round_trip_slows_the_pace_and_not_the_rate) {
  round(0);
  for (int i = 0; i < 3; ++i) round(1e6, 0.01);
  EXPECT_NEAR(sender_.pace_bytes_per_s(), sender_.rate_bytes_per_s(), 1e-6);
  send();
  now_ += 4 * round_trip_us;
  ASSERT_TRUE(sender_.on_report(now_, {.sent_us = sent_.sent_us, .receive_rate_bytes_per_s = 1'000'000, .loss_event_rate = 0.01}));
  const double mean = 0.9 + 0.1 * 2;  // of the roots, in roots of the usual round trip
  EXPECT_NEAR(sender_.pace_bytes_per_s(), sender_.rate_bytes_per_s() * mean / 2, 1);
}

TEST_F(sender_test, a_round_trip_of_minutes_leaves_a_packet_in_64_seconds) {
  send();
  now_ += 200'000'000;
  ASSERT_TRUE(sender_.on_report(now_, {.sent_us = sent_.sent_us}));
  EXPECT_NEAR(sender_.rate_bytes_per_s(), s / 64, 1e-9) << "though a packet a round trip would be less";
}

TEST_F(sender_test, reports_that_cannot_be_are_refused) {
  EXPECT_FALSE(sender_.on_report(now_, {})) << "nothing was sent";
  send();
  now_ += round_trip_us;
  EXPECT_FALSE(sender_.on_report(now_, {.sent_us = sent_.sent_us - 1})) << "of before the first packet";
  EXPECT_FALSE(sender_.on_report(now_, {.sent_us = sent_.sent_us, .held_us = round_trip_us})) << "held for as long as it was under way";
  EXPECT_EQ(sender_.counters().foreign_reports, 3U);
  EXPECT_EQ(sender_.round_trip_us(), 0U);
}

using exact_study::tfrc_path;

TEST(tfrc_path, every_hundredth_packet_lost_gives_the_equations_rate_at_one_in_a_hundred) {
  for (const auto profile : {tfrc_profile::paper, tfrc_profile::rfc5348}) {
    tfrc_path path({.profile = profile});
    path.loses_data = [](std::uint32_t sequence) { return sequence % 100 == 99; };
    path.run(60'000'000);
    const std::uint64_t before = path.sent_packets();
    path.run(160'000'000);
    EXPECT_NEAR(path.receiver.loss_event_rate(), 0.01, 0.0005);
    EXPECT_NEAR((path.sent_packets() - before) * s / 100, equation(0.01, profile), 0.02 * equation(0.01, profile));
    EXPECT_EQ(path.sender.counters().halvings, 0U) << "feedback comes in time";
  }
}

TEST(tfrc_path, a_lost_report_costs_no_rate_and_ten_in_a_row_halve_it) {
  tfrc_path path({});
  path.loses_data = [](std::uint32_t sequence) { return sequence % 100 == 99; };
  path.run(60'000'000);
  const double rate = path.sender.rate_bytes_per_s();
  std::uint64_t lost_from = path.receiver.counters().reports + 1;
  std::uint64_t lost = 1;
  path.loses_report = [&](std::uint64_t report) { return report >= lost_from && report < lost_from + lost; };
  path.run(62'000'000);
  EXPECT_EQ(path.sender.counters().halvings, 0U);
  EXPECT_NEAR(path.sender.rate_bytes_per_s(), rate, 0.02 * rate);
  lost_from = path.receiver.counters().reports + 1;
  lost = 10;
  path.run(62'900'000);
  EXPECT_GE(path.sender.counters().halvings, 1U) << "after four round trips";
  EXPECT_LT(path.sender.rate_bytes_per_s(), 0.6 * rate);
  path.run(70'000'000);
  EXPECT_NEAR(path.sender.rate_bytes_per_s(), rate, 0.02 * rate) << "and it is back with the next report";
}

TEST(tfrc_path, without_any_report_a_packet_goes_in_64_seconds_at_last) {
  tfrc_path path({});
  path.run(1'500'000);
  EXPECT_GT(path.sender.rate_bytes_per_s(), 10 * s);
  path.loses_report = [](std::uint64_t) { return true; };
  path.run(1'000'000'000);
  EXPECT_NEAR(path.sender.rate_bytes_per_s(), s / 64, 1e-6);
}

}  // namespace
}  // namespace perhop::policy
