// SPDX-License-Identifier: GPL-2.0-or-later

#include <gtest/gtest.h>

#include <cstdint>

#include "host/core/policy/delay_estimator.hpp"

namespace perhop::policy {
namespace {

const timing_profile& dsss_long() { return *find_profile("dsss_long"); }

constexpr std::uint8_t rate_2mbps = 1;

// facts of 802.11b at 2 Mb/s, control frames at 1 Mb/s, long preamble, by hand:
//   DIFS 50 + 15.5 slots of 20 + RTS 352 + SIFS 10 + CTS 304 + SIFS 10 + DATA + SIFS 10 + MAC ACK 304 = 1350 + DATA
TEST(uncontended_delay, is_difs_half_a_window_and_the_exchange) {
  const delay_estimator estimator(dsss_long());
  // MPDU of 1534 bytes: 1500 of IP and 34 of headers (ns-2's); of 74: a TCP ACK of 40 bytes of IP. Requirement A-02.
  EXPECT_EQ(estimator.uncontended_delay_us(1534, rate_2mbps), 1350U + 192 + 6136);
  EXPECT_EQ(estimator.uncontended_delay_us(1534, rate_2mbps), 7678U);
  EXPECT_EQ(estimator.uncontended_delay_us(74, rate_2mbps), 1838U);
  // With LLC/SNAP in place of ns-2's 6 bytes, and with the path header.
  EXPECT_EQ(estimator.uncontended_delay_us(1536, rate_2mbps), 7686U);
  EXPECT_EQ(estimator.uncontended_delay_us(1554, rate_2mbps), 7758U);
}

TEST(uncontended_delay, leaves_rts_out_up_to_the_threshold) {
  const delay_estimator estimator(dsss_long(), 256);
  const std::uint32_t rts_cts_us = 352 + 10 + 304 + 10;
  EXPECT_EQ(estimator.uncontended_delay_us(256, rate_2mbps), 50U + 310 + 192 + 1024 + 10 + 304);
  EXPECT_EQ(estimator.uncontended_delay_us(257, rate_2mbps), 50U + 310 + 192 + 1028 + 10 + 304 + rts_cts_us);
}

TEST(uncontended_delay, follows_the_profile) {
  // OFDM 20 MHz, 54 Mb/s, 1554 bytes, RTS/CTS at 6 Mb/s, MAC ACK at 24 Mb/s:
  // DIFS 34 + 7.5 slots of 9 (67.5, kept as 67) + 52 + 16 + 44 + 16 + (20 + 4*58) + 16 + (20 + 4*2)
  const delay_estimator estimator(*find_profile("ofdm_20mhz"));
  EXPECT_EQ(estimator.uncontended_delay_us(1554, 7), 34U + 67 + 52 + 16 + 44 + 16 + 252 + 16 + 28);
}

TEST(delay_estimate, is_the_idle_mediums_until_the_first_completion) {
  delay_estimator estimator(dsss_long());
  EXPECT_EQ(estimator.delay_us(3, 1534, rate_2mbps), 7678U);
  EXPECT_TRUE(estimator.on_completion({.peer = 3, .avg_contention_us16 = 1000 * 16, .avg_data_attempts_256 = 256}));
  EXPECT_EQ(estimator.delay_us(3, 1534, rate_2mbps), 1000U + 6328);
  EXPECT_EQ(estimator.delay_us(4, 1534, rate_2mbps), 7678U) << "another neighbour is another estimate";
  estimator.forget(3);
  EXPECT_EQ(estimator.delay_us(3, 1534, rate_2mbps), 7678U);
}

TEST(delay_estimate, scales_the_airtime_alone_to_size_and_rate) {
  delay_estimator estimator(dsss_long());
  // The averages that a saturated sender on an idle medium would have: DIFS + 15.5 slots, and the control frames.
  estimator.on_completion({.peer = 0, .avg_contention_us16 = 360 * 16, .avg_overhead_us16 = 990 * 16, .avg_data_attempts_256 = 256});
  EXPECT_EQ(estimator.delay_us(0, 1534, rate_2mbps), 7678U);
  EXPECT_EQ(estimator.delay_us(0, 74, rate_2mbps), 1838U);
  EXPECT_EQ(estimator.delay_us(0, 1534, 3), 1350U + 192 + 1116);  // 11 Mb/s: ceil(12272 / 11) us
  // A quarter of the DATA frames sent twice.
  estimator.on_completion({.peer = 0, .avg_contention_us16 = 360 * 16, .avg_overhead_us16 = 990 * 16, .avg_data_attempts_256 = 320});
  EXPECT_EQ(estimator.delay_us(0, 1534, rate_2mbps), 1350U + 6328 * 5 / 4);
}

TEST(delay_estimate, rounds_once_and_half_up) {
  delay_estimator estimator(dsss_long());
  // 7/16 + 1/16 us = half a microsecond: up. 7/16 alone: down.
  estimator.on_completion({.peer = 0, .avg_contention_us16 = 7, .avg_overhead_us16 = 1});
  EXPECT_EQ(estimator.delay_us(0, 100, rate_2mbps), 1U);
  estimator.on_completion({.peer = 0, .avg_contention_us16 = 7});
  EXPECT_EQ(estimator.delay_us(0, 100, rate_2mbps), 0U);
}

TEST(delay_estimate, survives_the_largest_averages) {
  delay_estimator estimator(dsss_long());
  estimator.on_completion(
      {.peer = 0, .avg_contention_us16 = UINT32_MAX, .avg_overhead_us16 = UINT32_MAX, .avg_data_attempts_256 = UINT32_MAX});
  EXPECT_EQ(estimator.delay_us(0, 4095, 0), UINT32_MAX);
}

TEST(delay_estimate, takes_no_slot_that_does_not_exist) {
  delay_estimator estimator(dsss_long());
  EXPECT_FALSE(estimator.on_completion({.peer = 16, .avg_contention_us16 = 16}));
  EXPECT_EQ(estimator.delay_us(16, 1534, rate_2mbps), 7678U);
  estimator.forget(255);
}

TEST(delay_estimate, reads_a_whole_completion_record) {
  completion_record record;
  record.peer = 5;
  record.avg_contention_us16 = 11;
  record.avg_overhead_us16 = 22;
  record.avg_data_attempts_256 = 33;
  const neighbour_averages averages = averages_of(record);
  EXPECT_EQ(averages.peer, 5);
  EXPECT_EQ(averages.avg_contention_us16, 11U);
  EXPECT_EQ(averages.avg_overhead_us16, 22U);
  EXPECT_EQ(averages.avg_data_attempts_256, 33U);
}

}  // namespace
}  // namespace perhop::policy
