// SPDX-License-Identifier: GPL-2.0-or-later
/// Networks and traffic that a seed decides, and what becomes of them.
#pragma once

#include <cmath>
#include <random>
#include <sstream>

#include "run_json.hpp"
#include "sim/run/mac_traffic.hpp"
#include "sim/run/scripted_events.hpp"

namespace perhop::run {

struct outcome {
  std::string lines;
  std::uint64_t mismatches;
  air_counters counters;
};

inline outcome simulate(nlohmann::json run, const char* warp) {
  run["warp"] = warp;
  const run_config config = parse_run_config(run.dump(), "run.json");
  std::ostringstream lines;
  run_report report(config, &lines);
  mac_traffic traffic(config, report, nullptr);
  perhop::air::air medium(config.air, traffic);
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
inline nlohmann::json random_run(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<const char*> choices) { return *(choices.begin() + random() % choices.size()); };
  using nlohmann::json;
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

/// The access modes csma and fama instead of dcf.
inline void use_other_access_modes(nlohmann::json& run, unsigned seed) {
  std::mt19937 random(seed);
  run["mac"]["profile"] = seed % 4 == 0 ? "dsss_long" : "glomosim";
  run["mac"]["access_mode"] = seed % 2 == 0 ? "csma" : "fama";
  run["mac"]["mac_ack"] = random() % 4 == 0;
  run["mac"]["vacation_us"] = random() % 2 == 0 ? 20 : 3000;
  run["mac"]["data_rate_index"] = 0;
  if (run["mac"]["profile"] == "glomosim") run["medium"]["reception"] = "ns2";
}

/// Settings of access mode fama that the gateware's own mode does not have.
inline void use_other_fama(nlohmann::json& run, unsigned seed) {
  std::mt19937 random(seed);
  run["mac"]["access_mode"] = "fama";
  run["mac"]["compat"] = "standard";
  run["mac"]["fama"] = {{"sifs_us", random() % 2 == 0 ? 25 : 390}, {"cts_us", 597}, {"hold", random() % 4 != 0}};
  if (random() % 2 == 0) run["mac"]["fama"]["noise_us"] = random() % 2 == 0 ? 400 : 6150;
  if (random() % 2 == 0) run["mac"]["fama"]["random_step_us"] = 81;
  if (random() % 4 == 0) run["mac"]["fama"]["rts_us"] = 150;
  run["mac"]["fama"]["nav"] = random() % 4 != 0;
}

/// Nodes move, links and nodes come and go, and the rate of lost frames changes.
inline void add_random_events(nlohmann::json& run, unsigned seed) {
  using nlohmann::json;
  std::mt19937 random(seed);
  const auto count = static_cast<unsigned>(run["nodes"].size());
  run["events"] = json::array();
  for (unsigned at_us = 10'000; at_us < 240'000; at_us += 1 + random() % 40'000) {
    const unsigned node = random() % count, other = (node + 1 + random() % (count - 1)) % count;
    json event = {{"at_s", at_us * 1e-6}};
    switch (random() % 6) {
      case 0:
        event.update({{"kind", "move"}, {"node", node}, {"x_m", random() % 800}, {"y_m", random() % 400}});
        break;
      case 1:
        event.update({{"kind", "link_down"}, {"a", node}, {"b", other}});
        break;
      case 2:
        event.update({{"kind", "link_up"}, {"a", other}, {"b", node}});
        break;
      case 3:
        event.update({{"kind", "node_down"}, {"node", node}});
        break;
      case 4:
        event.update({{"kind", "node_up"}, {"node", node}});
        break;
      default:
        event.update({{"kind", "loss"}, {"frame_error_rate", random() % 4 * 0.1}});
    }
    run["events"].push_back(event);
  }
}

/// All nodes go from place to place, some of them turning under way, some stopping; a frame's links change while others are on the air.
inline void set_in_motion(nlohmann::json& run, unsigned seed) {
  using nlohmann::json;
  std::mt19937 random(seed);
  const auto count = static_cast<unsigned>(run["nodes"].size());
  run["events"] = json::array();
  for (unsigned at_us = 0; at_us < 240'000; at_us += 1 + random() % 20'000) {
    json event = {{"at_s", at_us * 1e-6}, {"kind", "move"}, {"node", random() % count}};
    // So fast that a quarter of a second leads in and out of range: the speed of light has room for it.
    event.update({{"x_m", random() % 800}, {"y_m", random() % 400}, {"speed_mps", 500 + random() % 9000}});
    run["events"].push_back(event);
  }
}

}  // namespace perhop::run
