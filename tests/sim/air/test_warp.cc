// SPDX-License-Identifier: GPL-2.0-or-later
//
// Time warp changes nothing: random networks, each run in the three warp modes.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>

#include "run_json.hpp"
#include "sim/air/mac_traffic.hpp"
#include "sim/air/scripted_events.hpp"

namespace perhop::air {
namespace {

using nlohmann::json;

struct outcome {
  std::string lines;
  std::uint64_t mismatches;
  air_counters counters;
};

outcome simulate(json run, const char* warp) {
  run["warp"] = warp;
  const run_config config = parse_run_config(run.dump(), "run.json");
  std::ostringstream lines;
  run_report report(config, &lines);
  mac_traffic traffic(config, report, nullptr);
  air medium(config.air, traffic);
  traffic.attach(medium);
  scripted_events events(config.events);
  const auto end = static_cast<tick>(config.duration_s * ticks_per_second);
  while (medium.now() < end) {
    events.act(medium.now(), medium);
    traffic.act(medium.now());
    medium.advance(std::min({end, traffic.next_event(), events.next_event()}));
  }
  return {lines.str(), report.sum_mismatches(), medium.counters()};
}

/// A network and traffic that a seed decides.
json random_run(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<const char*> choices) { return *(choices.begin() + random() % choices.size()); };
  json run = two_node_run();
  run["seed"] = seed;
  run["duration_s"] = 0.25;
  run["mac"]["profile"] = pick({"dsss_long", "dsss_short", "ofdm_20mhz", "erp_short_slot"});
  run["mac"]["compat"] = pick({"standard", "ns2"});
  run["mac"]["rts_threshold_bytes"] = random() % 2 == 0 ? 0 : 500;
  run["medium"]["reception"] = pick({"ns2", "sinr"});
  run["medium"]["frame_error_rate"] = random() % 2 == 0 ? 0.0 : 0.05;

  const unsigned count = 2 + random() % 9;
  const unsigned shape = random() % 3;
  run["nodes"] = json::array();
  for (unsigned node = 0; node < count; ++node) {
    const double chain_m = 250.0 * node, mesh_m = 3.0 * node;
    const double x_m = shape == 0 ? chain_m : shape == 1 ? mesh_m : random() % 800;
    const double y_m = shape == 2 ? random() % 800 : 0;
    run["nodes"].push_back({{"x_m", x_m}, {"y_m", y_m}});
  }
  run["flows"] = json::array();
  for (unsigned src = 0; src < count; ++src) {
    for (unsigned dst = 0; dst < count; ++dst) {
      const double dx_m = run["nodes"][src]["x_m"].get<double>() - run["nodes"][dst]["x_m"].get<double>();
      const double dy_m = run["nodes"][src]["y_m"].get<double>() - run["nodes"][dst]["y_m"].get<double>();
      if (src == dst || std::hypot(dx_m, dy_m) > 250 || random() % 3 == 0) continue;
      json flow = {{"src", src}, {"dst", dst}, {"path_header", true}, {"ip_bytes", random() % 2 == 0 ? 40 : 1500}};
      flow["kind"] = pick({"mac_saturated", "mac_poisson"});
      if (flow["kind"] == "mac_poisson") flow["rate_packets_per_s"] = random() % 2 == 0 ? 20 : 400;
      run["flows"].push_back(flow);
      break;
    }
  }
  return run;
}

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
    std::mt19937 random(seed);
    run["mac"]["profile"] = seed % 4 == 0 ? "dsss_long" : "glomosim";
    run["mac"]["access_mode"] = seed % 2 == 0 ? "csma" : "fama";
    run["mac"]["mac_ack"] = random() % 4 == 0;
    run["mac"]["vacation_us"] = random() % 2 == 0 ? 20 : 3000;
    run["mac"]["data_rate_index"] = 0;
    if (run["mac"]["profile"] == "glomosim") run["medium"]["reception"] = "ns2";
    const outcome lazy = simulate(run, "on"), all = simulate(run, "all_nodes"), ticks = simulate(run, "every_tick");
    ASSERT_EQ(lazy.lines, all.lines) << "seed " << seed << ": " << run.dump();
    ASSERT_EQ(lazy.lines, ticks.lines) << "seed " << seed << ": " << run.dump();
    EXPECT_EQ(lazy.mismatches, 0U);
    transmissions += lazy.counters.transmissions;
  }
  EXPECT_GT(transmissions, 1000U) << "the networks hardly sent anything";
}

TEST(warp, leaves_a_network_that_changes_under_way_as_it_is) {
  std::uint64_t changed = 0, compared = 0;
  for (unsigned seed = 1; seed <= 16; ++seed) {
    json run = random_run(seed);
    if (run["flows"].empty()) continue;
    const std::string still = simulate(run, "on").lines;
    std::mt19937 random(seed);
    const auto count = static_cast<unsigned>(run["nodes"].size());
    run["events"] = json::array();
    for (unsigned at_us = 10'000; at_us < 240'000; at_us += 1 + random() % 40'000) {
      const unsigned node = random() % count, other = (node + 1 + random() % (count - 1)) % count;
      json event = {{"at_s", at_us * 1e-6}};
      switch (random() % 3) {
        case 0:
          event.update({{"kind", "move"}, {"node", node}, {"x_m", random() % 800}, {"y_m", random() % 400}});
          break;
        case 1:
          event.update({{"kind", "link_down"}, {"a", node}, {"b", other}});
          break;
        default:
          event.update({{"kind", "link_up"}, {"a", other}, {"b", node}});
      }
      run["events"].push_back(event);
    }
    const outcome lazy = simulate(run, "on"), all = simulate(run, "all_nodes"), ticks = simulate(run, "every_tick");
    ASSERT_EQ(lazy.lines, all.lines) << "seed " << seed << ": " << run.dump();
    ASSERT_EQ(lazy.lines, ticks.lines) << "seed " << seed << ": " << run.dump();
    EXPECT_EQ(lazy.mismatches, 0U);
    changed += lazy.lines != still;
    ++compared;
  }
  EXPECT_GT(changed, compared / 2) << "the events hardly change anything";
}

TEST(warp, a_seed_decides_a_run_and_another_one_makes_another) {
  const json run = random_run(5);
  json other = run;
  other["seed"] = 6;
  EXPECT_EQ(simulate(run, "on").lines, simulate(run, "on").lines);
  EXPECT_NE(simulate(run, "on").lines, simulate(other, "on").lines);
}

}  // namespace
}  // namespace perhop::air
