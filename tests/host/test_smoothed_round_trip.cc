// SPDX-License-Identifier: GPL-2.0-or-later

#include <gtest/gtest.h>

#include <cstdint>

#include "host/core/policy/smoothed_round_trip.hpp"
#include "host/core/policy/tcp_ack_retransmission_timer.hpp"

namespace perhop::policy {
namespace {

// D-22: 7/8, 1/4 and the deviation from the SRTT just updated.
TEST(smoothed_round_trip, is_the_papers_formula) {
  smoothed_round_trip round_trip;
  EXPECT_FALSE(round_trip.srtt_us());
  EXPECT_EQ(round_trip.timeout_us(), 1'000'000U);
  round_trip.on_sample(800'000);
  EXPECT_EQ(round_trip.srtt_us(), 800'000U);
  EXPECT_EQ(round_trip.deviation_us(), 400'000U);
  round_trip.on_sample(1'600'000);
  EXPECT_EQ(round_trip.srtt_us(), 900'000U);       // 7/8 * 800 + 1/8 * 1600
  EXPECT_EQ(round_trip.deviation_us(), 475'000U);  // 3/4 * 400 + 1/4 * |1600 - 900|
  EXPECT_EQ(round_trip.timeout_us(), 2'800'000U);  // 900 + 4 * 475
  round_trip.on_sample(100'000);
  EXPECT_EQ(round_trip.srtt_us(), 800'000U);
  EXPECT_EQ(round_trip.deviation_us(), 531'250U);  // 3/4 * 475 + 1/4 * 700
}

// A-07b: the paper's deviation term is 7/8 of RFC 6298's.
TEST(smoothed_round_trip, order_of_rfc_6298_takes_the_deviation_from_the_srtt_before) {
  smoothed_round_trip paper(deviation_order::updated_first);
  smoothed_round_trip rfc(deviation_order::rfc_6298);
  for (smoothed_round_trip* round_trip : {&paper, &rfc}) {
    round_trip->on_sample(800'000);
    round_trip->on_sample(1'600'000);
  }
  EXPECT_EQ(paper.srtt_us(), rfc.srtt_us());
  EXPECT_EQ(rfc.deviation_us(), 500'000U);  // 3/4 * 400 + 1/4 * |1600 - 800|
  EXPECT_EQ((*paper.deviation_us() - 300'000) * 8, (*rfc.deviation_us() - 300'000) * 7);
}

TEST(smoothed_round_trip, timeout_is_never_below_1_s) {
  smoothed_round_trip round_trip;
  for (int i = 0; i < 100; ++i) round_trip.on_sample(20'000);
  EXPECT_EQ(round_trip.srtt_us(), 20'000U);
  EXPECT_EQ(round_trip.timeout_us(), 1'000'000U);
  for (int i = 0; i < 200; ++i) round_trip.on_sample(1'500'000);
  EXPECT_NEAR(static_cast<double>(round_trip.timeout_us()), 1'500'000, 1000);
}

TEST(tcp_ack_retransmission_timer, runs_from_the_tcp_ack_to_the_next_data) {
  tcp_ack_retransmission_timer timer;
  EXPECT_FALSE(timer.deadline());
  timer.on_rtt(400'000);  // RTO = 400 + 4 * 200 = 1200 ms
  timer.on_tcp_ack_sent(50'000);
  EXPECT_EQ(timer.deadline(), 1'250'000U);
  timer.on_tcp_ack_sent(60'000);
  EXPECT_EQ(timer.deadline(), 1'260'000U) << "a later TCP ACK starts it anew";
  timer.on_data();
  EXPECT_FALSE(timer.deadline());
}

TEST(tcp_ack_retransmission_timer, repeats_after_1_2_4_8_and_16_s_and_then_no_more) {
  tcp_ack_retransmission_timer timer;
  for (int transfer = 0; transfer < 2; ++transfer) {
    timer.on_tcp_ack_sent(0);
    time_us now = 0;
    for (const time_us wait_s : {1, 2, 4, 8, 16}) {
      ASSERT_EQ(timer.deadline(), now + wait_s * 1'000'000);
      now += wait_s * 1'000'000;
      timer.on_repeated(now);
    }
    EXPECT_FALSE(timer.deadline());
  }
}

}  // namespace
}  // namespace perhop::policy
