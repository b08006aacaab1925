// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/exact_water_filling.hpp"

#include <algorithm>
#include <cassert>

namespace perhop::policy {

namespace {

constexpr double no_level = std::numeric_limits<double>::infinity();

/// Budgets that are used up at levels closer than this are used up together.
constexpr double same_level = 1e-12;

double share_at(const water_filling_flow& flow, double level) { return std::clamp(flow.gain * level, flow.floor_bps, flow.limit_bps); }

}  // namespace

// The level at which the flows that are not yet settled use up `budget`.
double water_filling::level_of(std::span<const water_filling_flow> flows, std::span<const water_filling_cost> costs, double budget) {
  // The sum over the level is piecewise linear: a flow adds its slope from its floor on, and takes it back at its limit.
  breakpoints_.clear();
  double sum = 0;
  for (const water_filling_cost& cost : costs) {
    const water_filling_flow& flow = flows[cost.flow];
    if (settled_[cost.flow] != 0) {
      sum += cost.cost_s_per_bit * flow.share_bps;
      continue;
    }
    sum += cost.cost_s_per_bit * flow.floor_bps;
    if (flow.limit_bps <= flow.floor_bps) continue;
    const double slope = cost.cost_s_per_bit * flow.gain;
    breakpoints_.push_back({flow.floor_bps / flow.gain, slope});
    if (flow.limit_bps < std::numeric_limits<double>::max()) breakpoints_.push_back({flow.limit_bps / flow.gain, -slope});
  }
  std::ranges::sort(breakpoints_, {}, &breakpoint::level);

  // Between which breakpoints the budget is reached. The slope loses digits on its way, so it only finds the place.
  double from = 0;
  double to = no_level;
  double slope = 0;
  std::ptrdiff_t rising = 0;
  for (const breakpoint& next : breakpoints_) {
    if (rising > 0) {
      const double reached = sum + slope * (next.level - from);
      if (reached > budget) {
        to = next.level;
        break;
      }
      sum = reached;
    }
    from = next.level;
    rising += next.slope > 0 ? 1 : -1;
    slope = rising > 0 ? slope + next.slope : 0;
  }
  if (rising <= 0) return no_level;

  double fixed = 0;
  slope = 0;
  for (const water_filling_cost& cost : costs) {
    const water_filling_flow& flow = flows[cost.flow];
    if (settled_[cost.flow] != 0) {
      fixed += cost.cost_s_per_bit * flow.share_bps;
    } else if (flow.limit_bps <= flow.floor_bps || flow.limit_bps / flow.gain <= from) {
      fixed += cost.cost_s_per_bit * flow.limit_bps;
    } else if (flow.floor_bps / flow.gain >= to) {
      fixed += cost.cost_s_per_bit * flow.floor_bps;
    } else {
      slope += cost.cost_s_per_bit * flow.gain;
    }
  }
  return slope > 0 ? std::clamp((budget - fixed) / slope, from, to) : from;
}

void water_filling::fill(std::span<water_filling_flow> flows, std::span<const double> costs_s_per_bit, double budget) {
  assert(flows.size() == costs_s_per_bit.size());
  own_costs_.clear();
  for (std::uint32_t flow = 0; flow < flows.size(); ++flow) own_costs_.push_back({flow, costs_s_per_bit[flow]});
  const water_filling_budget all{.budget = budget, .first = 0, .count = flows.size()};
  fill(flows, own_costs_, std::span(&all, 1));
}

void water_filling::fill(std::span<water_filling_flow> flows, std::span<const water_filling_cost> costs,
                         std::span<const water_filling_budget> budgets) {
  for (water_filling_flow& flow : flows) {
    assert(flow.gain > 0);
    flow.floor_bps = std::min(flow.floor_bps, flow.limit_bps);
    flow.limited = false;
  }
  for (const water_filling_budget& budget : budgets) {
    double floors = 0;
    for (const water_filling_cost& cost : costs.subspan(budget.first, budget.count)) {
      floors += cost.cost_s_per_bit * flows[cost.flow].floor_bps;
    }
    if (floors <= budget.budget) continue;
    const double scale = std::max(budget.budget, 0.0) / floors;
    for (const water_filling_cost& cost : costs.subspan(budget.first, budget.count)) flows[cost.flow].floor_bps *= scale;
  }

  settled_.assign(flows.size(), 0);
  spent_.assign(budgets.size(), 0);
  levels_.resize(budgets.size());
  while (true) {
    double lowest = no_level;
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      if (spent_[i] != 0) continue;
      levels_[i] = level_of(flows, costs.subspan(budgets[i].first, budgets[i].count), budgets[i].budget);
      lowest = std::min(lowest, levels_[i]);
    }
    if (lowest == no_level) break;
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      if (spent_[i] != 0 || levels_[i] > lowest * (1 + same_level)) continue;
      spent_[i] = 1;
      for (const water_filling_cost& cost : costs.subspan(budgets[i].first, budgets[i].count)) {
        if (settled_[cost.flow] != 0) continue;
        water_filling_flow& flow = flows[cost.flow];
        flow.share_bps = share_at(flow, lowest);
        flow.limited = flow.share_bps >= flow.limit_bps;
        settled_[cost.flow] = 1;
      }
    }
  }
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (settled_[i] != 0) continue;
    flows[i].share_bps = flows[i].limit_bps;
    flows[i].limited = true;
  }
}

}  // namespace perhop::policy
