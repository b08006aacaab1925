// SPDX-License-Identifier: GPL-2.0-or-later
//
// perhop-exact: makes studies of EXACT's algorithm and prints what they measured as one JSON object.
//   perhop-exact STUDY...     names as in the table below; all of them when none is named

#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "host/core/policy/tfrc_equation.hpp"
#include "host/core/policy/tfrc_loss_intervals.hpp"
#include "sim/exact/studies.hpp"

namespace {

using namespace perhop;
using namespace perhop::exact_study;
using nlohmann::json;

constexpr std::uint64_t seed = 20041117;

template <typename study_type>
json both_modes(study_type study) {
  return {{"m1", study(policy::exact_mode::m1)}, {"m2", study(policy::exact_mode::m2)}};
}

json gap(policy::exact_mode mode, bool positions_known, bool exclusive_medium) {
  const gap_result r = gap_study(mode, positions_known, exclusive_medium, 10, 20);
  return {{"chain_gaps", r.chain_gaps},
          {"mesh_gaps", r.mesh_gaps},
          {"mesh_worst", r.mesh_worst},
          {"largest_hello_bytes", r.largest_hello_bytes},
          {"most_hello_share", r.most_hello_share}};
}

json meshes(std::uint32_t first) {
  json plans = json::array();
  for (const mesh_plan& plan : mesh_plans(first, 20)) {
    json nodes = json::array();
    for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
      nodes.push_back({{"x_m", plan.nodes.at(node).x_m}, {"y_m", plan.nodes.at(node).y_m}});
    }
    plans.push_back({{"nodes", nodes}, {"paths", plan.paths}, {"optimum_bps", plan.optimum_bps}, {"eta", plan.eta}});
  }
  return plans;
}

json costs() {
  return both_modes([](policy::exact_mode mode) {
    json rows = json::object();
    for (const std::uint32_t flows : {10U, 100U, 1000U}) {
      const cost_result r = cost_study(mode, flows);
      rows[std::to_string(flows)] = {{"ns_per_packet", r.ns_per_packet},
                                     {"us_per_allocation", r.us_per_allocation},
                                     {"cpu_share", r.cpu_share},
                                     {"state_bytes", r.state_bytes},
                                     {"packets_per_s", r.packets_per_s}};
    }
    return rows;
  });
}

json tfrc() {
  json rates = json::object();
  for (const auto& [name, profile] : {std::pair{"paper", policy::tfrc_profile::paper}, {"rfc5348", policy::tfrc_profile::rfc5348}}) {
    for (const double p : {0.001, 0.01, 0.05, 0.1}) {
      rates[name].push_back(policy::tfrc_rate({.packet_bytes = 1000, .round_trip_s = 0.2, .loss_event_rate = p}, profile));
    }
  }
  policy::tfrc_loss_intervals intervals(8);
  json weights = json::array();
  for (std::size_t age = 0; age < 8; ++age) weights.push_back(intervals.weight(age) * 6);
  // Intervals of 10, 20, ... 80 packets, the newest last; then a long run without loss in each profile.
  policy::tfrc_loss_intervals discounted(8, policy::tfrc_profile::rfc5348);
  intervals.on_loss_event();
  discounted.on_loss_event();
  for (std::uint64_t packets = 10; packets <= 80; packets += 10) {
    for (policy::tfrc_loss_intervals* history : {&intervals, &discounted}) {
      history->on_packets(packets);
      history->on_loss_event();
    }
  }
  const double mean = intervals.mean_packets();
  for (policy::tfrc_loss_intervals* history : {&intervals, &discounted}) history->on_packets(1000);
  return {{"rates", rates},
          {"weights", weights},
          {"mean", mean},
          {"mean_running_1000", intervals.mean_packets()},
          {"mean_running_1000_discounted", discounted.mean_packets()}};
}

