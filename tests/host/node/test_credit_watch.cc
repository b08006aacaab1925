// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/credit_watch.hpp"

#include <gtest/gtest.h>

namespace perhop::node {
namespace {

constexpr policy::time_us second_us = 1'000'000;

/// Looks whenever the watch wants to, until then. @return how often it found that the MAC keeps a packet
int look_until(credit_watch& watch, policy::time_us end) {
  int incidents = 0;
  while (watch.next_look() && *watch.next_look() <= end) incidents += watch.look(*watch.next_look(), std::nullopt);
  return incidents;
}

TEST(credit_watch, without_packets_there_is_nothing_to_look_at) {
  credit_watch watch;
  EXPECT_FALSE(watch.next_look());
  watch.on_first(0, 1, std::nullopt);
  EXPECT_EQ(watch.next_look(), second_us);
  watch.on_first(10, std::nullopt, std::nullopt);
  EXPECT_FALSE(watch.next_look());
  EXPECT_FALSE(watch.look(100 * second_us, std::nullopt));
}

TEST(credit_watch, a_packet_kept_for_five_seconds_is_an_incident_until_one_is_completed) {
  credit_watch watch;
  watch.on_first(0, 1, std::nullopt);
  EXPECT_EQ(look_until(watch, 5 * second_us - 1), 0);
  EXPECT_FALSE(watch.failed());
  EXPECT_EQ(look_until(watch, 5 * second_us), 1);
  EXPECT_TRUE(watch.failed());
  watch.on_first(5 * second_us, std::nullopt, std::nullopt);
  watch.on_first(6 * second_us, 2, std::nullopt);
  EXPECT_TRUE(watch.failed()) << "nothing has been completed yet";
  watch.on_completion();
  EXPECT_FALSE(watch.failed());
}

TEST(credit_watch, a_slow_mac_that_goes_on_is_none) {
  credit_watch watch;
  int incidents = 0;
  for (std::uint32_t cookie = 0; cookie < 10; ++cookie) {
    watch.on_first(cookie * 4 * second_us, cookie, std::nullopt);
    incidents += look_until(watch, (cookie + 1) * 4 * second_us);
  }
  EXPECT_EQ(incidents, 0);
}

TEST(credit_watch, a_mac_whose_own_clock_is_slower_is_given_as_much_of_its_own_time) {
  constexpr policy::time_us slower = 100;
  credit_watch watch;
  // Its clock passes the end of 32 bits meanwhile.
  const auto mac_us = [](policy::time_us now) { return std::uint32_t{0} - 1000 + static_cast<std::uint32_t>(now / slower); };
  watch.on_first(0, 1, mac_us(0));
  policy::time_us found = 0;
  for (policy::time_us now = second_us; found == 0 && now < 1000 * second_us; now += second_us) {
    if (watch.look(now, mac_us(now))) found = now;
  }
  EXPECT_EQ(found, slower * credit_watch::patience_mac_us);
  EXPECT_TRUE(watch.failed());
  EXPECT_FALSE(watch.look(found + 5 * second_us, mac_us(found + 5 * second_us))) << "its patience begins anew";
}

TEST(credit_watch, a_mac_whose_own_clock_is_right_is_given_five_looks) {
  credit_watch watch;
  watch.on_first(0, 1, 0);
  unsigned looks = 1;
  while (!watch.look(looks * second_us, looks * 1'000'000 - 200'000)) ++looks;
  EXPECT_EQ(looks, credit_watch::patience_looks);
}

TEST(credit_watch, one_packet_that_is_never_completed_is_found_while_others_are) {
  credit_watch watch;
  watch.on_first(0, 1, std::nullopt);
  for (int later = 0; later < 100; ++later) watch.on_completion();
  EXPECT_EQ(look_until(watch, 5 * second_us), 1);
}

TEST(credit_watch, a_daemon_that_was_stopped_for_a_minute_has_not_seen_the_mac_fail) {
  credit_watch watch;
  watch.on_first(0, 1, std::nullopt);
  EXPECT_FALSE(watch.look(60 * second_us, std::nullopt));
  EXPECT_EQ(watch.next_look(), 61 * second_us);
}

TEST(credit_watch, a_mac_that_goes_on_failing_is_found_again_and_one_with_nothing_to_do_is_forgiven) {
  credit_watch watch;
  watch.on_first(0, 1, std::nullopt);
  EXPECT_EQ(look_until(watch, 5 * second_us), 1);
  watch.on_first(5 * second_us, 2, std::nullopt);
  EXPECT_EQ(look_until(watch, 10 * second_us), 1);
  watch.on_first(10 * second_us, std::nullopt, std::nullopt);
  EXPECT_EQ(look_until(watch, 15 * second_us - 1), 0);
  EXPECT_TRUE(watch.failed());
  EXPECT_EQ(look_until(watch, 20 * second_us), 0);
  EXPECT_FALSE(watch.failed());
  EXPECT_FALSE(watch.next_look());
}

}  // namespace
}  // namespace perhop::node
