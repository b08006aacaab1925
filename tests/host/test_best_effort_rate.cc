// SPDX-License-Identifier: GPL-2.0-or-later
//
// SWAN's rate control by hand: what a period with and without a slow packet does to the rate, what bounds it, and when packets may go.

#include "host/core/policy/best_effort_rate.hpp"

#include <gtest/gtest.h>

namespace perhop::policy {
namespace {

constexpr time_us second = 1'000'000;
/// Steps of 10 kb/s, 20 ms, half, and up to twice what was sent.
constexpr swan_settings settings{
    .period_us = second, .threshold_us = 20'000, .increase_bps = 10'000, .decrease_share = 0.5, .gap_share = 1.0};

/// Sends as fast as allowed until then. @return packets of 1000 bits
int send_until(best_effort_rate& rate, time_us until) {
  int sent = 0;
  for (time_us now = rate.next_send(); now < until; now = rate.next_send()) {
    rate.on_send(now, 125);
    ++sent;
  }
  return sent;
}

TEST(best_effort_rate, grows_by_a_step_in_each_period_that_is_used) {
  best_effort_rate rate(settings);
  EXPECT_EQ(rate.rate_bps(), 10'000);
  for (unsigned period = 1; period <= 5; ++period) {
    EXPECT_NEAR(send_until(rate, period * second), 10 * period, 1);
    rate.on_completion(period * second, 1000);
    EXPECT_EQ(rate.rate_bps(), 10'000 * (period + 1)) << "after period " << period;
  }
}

TEST(best_effort_rate, one_packet_above_the_threshold_halves_it_once) {
  best_effort_rate rate(settings);
  for (unsigned period = 1; period <= 7; ++period) {
    send_until(rate, period * second);
    rate.on_completion(period * second, 1000);
  }
  ASSERT_EQ(rate.rate_bps(), 80'000);
  send_until(rate, 7 * second + 500'000);
  rate.on_completion(7 * second + 500'000, 20'001);
  rate.on_completion(7 * second + 600'000, 90'000);
  EXPECT_EQ(rate.rate_bps(), 80'000) << "not before the period's end";
  send_until(rate, 8 * second);
  rate.on_completion(8 * second, 20'000);
  EXPECT_EQ(rate.rate_bps(), 40'000);
  send_until(rate, 9 * second);
  rate.on_completion(9 * second, 1000);
  EXPECT_EQ(rate.rate_bps(), 50'000) << "20 ms are not above the threshold, and what was above it counts for its period";
}

TEST(best_effort_rate, stands_so_far_above_what_was_sent_and_no_farther) {
  best_effort_rate rate(settings);
  for (unsigned period = 1; period <= 9; ++period) {
    send_until(rate, period * second);
    rate.on_completion(period * second, 1000);
  }
  ASSERT_EQ(rate.rate_bps(), 100'000);
  for (int packet = 0; packet < 40; ++packet) rate.on_send(9 * second + packet * 25'000, 125);
  rate.on_completion(10 * second, 1000);
  EXPECT_EQ(rate.rate_bps(), 80'000);
}

TEST(best_effort_rate, falls_to_one_step_in_silence_and_no_lower) {
  best_effort_rate rate(settings);
  for (unsigned period = 1; period <= 9; ++period) send_until(rate, period * second);
  rate.on_completion(1000 * second, 90'000);
  EXPECT_EQ(rate.rate_bps(), 10'000);
  rate.on_completion(1001 * second, 90'000);
  rate.on_completion(1002 * second, 1000);
  EXPECT_EQ(rate.rate_bps(), 10'000);
  // Periods still end where they would have.
  rate.on_send(1002 * second, 1250);
  rate.on_completion(1003 * second - 1, 1000);
  EXPECT_EQ(rate.rate_bps(), 10'000);
  rate.on_completion(1003 * second, 1000);
  EXPECT_EQ(rate.rate_bps(), 20'000);
}

TEST(best_effort_rate, a_packet_goes_when_the_one_before_it_has_had_its_time) {
  best_effort_rate rate(settings);
  EXPECT_EQ(rate.next_send(), 0U);
  rate.on_send(0, 125);
  EXPECT_EQ(rate.next_send(), 100'000U);
  // The MAC had no room for 20 ms, which are made up for, or for long, which are not.
  rate.on_send(120'000, 125);
  EXPECT_EQ(rate.next_send(), 200'000U);
  rate.on_send(900'000, 125);
  EXPECT_EQ(rate.next_send(), 900'000U);
  rate.on_send(900'000, 125);
  EXPECT_EQ(rate.next_send(), 1'000'000U);
}

}  // namespace
}  // namespace perhop::policy
