// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "sim/live/lateness.hpp"

namespace perhop::live {
namespace {

TEST(lateness, a_quantile_is_never_told_better_than_it_was) {
  lateness_histogram late;
  EXPECT_EQ(late.quantile_us(0.999), 0U);
  for (std::uint64_t us = 0; us < 1000; ++us) late.add(us);
  EXPECT_EQ(late.events(), 1000U);
  EXPECT_EQ(late.max_us(), 999U);
  EXPECT_GE(late.quantile_us(0.5), 500U);
  EXPECT_LE(late.quantile_us(0.5), 511U);
  EXPECT_EQ(late.quantile_us(0.999), 999U);
  EXPECT_EQ(late.late_1ms(), 0U);
  late.add(1000);
  EXPECT_EQ(late.late_1ms(), 1U);
}

TEST(lateness, one_late_event_in_ten_thousand_is_beyond_the_quantile_and_two_in_a_thousand_are_not) {
  lateness_histogram late;
  for (int i = 0; i < 9'999; ++i) late.add(30);
  late.add(5'000);
  EXPECT_EQ(late.quantile_us(0.999), 31U);
  EXPECT_EQ(late.late_1ms(), 1U);
  for (int i = 0; i < 20; ++i) late.add(5'000);
  EXPECT_EQ(late.quantile_us(0.999), 5'000U);
}

TEST(lateness, no_lateness_is_too_long) {
  lateness_histogram late;
  late.add(~std::uint64_t{0});
  EXPECT_EQ(late.events(), 1U);
  EXPECT_EQ(late.max_us(), ~std::uint64_t{0});
}

}  // namespace
}  // namespace perhop::live
