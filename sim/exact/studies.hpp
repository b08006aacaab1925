// SPDX-License-Identifier: GPL-2.0-or-later
//
// What EXACT's design has to show (rows E-01 to E-10, X-18, X-19 of sim/experiments/rows.yaml), each as a function that
// measures and returns numbers. Tests hold them to bounds, perhop-exact prints them.
#pragma once

#include <cstdint>
#include <vector>

#include "host/core/policy/exact_router.hpp"
#include "sim/exact/topology.hpp"

namespace perhop::exact_study {

/// E-01: shares of random instances beside the linear program's.
struct water_filling_result {
  std::uint32_t instances = 0;
  double largest_error = 0;    ///< relative, over all flows
  double largest_overrun = 0;  ///< of a budget, relative; below 0 when none was ever reached
};
water_filling_result water_filling_study(std::uint32_t instances, std::uint64_t seed);

/// E-02: sum of cost * allocation over the budget, after every event of a router under random and hostile packets.
struct budget_result {
  std::uint64_t checks = 0;
  double largest_load = 0;  ///< relative to eta
};
budget_result budget_study(policy::exact_mode mode, std::uint64_t seed);

/// E-03: from the first data packet on a new path to a rate within 5 % of what that path's routers allow.
struct reroute_result {
  std::vector<double> learned_s;     ///< for each re-route
  std::vector<double> round_trip_s;  ///< of the new path
};
reroute_result reroute_study(std::uint32_t reroutes, std::uint64_t seed);

/// E-04: until all rates are within 10 % of the fair share.
struct join_leave_result {
  std::vector<double> join_s;
  std::vector<double> leave_s;
  double round_trip_s = 0;  ///< largest seen
  double interval_s = 0;    ///< Tc
};
join_leave_result join_leave_study(policy::exact_mode mode);

/// E-05: two flows of one node to next hops at 2 and 11 Mb/s.
struct mixed_rate_result {
  double rate_ratio = 0;  ///< rate mode: slow over fast
  double time_ratio = 0;  ///< airtime mode: channel time of the slow over that of the fast
};
mixed_rate_result mixed_rate_study(policy::exact_mode mode);

/// E-06: a flow that wants 100 kb/s beside a greedy one, and then wants all.
struct surplus_result {
  double greedy_share = 0;  ///< of its optimum while the other is limited
  double later_share = 0;   ///< the same of the other, once it is not
  double regained_s = 0;    ///< until the other has 90 % of the fair share
};
surplus_result surplus_study(policy::exact_mode mode);

/// E-07: 1000 flows fall silent.
double soft_state_study(std::uint64_t gap_us);

/// E-08: half of the reports never arrive.
struct lost_report_result {
  std::uint64_t sent = 0;
  std::uint64_t reports = 0;
  std::uint64_t lost = 0;
  std::uint64_t halvings = 0;
  std::uint64_t window_violations = 0;
  double rate_share = 0;  ///< mean rate over the optimum
};
lost_report_result lost_report_study(double loss, std::uint64_t seed);

/// E-09: what a flow that claims to use `claimed_bps` gets, over what it gets when honest.
struct liar_result {
  double gain = 0;
  double harm = 0;  ///< what the honest neighbour loses, share of what it had
};
liar_result liar_study(policy::exact_mode mode, std::uint64_t claimed_bps);

/// Step response: a second flow joins on a chain; swing of the first one's rate once it has settled, (max - min) / mean.
double oscillation_study(policy::exact_mode mode, std::uint32_t hops);

/// Distance of the rates from the optimum.
struct gap_result {
  std::vector<double> chain_gaps;  ///< single flow over 1, 2, ... hops: |rate / optimum - 1|
  std::vector<double> mesh_gaps;   ///< the largest of the mesh's flows
  std::vector<double> mesh_worst;  ///< smallest rate / optimum
  std::size_t largest_hello_bytes = 0;
  double most_hello_share = 0;  ///< of the time of the station that senses most hellos, in any mesh, after the first 10 s
};
gap_result gap_study(policy::exact_mode mode, bool positions_known, bool exclusive_medium, std::uint32_t chains, std::uint32_t meshes);

/// Random meshes as those of gap_study, from one number on, for runs of the same meshes on the air (sim/bench/bench_mesh.py).
struct mesh_plan {
  topology nodes;
  std::vector<std::vector<std::uint32_t>> paths;  ///< of its flows; the first starts at once, each other half a second after the one before
  std::vector<double> optimum_bps;                ///< by linear programs, IP packets of 1500 bytes
  double eta = 0;                                 ///< share of the channel time that the optimum gives out
};
std::vector<mesh_plan> mesh_plans(std::uint32_t first, std::uint32_t meshes);

/// E-10, X-18, X-19: CPU time of a router.
struct cost_result {
  std::uint32_t flows = 0;
  double packets_per_s = 0;
  double ns_per_packet = 0;  ///< on_packet alone
  double us_per_allocation = 0;
  double cpu_share = 0;           ///< packets, allocations and hellos in simulated real time
  std::uint64_t state_bytes = 0;  ///< of the router after that, what it holds of the heap included
};
cost_result cost_study(policy::exact_mode mode, std::uint32_t flows);

}  // namespace perhop::exact_study
