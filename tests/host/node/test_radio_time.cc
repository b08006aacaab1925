// SPDX-License-Identifier: GPL-2.0-or-later
/// A radio's time against its TSF: what one says of the other between two looks, and when they no longer belong together.
#include "host/drivers/radio_time.hpp"

#include <gtest/gtest.h>

namespace perhop::drivers {
namespace {

constexpr std::uint64_t ticks_per_s = 184'320'000;  // no whole number of them is a microsecond
constexpr std::uint64_t begin_s = 1'764'000'000;

/// A radio of whose time so many seconds have passed, by an oscillator that is ahead of the TSF's.
time_look after(double passed_s, double ahead_ppm = 0) {
  const auto ticks = static_cast<std::uint64_t>(passed_s * (1 + 1e-6 * ahead_ppm) * static_cast<double>(ticks_per_s));
  return {.ticks = begin_s * ticks_per_s + ticks, .tsf_us = 1000 + static_cast<std::uint64_t>(passed_s * 1e6)};
}

TEST(time_line, ticks_since_1970_are_told_to_the_microsecond) {
  const time_line line(ticks_per_s, after(0));
  EXPECT_EQ(line.device_us(begin_s * ticks_per_s), begin_s * 1'000'000);
  EXPECT_EQ(line.device_us(begin_s * ticks_per_s + 184), begin_s * 1'000'000 + 1);
  EXPECT_EQ(line.device_us((begin_s + 1) * ticks_per_s - 1), begin_s * 1'000'000 + 1'000'000);
}

TEST(time_line, a_moment_of_the_tsf_before_or_behind_a_look_is_one_of_the_radio) {
  const time_line line(ticks_per_s, after(0));
  EXPECT_EQ(line.device_us_of_tsf(1000), begin_s * 1'000'000);
  EXPECT_EQ(line.device_us_of_tsf(1250), begin_s * 1'000'000 + 250);
  EXPECT_EQ(line.device_us_of_tsf(400), begin_s * 1'000'000 - 600);
}

TEST(time_line, oscillators_that_differ_are_followed) {
  time_line line(ticks_per_s, after(0, 40));
  for (double passed_s = 0.25; passed_s <= 60; passed_s += 0.25) {
    ASSERT_EQ(line.look(after(passed_s, 40)), 0) << passed_s;
    if (passed_s < 3) continue;
    // A quarter of a second behind the look it would be by 10 us off, were the ratio not known.
    const time_look later = after(passed_s + 0.25, 40);
    EXPECT_NEAR(static_cast<double>(line.device_us_of_tsf(later.tsf_us)), static_cast<double>(line.device_us(later.ticks)), 1.5)
        << passed_s;
  }
}

TEST(time_line, a_time_that_was_set_or_stood_is_told_in_seconds) {
  time_line line(ticks_per_s, after(0));
  EXPECT_EQ(line.look(after(0.25)), 0);
  time_look set = after(0.5);
  set.ticks += 3 * ticks_per_s;
  EXPECT_NEAR(line.look(set), 3, 1e-6);
  time_look further = after(0.75);
  further.ticks += 3 * ticks_per_s;
  EXPECT_EQ(line.look(further), 0) << "from there on both pass alike again";
  EXPECT_NEAR(line.look(after(1.0)), -3, 1e-6);
  time_look stood = after(1.25);
  stood.ticks -= ticks_per_s / 100;
  EXPECT_NEAR(line.look(stood), -0.01, 1e-6);
}

TEST(time_line, what_the_mediums_edges_move_is_no_jump_and_a_hundred_microseconds_are) {
  for (const int moved_us : {-8, 8}) {
    time_line line(ticks_per_s, after(0));
    time_look next = after(0.25);
    next.tsf_us += static_cast<std::uint64_t>(moved_us);
    EXPECT_EQ(line.look(next), 0) << moved_us;
  }
  time_line line(ticks_per_s, after(0));
  time_look next = after(0.25);
  next.tsf_us += 100;
  EXPECT_NEAR(line.look(next), -100e-6, 1e-6);
}

TEST(time_line, the_low_half_of_a_tsf_time_is_widened_by_the_nearest_look) {
  time_look now{.ticks = begin_s * ticks_per_s, .tsf_us = (std::uint64_t{7} << 32) + 500};
  const time_line line(ticks_per_s, now);
  const auto of = [&](std::uint32_t low) { return low + line.shift_of(low); };
  const auto base = static_cast<std::uint32_t>(begin_s * 1'000'000);
  EXPECT_EQ(of(500), base);
  EXPECT_EQ(of(2500), base + 2000);
  EXPECT_EQ(of(0xFFFF'FFFF), base - 501) << "before the low half turned over";
}

}  // namespace
}  // namespace perhop::drivers