const std::map<std::string, std::function<json()>>& studies() {
  static const std::map<std::string, std::function<json()>> all{
      {"water_filling",
       [] {
         const auto r = water_filling_study(1000, seed);
         return json{{"instances", r.instances}, {"largest_error", r.largest_error}, {"largest_overrun", r.largest_overrun}};
       }},
      {"budget",
       [] {
         return both_modes([](policy::exact_mode mode) {
           const auto r = budget_study(mode, seed);
           return json{{"checks", r.checks}, {"largest_load", r.largest_load}};
         });
       }},
      {"reroute",
       [] {
         const auto r = reroute_study(100, seed);
         return json{{"learned_s", r.learned_s}, {"round_trip_s", r.round_trip_s}};
       }},
      {"join_leave",
       [] {
         return both_modes([](policy::exact_mode mode) {
           const auto r = join_leave_study(mode);
           return json{{"join_s", r.join_s}, {"leave_s", r.leave_s}, {"round_trip_s", r.round_trip_s}, {"interval_s", r.interval_s}};
         });
       }},
      {"mixed_rate",
       [] {
         return both_modes([](policy::exact_mode mode) {
           const auto r = mixed_rate_study(mode);
           return json{{"rate_ratio", r.rate_ratio}, {"time_ratio", r.time_ratio}};
         });
       }},
      {"surplus",
       [] {
         return both_modes([](policy::exact_mode mode) {
           const auto r = surplus_study(mode);
           return json{{"greedy_share", r.greedy_share}, {"later_share", r.later_share}, {"regained_s", r.regained_s}};
         });
       }},
      {"soft_state", [] { return json{{"quick_flows_s", soft_state_study(100'000)}, {"slow_flows_s", soft_state_study(2'000'000)}}; }},
      {"lost_reports",
       [] {
         json rows = json::array();
         for (std::uint64_t run = 0; run < 3; ++run) {
           const auto r = lost_report_study(0.5, seed + run);
           rows.push_back({{"sent", r.sent},
                           {"reports", r.reports},
                           {"lost", r.lost},
                           {"halvings", r.halvings},
                           {"window_violations", r.window_violations},
                           {"rate_share", r.rate_share}});
         }
         return rows;
       }},
      {"liar",
       [] {
         return both_modes([](policy::exact_mode mode) {
           json rows = json::array();
           for (const std::uint64_t claimed_bps : {std::uint64_t{11'000'000}, wire::unlimited_rate_bps, std::uint64_t{12'000}}) {
             const auto r = liar_study(mode, claimed_bps);
             rows.push_back({{"claimed_bps", claimed_bps}, {"gain", r.gain}, {"harm", r.harm}});
           }
           return rows;
         });
       }},
      {"oscillation",
       [] {
         return both_modes([](policy::exact_mode mode) {
           return json{{"2", oscillation_study(mode, 2)},
                       {"3", oscillation_study(mode, 3)},
                       {"4", oscillation_study(mode, 4)},
                       {"6", oscillation_study(mode, 6)}};
         });
       }},
      {"gap",
       [] {
         return json{{"m1", gap(policy::exact_mode::m1, true, true)},
                     {"m2", gap(policy::exact_mode::m2, true, false)},
                     {"m2_exclusive", gap(policy::exact_mode::m2, true, true)},
                     {"m2_hops", gap(policy::exact_mode::m2, false, false)}};
       }},
      {"cost", costs},
      // Constants of the router were chosen on meshes 101 to 120 and 301 to 320; a verdict takes others.
      {"meshes", [] { return meshes(501); }},
      {"meshes_of_tuning", [] { return meshes(101); }},
      {"tfrc", tfrc},
  };
  return all;
}

}  // namespace

int main(int count, char** words) {
  json result = json::object();
  for (int i = 1; i < count; ++i) {
    const auto study = studies().find(words[i]);
    if (study == studies().end()) {
      std::fprintf(stderr, "perhop-exact: no study %s; there are:", words[i]);
      for (const auto& [name, run] : studies()) std::fprintf(stderr, " %s", name.c_str());
      std::fputs("\n", stderr);
      return 2;
    }
    result[words[i]] = study->second();
  }
  if (count == 1) {
    for (const auto& [name, run] : studies()) result[name] = run();
  }
  std::puts(result.dump().c_str());
  return 0;
}
