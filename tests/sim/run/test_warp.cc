// SPDX-License-Identifier: GPL-2.0-or-later
//
// Time warp changes nothing: random networks, each run in the three warp modes.
#include <gtest/gtest.h>

#include "random_run.hpp"

namespace perhop::run {
namespace {

using nlohmann::json;

TEST(warp, leaves_every_transmission_and_record_as_it_is) {
  std::uint64_t transmissions = 0, lazy_clocks = 0, all_clocks = 0;
  for (unsigned seed = 1; seed <= 24; ++seed) {
    const json run = random_run(seed);
    if (run["flows"].empty()) continue;
    const outcome lazy = simulate(run, "on"), all = simulate(run, "all_nodes"), ticks = simulate(run, "every_tick");
    ASSERT_EQ(lazy.lines, all.lines) << "seed " << seed << ": " << run.dump();
    ASSERT_EQ(lazy.lines, ticks.lines) << "seed " << seed << ": " << run.dump();
    EXPECT_EQ(lazy.mismatches, 0U);
    EXPECT_EQ(lazy.counters.transmissions, ticks.counters.transmissions);
    transmissions += lazy.counters.transmissions;
    lazy_clocks += lazy.counters.clocks;
    all_clocks += all.counters.clocks;
  }
  EXPECT_GT(transmissions, 3000U) << "the networks hardly sent anything";
  EXPECT_LT(lazy_clocks, all_clocks / 2) << "lazy evaluation saves little";
}

TEST(warp, leaves_the_other_access_modes_as_they_are) {
  std::uint64_t transmissions = 0;
  for (unsigned seed = 1; seed <= 16; ++seed) {
    json run = random_run(seed);
    if (run["flows"].empty()) continue;
    use_other_access_modes(run, seed);
    const outcome lazy = simulate(run, "on"), all = simulate(run, "all_nodes"), ticks = simulate(run, "every_tick");
    ASSERT_EQ(lazy.lines, all.lines) << "seed " << seed << ": " << run.dump();
    ASSERT_EQ(lazy.lines, ticks.lines) << "seed " << seed << ": " << run.dump();
    EXPECT_EQ(lazy.mismatches, 0U);
    transmissions += lazy.counters.transmissions;
  }
  EXPECT_GT(transmissions, 1000U) << "the networks hardly sent anything";
}

TEST(warp, leaves_other_settings_of_fama_as_they_are) {
  std::uint64_t transmissions = 0, changed = 0, compared = 0;
  for (unsigned seed = 1; seed <= 24; ++seed) {
    json run = random_run(seed);
    if (run["flows"].empty()) continue;
    use_other_access_modes(run, 2 * seed + 1);  // fama, and the profile glomosim
    const std::string own = simulate(run, "on").lines;
    use_other_fama(run, seed);
    const outcome lazy = simulate(run, "on"), all = simulate(run, "all_nodes"), ticks = simulate(run, "every_tick");
    ASSERT_EQ(lazy.lines, all.lines) << "seed " << seed << ": " << run.dump();
    ASSERT_EQ(lazy.lines, ticks.lines) << "seed " << seed << ": " << run.dump();
    EXPECT_EQ(lazy.mismatches, 0U);
    transmissions += lazy.counters.transmissions;
    changed += lazy.lines != own;
    ++compared;
  }
  EXPECT_GT(transmissions, 1000U) << "the networks hardly sent anything";
  EXPECT_EQ(changed, compared) << "the settings change nothing";
}

TEST(warp, leaves_a_network_that_changes_under_way_as_it_is) {
  std::uint64_t changed = 0, compared = 0;
  for (unsigned seed = 1; seed <= 16; ++seed) {
    json run = random_run(seed);
    if (run["flows"].empty()) continue;
    const std::string still = simulate(run, "on").lines;
    add_random_events(run, seed);
    const outcome lazy = simulate(run, "on"), all = simulate(run, "all_nodes"), ticks = simulate(run, "every_tick");
    ASSERT_EQ(lazy.lines, all.lines) << "seed " << seed << ": " << run.dump();
    ASSERT_EQ(lazy.lines, ticks.lines) << "seed " << seed << ": " << run.dump();
    EXPECT_EQ(lazy.mismatches, 0U);
    changed += lazy.lines != still;
    ++compared;
  }
  EXPECT_GT(changed, compared / 2) << "the events hardly change anything";
}

TEST(warp, leaves_a_network_in_motion_as_it_is) {
  std::uint64_t changed = 0, compared = 0;
  for (unsigned seed = 1; seed <= 16; ++seed) {
    json run = random_run(seed);
    if (run["flows"].empty()) continue;
    set_in_motion(run, seed);
    const outcome lazy = simulate(run, "on"), all = simulate(run, "all_nodes"), ticks = simulate(run, "every_tick");
    ASSERT_EQ(lazy.lines, all.lines) << "seed " << seed << ": " << run.dump();
    ASSERT_EQ(lazy.lines, ticks.lines) << "seed " << seed << ": " << run.dump();
    EXPECT_EQ(lazy.mismatches, 0U);
    for (json& event : run["events"]) event.erase("speed_mps");
    changed += lazy.lines != simulate(run, "on").lines;
    ++compared;
  }
  EXPECT_GT(changed, compared / 2) << "to go and to be there at once is nearly the same";
}

TEST(warp, a_seed_decides_a_run_and_another_one_makes_another) {
  const json run = random_run(5);
  json other = run;
  other["seed"] = 6;
  EXPECT_EQ(simulate(run, "on").lines, simulate(run, "on").lines);
  EXPECT_NE(simulate(run, "on").lines, simulate(other, "on").lines);
}

}  // namespace
}  // namespace perhop::run
