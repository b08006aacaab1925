// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is told late brings a node to where all that it heard would have brought it.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sim/air/deferred_indications.hpp"

namespace perhop::air {
namespace {

constexpr idle_waits waits{.difs_us = 50, .eifs_us = 364, .slot_us = 20};
constexpr std::uint32_t many_ticks = 0xff'ffff;

/// What a contending core counts, microsecond by microsecond (tick_shares_pkg.sv, interframe_space.sv, backoff_counter.sv).
struct account {
  tick now = 0;
  bool carrier = false, bad_end = false;
  tick nav_end = 0;
  std::uint32_t nav_us = 0, cca_us = 0, ifs_us = 0, slots_us = 0;
  std::uint32_t idle_us = 0, slots = 0, phase_us = 0;
  bool spaced = false;

  void pass(tick until) {
    for (; now < until; ++now) {
      const std::uint32_t space_us = bad_end ? waits.eifs_us : waits.difs_us;
      if (now < nav_end || carrier) {
        ++(now < nav_end ? nav_us : cca_us);
        idle_us = phase_us = 0;
      } else if (idle_us++ < space_us) {
        ++ifs_us;
        phase_us = 0;
      } else {
        ++slots_us;
        if (++phase_us == waits.slot_us) {
          ++slots;
          phase_us = 0;
        }
      }
      spaced = spaced || (now >= nav_end && !carrier && idle_us >= space_us);
    }
  }
};

TEST(deferred_indications, a_stretch_is_told_as_what_it_came_to) {
  deferred_indications held;
  const known_medium idle{};
  held.hold_edge(idle, true, waits, 100, true);
  held.hold_end(idle, true, waits, 500, false, 864, false);
  held.hold_edge(idle, true, waits, 824, true);
  held.hold_end(idle, true, waits, 7000, false, 7364, false);
  EXPECT_EQ(held.told_from(), 100U);
  EXPECT_EQ(held.access_at(waits, 3), 7364U + 50 + 3 * 20);
  const medium_summary told = held.summary(waits, 7450, many_ticks);
  EXPECT_EQ(told.us, 7350U);
  EXPECT_EQ(told.nav_us, 364U + 364U);
  EXPECT_EQ(told.cca_us, 400U + 6136U);
  EXPECT_EQ(told.ifs_us, 50U);
  EXPECT_EQ(told.slots, 1U);
  EXPECT_EQ(told.phase_us, 16U);
  EXPECT_EQ(told.idle_us, 86U);
  EXPECT_EQ(told.nav_left_us, 0U);
  EXPECT_TRUE(told.heard && told.spaced && !told.bad);
}

TEST(deferred_indications, a_contending_node_is_told_what_it_would_have_counted) {
  std::mt19937 random(3);
  std::size_t with_slots = 0, within_slots = 0, reserved_yet = 0;
  for (int round = 0; round < 50'000; ++round) {
    account core{.now = 1000};
    core.carrier = random() % 3 == 0;
    core.bad_end = random() % 4 == 0;
    core.nav_end = random() % 2 == 0 ? 0 : 1000 + random() % 60;
    known_medium known{.carrier = core.carrier, .bad_end = core.bad_end, .reserved_until = core.nav_end};
    deferred_indications held;
    tick now = 1000 + random() % 40;
    for (unsigned count = 1 + random() % 8; count > 0; --count) {
      const bool opens = !held.any();
      if (opens) {
        // What it knows comes first, and is not told again.
        core.pass(std::max(now, core.nav_end));
        core = {.now = core.now, .carrier = core.carrier, .bad_end = core.bad_end, .nav_end = core.nav_end};
      }
      const bool carrier = opens ? known.carrier : held.carrier();
      const bool edge = random() % 2 == 0;
      const bool after = edge ? !carrier : carrier && random() % 4 == 0;
      const bool bad = random() % 4 == 0;
      tick nav_end = now + (edge || bad ? 0 : random() % 120);
      if (opens && !carrier && !after && std::max(nav_end, known.reserved_until) <= now) nav_end = now + 1;  // the scheduler lets pass
      core.pass(now);
      if (edge) {
        held.hold_edge(known, true, waits, now, after);
      } else {
        held.hold_end(known, true, waits, now, bad, nav_end, after);
        core.nav_end = std::max(core.nav_end, nav_end);
        core.bad_end = bad;
      }
      core.carrier = after;
      now += random() % 3 == 0 ? 300 + random() % 200 : 1 + random() % 100;
    }
    core.pass(now);
    if (!core.carrier) {
      // Nothing more is heard: the slot that is left ends when the core would end it.
      account later = core;
      const std::uint32_t slots = core.slots + 2;
      while (later.slots < slots) later.pass(later.now + 1);
      deferred_indications passed = held;
      passed.summary(waits, now, many_ticks);
      EXPECT_EQ(passed.access_at(waits, slots), later.now) << "round " << round;
      EXPECT_EQ(held.access_at(waits, slots), later.now) << "round " << round;
    }
    const medium_summary told = held.summary(waits, now, many_ticks);
    const tick told_us = now > held.told_from() ? now - held.told_from() : 0;
    ASSERT_EQ(told.us, told_us) << "round " << round;
    if (told_us == 0) continue;
    ASSERT_EQ(told.nav_us, core.nav_us) << "round " << round;
    ASSERT_EQ(told.cca_us, core.cca_us) << "round " << round;
    ASSERT_EQ(told.ifs_us, core.ifs_us) << "round " << round;
    ASSERT_EQ(told.us - told.nav_us - told.cca_us - told.ifs_us, core.slots_us) << "round " << round;
    ASSERT_EQ(told.slots, core.slots) << "round " << round;
    ASSERT_EQ(told.phase_us, core.phase_us) << "round " << round;
    ASSERT_EQ(told.spaced, core.spaced) << "round " << round;
    ASSERT_EQ(told.idle_us, core.idle_us) << "round " << round;
    ASSERT_TRUE(told.nav_left_us == 0 || now + told.nav_left_us == core.nav_end) << "round " << round;
    ASSERT_TRUE(!told.heard || told.bad == core.bad_end) << "round " << round;
    with_slots += told.slots != 0;
    within_slots += told.phase_us != 0;
    reserved_yet += told.nav_left_us != 0;
  }
  EXPECT_GT(with_slots, 5000U);
  EXPECT_GT(within_slots, 2000U);
  EXPECT_GT(reserved_yet, 2000U);
}

TEST(deferred_indications, an_edge_of_the_last_tick_leaves_the_idle_time_before_it) {
  deferred_indications held;
  const known_medium idle{.idle_from = 900};
  held.hold_edge(idle, true, waits, 1000, true);
  held.hold_edge(idle, true, waits, 1200, false);
  held.hold_edge(idle, true, waits, 1260, true);
  EXPECT_EQ(held.summary(waits, 1260, many_ticks).idle_us, 60U);
  EXPECT_EQ(held.summary(waits, 1261, many_ticks).idle_us, 0U);
}

TEST(deferred_indications, an_idle_node_is_told_since_when_the_medium_is_idle_and_what_reserves_it) {
  deferred_indications held;
  const known_medium idle{};
  held.hold_edge(idle, false, waits, 1000, true);
  held.hold_end(idle, false, waits, 1300, false, 3000, false);
  held.hold_end(idle, false, waits, 1400, true, 1400, false);
  EXPECT_TRUE(held.bad_end());
  const medium_summary reserved = held.summary(waits, 2000, many_ticks);
  EXPECT_EQ(reserved.nav_left_us, 1000U);
  EXPECT_EQ(reserved.idle_us, 0U);
  EXPECT_TRUE(reserved.heard && reserved.bad);
  const medium_summary over = held.summary(waits, 3100, many_ticks);
  EXPECT_EQ(over.nav_left_us, 0U);
  EXPECT_EQ(over.idle_us, 100U);
  EXPECT_EQ(held.summary(waits, 200'000, many_ticks).idle_us, 0xffffU) << "more than the core counts";
}

TEST(deferred_indications, what_the_core_knows_to_be_reserved_is_not_told) {
  deferred_indications held;
  const known_medium reserved{.reserved_until = 2000};
  held.hold_edge(reserved, true, waits, 1000, true);
  held.hold_edge(reserved, true, waits, 2100, false);
  EXPECT_EQ(held.told_from(), 2000U);
  EXPECT_EQ(held.summary(waits, 2100, many_ticks).us, 100U);
  EXPECT_EQ(held.summary(waits, 2100, many_ticks).cca_us, 100U);
}

}  // namespace
}  // namespace perhop::air
