// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is shown late brings a node to where all that it heard would have brought it.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "sim/air/deferred_indications.hpp"

namespace perhop::air {
namespace {

/// What a contending core counts, microsecond by microsecond (gateware/rtl/mac/tick_shares_pkg.sv), and how the medium stands.
struct account {
  tick now = 0;
  bool carrier = false, bad_end = false;
  tick nav_end = 0;
  tick reserved_us = 0, busy_us = 0, idle_us = 0;
  tick idle_from = 0;

  void pass(tick until) {
    ASSERT_GE(until, now) << "shown out of order";
    for (; now < until; ++now) {
      if (now < nav_end) {
        ++reserved_us;
        idle_from = now + 1;
      } else if (carrier) {
        ++busy_us;
        idle_from = now + 1;
      } else {
        ++idle_us;
      }
    }
  }
  void hear(const showing& indication) {
    pass(indication.at);
    carrier = indication.carrier;
    if (!indication.end) return;
    if (indication.good) nav_end = std::max(nav_end, now + indication.duration_us);
    bad_end = !indication.good;
  }
};

known_medium known(const account& core) {
  return {.carrier = core.carrier, .bad_end = core.bad_end, .idle_from = core.idle_from, .reserved_until = core.nav_end};
}

std::vector<showing> list(const showings& shown) { return {shown.begin(), shown.end()}; }

TEST(deferred_indications, a_stretch_is_shown_as_one_carrier_and_one_reservation) {
  deferred_indications held;
  const known_medium idle{};
  held.hold_edge(idle, 100, true);
  held.hold_end(idle, 500, false, 864, false);
  held.hold_edge(idle, 824, true);
  held.hold_end(idle, 7000, false, 7364, false);
  EXPECT_EQ(held.free_from(), 7364U);
  EXPECT_EQ(held.stands_from(), 100U);
  const std::vector<showing> shown = list(held.for_contending(idle, 8000));
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_EQ(shown[0].at, 100U);
  EXPECT_TRUE(shown[0].carrier && !shown[0].end);
  EXPECT_EQ(shown[1].at, 100U + 400 + 6136);
  EXPECT_TRUE(!shown[1].carrier && shown[1].end && shown[1].good);
  EXPECT_EQ(shown[1].at + shown[1].duration_us, 7364U);
}

TEST(deferred_indications, a_contending_node_counts_what_it_would_have_counted) {
  std::mt19937 random(3);
  std::size_t heard_indications = 0, shown_indications = 0, outlasted = 0;
  for (int round = 0; round < 20'000; ++round) {
    account core{.now = 1000};
    core.carrier = random() % 4 == 0;
    core.bad_end = random() % 4 == 0;
    core.nav_end = random() % 2 == 0 ? 0 : 1000 + random() % 60;
    const known_medium before = known(core);
    account plain = core, lazy = core;
    deferred_indications held;
    tick now = 1000, last = 1000;
    for (unsigned count = 1 + random() % 6; count > 0; --count) {
      now += 1 + random() % 50;
      const bool carrier = held.any() ? held.carrier() : before.carrier;
      if (held.any() && !carrier) {
        // Idle time ends a stretch.
        if (held.free_from() < last) break;
        now = std::min(now, held.free_from());
      }
      last = now;
      if (random() % 2 == 0) {
        held.hold_edge(before, now, !carrier);
        plain.hear({.at = now, .carrier = !carrier});
      } else {
        const bool bad = random() % 4 == 0;
        const auto duration_us = static_cast<std::uint16_t>(bad ? 0 : random() % 80);
        const bool after = carrier && random() % 4 == 0;
        held.hold_end(before, now, bad, now + duration_us, after);
        plain.hear({.at = now, .carrier = after, .end = true, .good = !bad, .duration_us = duration_us});
      }
      ++heard_indications;
    }
    const tick evaluated_at = last + random() % 100;
    for (const showing& next : held.for_contending(before, evaluated_at)) {
      lazy.hear(next);
      ++shown_indications;
      outlasted += next.end && next.carrier;
    }
    lazy.pass(evaluated_at);
    plain.pass(evaluated_at);
    lazy.carrier = plain.carrier;  // an edge of this tick comes with the evaluation
    ASSERT_EQ(lazy.reserved_us, plain.reserved_us) << "round " << round;
    ASSERT_EQ(lazy.busy_us, plain.busy_us) << "round " << round;
    ASSERT_EQ(lazy.idle_us, plain.idle_us) << "round " << round;
    ASSERT_EQ(lazy.bad_end, plain.bad_end) << "round " << round;
    ASSERT_EQ(std::max(lazy.nav_end, evaluated_at), std::max(plain.nav_end, evaluated_at)) << "round " << round;
    ASSERT_EQ(held.carrier(), plain.carrier) << "round " << round;
    if (!plain.carrier && plain.nav_end <= evaluated_at) ASSERT_EQ(lazy.idle_from, plain.idle_from) << "round " << round;
  }
  EXPECT_LT(shown_indications, heard_indications * 2 / 3);
  EXPECT_GT(outlasted, 100U);
}

TEST(deferred_indications, an_idle_node_is_shown_since_when_the_medium_is_idle_only_if_that_can_matter) {
  deferred_indications held;
  const known_medium idle{};
  held.hold_edge(idle, 1000, true);
  held.hold_edge(idle, 1300, false);
  held.hold_end(idle, 1310, false, 1500, false);
  EXPECT_TRUE(list(held.for_idle(idle, 1400, 50)).empty()) << "idle time counts from the reservation's end, later";
  EXPECT_TRUE(list(held.for_idle(idle, 1550, 50)).empty()) << "long enough for any inter-frame space";
  const std::vector<showing> shown = list(held.for_idle(idle, 1549, 50));
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_TRUE(shown[0].carrier);
  EXPECT_FALSE(shown[1].carrier);
  EXPECT_EQ(shown[1].at, 1500U);
  EXPECT_EQ(list(held.for_idle({.nav_stands = false}, 1550, 50)).size(), 2U) << "the core's NAV may be other than is known";
}

TEST(deferred_indications, an_idle_node_is_told_late_what_reserves_the_medium) {
  deferred_indications held;
  const known_medium idle{};
  held.hold_end(idle, 1000, false, 3000, true);
  held.hold_end(idle, 1200, true, 1200, false);
  EXPECT_TRUE(held.bad_end(idle));
  const std::vector<showing> shown = list(held.ends_for_idle(idle, 2000));
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_TRUE(shown[0].good);
  EXPECT_EQ(shown[0].at + shown[0].duration_us, 3000U);
  EXPECT_FALSE(shown[1].good);
  EXPECT_EQ(list(held.ends_for_idle(idle, 3000)).size(), 1U) << "the reservation is over, the frame in error was the last";
}

}  // namespace
}  // namespace perhop::air
