// SPDX-License-Identifier: GPL-2.0-or-later
//
// EXACT's acceptance tests E-01 to E-10: what the studies of sim/exact measure has to stay within its bounds.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/exact/network.hpp"
#include "sim/exact/studies.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::exact_study {
namespace {

using policy::exact_mode;

double percentile_95(std::vector<double> values) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(values.size()))) - 1];
}

TEST(exact_router_study, water_filling_is_the_optimum_of_a_linear_program) {
  PERHOP_TELL_SEED();
  const water_filling_result result = water_filling_study(1000, test_seed());
  EXPECT_EQ(result.instances, 1000U);
  EXPECT_LT(result.largest_error, 1e-9);
  EXPECT_LT(result.largest_overrun, 1e-12);
}

class in_both_modes : public testing::TestWithParam<exact_mode> {};
INSTANTIATE_TEST_SUITE_P(exact, in_both_modes, testing::Values(exact_mode::m1, exact_mode::m2),
                         [](const auto& mode) { return mode.param == exact_mode::m1 ? "m1" : "m2"; });

TEST_P(in_both_modes, allocations_never_exceed_the_budget) {
  PERHOP_TELL_SEED();
  const budget_result result = budget_study(GetParam(), test_seed());
  EXPECT_GT(result.checks, 10'000U);
  EXPECT_LE(result.largest_load, 1 + 1e-9);
  EXPECT_GT(result.largest_load, 0.9) << "the budget was never used: the test shows nothing";
}

TEST_P(in_both_modes, rates_converge_after_a_join_within_two_round_trips_and_an_interval) {
  const join_leave_result result = join_leave_study(GetParam());
  for (const double join_s : result.join_s) EXPECT_LE(join_s, 2 * result.round_trip_s + result.interval_s);
}

TEST_P(in_both_modes, rates_converge_after_a_leave_within_a_feedback_interval_more) {
  const join_leave_result result = join_leave_study(GetParam());
  constexpr double feedback_interval_s = 0.2;
  for (const double leave_s : result.leave_s) EXPECT_LE(leave_s, 2 * result.round_trip_s + result.interval_s + feedback_interval_s);
}

TEST_P(in_both_modes, mixed_rates_get_equal_rates_or_equal_time) {
  const mixed_rate_result result = mixed_rate_study(GetParam());
  EXPECT_NEAR(result.rate_ratio, 1, 0.02);
  EXPECT_NEAR(result.time_ratio, 1, 0.05);
}

TEST_P(in_both_modes, a_limited_flow_releases_its_surplus_and_gets_it_back) {
  const surplus_result result = surplus_study(GetParam());
  EXPECT_GT(result.greedy_share, 0.95);
  EXPECT_GT(result.later_share, 0.9);
  EXPECT_LT(result.regained_s, 2);
}

TEST_P(in_both_modes, a_false_current_rate_gains_nothing) {
  for (const std::uint64_t claimed_bps : {std::uint64_t{11'000'000}, wire::unlimited_rate_bps, std::uint64_t{12'000}}) {
    EXPECT_LE(liar_study(GetParam(), claimed_bps).gain, 0.02) << claimed_bps;
  }
}

// M1 allocates more than a longer chain can carry, and swings with the queue: not a mode for more than 3 hops.
TEST_P(in_both_modes, a_step_leaves_no_oscillation) {
  EXPECT_LT(oscillation_study(GetParam(), 2), 0.2);
  if (GetParam() == exact_mode::m1) return;
  for (const std::uint32_t hops : {3U, 4U, 6U}) EXPECT_LT(oscillation_study(GetParam(), hops), 0.2) << hops << " hops";
}

TEST(exact_router_study, a_new_path_is_learned_in_a_round_trip_and_a_feedback_interval) {
  PERHOP_TELL_SEED();
  const reroute_result result = reroute_study(40, test_seed());
  std::vector<double> excess_s;
  for (std::size_t i = 0; i < result.learned_s.size(); ++i) excess_s.push_back(result.learned_s[i] - result.round_trip_s[i]);
  EXPECT_LE(percentile_95(excess_s), 0.2);
}

TEST(exact_router_study, a_thousand_silent_flows_are_gone_in_five_seconds) {
  EXPECT_LE(soft_state_study(100'000), 5.0);
  EXPECT_LE(soft_state_study(2'000'000), 5.1);  // the flows of the last round fell silent over 2 s
}

TEST(exact_router_study, lost_reports_never_break_the_safety_window) {
  PERHOP_TELL_SEED();
  const lost_report_result result = lost_report_study(0.5, test_seed());
  EXPECT_NEAR(static_cast<double>(result.lost) / static_cast<double>(result.reports), 0.5, 0.1);
  EXPECT_GT(result.sent, 300U) << "little more than the floors of both flows";
  EXPECT_EQ(result.window_violations, 0U);
}

// A flow that is taken for limited must find back to its rate on a medium whose links take turns, too.
TEST(exact_router_study, a_chain_gets_the_optimum_when_links_take_turns) {
  for (const double gap : gap_study(exact_mode::m2, true, true, 10, 0).chain_gaps) EXPECT_LT(gap, 0.15);
}

TEST(exact_router_study, lost_reports_leave_a_flow_a_third_of_its_rate) {
  PERHOP_TELL_SEED();
  EXPECT_GT(lost_report_study(0.5, test_seed()).rate_share, 0.33);
}

// All meshes of make bench-exact.
TEST(exact_router_study, allocations_of_m2_are_within_15_percent_of_the_optimum) {
  const gap_result result = gap_study(exact_mode::m2, true, false, 10, 20);
  for (const double gap : result.chain_gaps) EXPECT_LT(gap, 0.15);
  for (const double gap : result.mesh_gaps) EXPECT_LT(gap, 0.15);
  EXPECT_LE(result.most_hello_share, policy::exact_router_config{}.hello_share);
  EXPECT_GT(result.most_hello_share, 0.2 * policy::exact_router_config{}.hello_share) << "hardly a hello went: the test shows nothing";
}

TEST(exact_router_study, a_chain_gets_what_its_formula_says_without_positions) {
  const policy::delay_estimator idle(*find_profile("dsss_long"));
  const policy::exact_router_config defaults;
  const double data_s = idle.uncontended_delay_us(1559, 1) / 1e6;
  const double report_s = idle.uncontended_delay_us(107, 1) / 1e6 / defaults.feedback_every_packets;
  for (std::uint32_t hops = 1; hops <= 10; ++hops) {
    network net(topology::chain(hops), {.positions_known = false, .exclusive_medium = false});
    std::vector<std::uint32_t> path;
    for (std::uint32_t node = 0; node <= hops; ++node) path.push_back(node);
    net.add_flow({.path = path});
    net.run_until(10 * us_per_s);
    const double wanted = defaults.eta * 8 * 1500 / (std::min(hops, 4U) * (data_s + report_s));
    EXPECT_NEAR(static_cast<double>(net.sender(0).rate_bps()) / wanted, 1, 0.15) << hops << " hops";
  }
}

TEST(exact_router_study, a_silent_router_is_found_and_the_rate_stays_a_bound) {
  network net(topology::chain(3), network_config{});
  net.silence(1);
  net.add_flow({.path = {0, 1, 2, 3}});
  net.run_until(20 * us_per_s);
  EXPECT_TRUE(net.sender(0).silent_router());
  EXPECT_GT(net.receiver(0).counters().silent_routers, 100U);
  EXPECT_GT(net.outcome(0).delivered_packets, 200U);
  // The allocation follows what the flow uses, a round trip later.
  EXPECT_LE(static_cast<double>(net.sender(0).rate_bps()), *net.path_allocation_bps(0) * 1.25);
}

TEST(exact_router_study, ten_flows_cost_less_than_a_thousandth_of_a_core) {
  EXPECT_LT(cost_study(exact_mode::m1, 10).cpu_share, 0.001);
  EXPECT_LT(cost_study(exact_mode::m2, 10).cpu_share, 0.001);
}

}  // namespace
}  // namespace perhop::exact_study
