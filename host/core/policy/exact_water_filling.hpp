// SPDX-License-Identifier: GPL-2.0-or-later
//
// Weighted max-min fair shares of channel time: the level of all flows rises together until a budget is used up; then the
// flows that pay into this budget keep what they have, and the others rise on.
//
//   share(level) = clamp(gain * level, floor, limit)      sum over the flows of a budget: cost * share <= budget
//
// gain = weight gives max-min fair rates, gain = weight / cost max-min fair channel time.
//
// Source: max-min fair fractions of channel time are those of S. Shah, K. Chen, K. Nahrstedt, "Dynamic bandwidth management
// for single-hop ad hoc wireless networks", PerCom 2003; progressive filling is D. Bertsekas, R. Gallager, "Data Networks",
// section 6.5.2. Ours differs: several budgets, floors besides limits, and the level at which a budget is used up is found
// by walking over the breakpoints of its sum, not by rounds of removal.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace perhop::policy {

struct water_filling_flow {
  double gain = 1;                                        ///< what the flow gains a unit of level, above 0
  double floor_bps = 0;                                   ///< it gets this in any case
  double limit_bps = std::numeric_limits<double>::max();  ///< it does not want more
  double share_bps = 0;                                   ///< result
  bool limited = false;                                   ///< result: the share is the limit
};

/// What a flow takes of a budget.
struct water_filling_cost {
  std::uint32_t flow = 0;     ///< place in the list of flows
  double cost_s_per_bit = 0;  ///< above 0
};

struct water_filling_budget {
  double budget = 0;      ///< share of time, at least 0
  std::size_t first = 0;  ///< its costs: [first, first + count) of the list of costs
  std::size_t count = 0;
};

/// Keeps its memory from one call to the next. The sum over a budget never exceeds it, unless the floors alone do: then the
/// floors of its flows are lowered in proportion first.
class water_filling {
public:
  /// One budget that all flows share. @param costs_s_per_bit one for each flow
  void fill(std::span<water_filling_flow> flows, std::span<const double> costs_s_per_bit, double budget);

  /// Several budgets. A flow that is in none gets its limit.
  void fill(std::span<water_filling_flow> flows, std::span<const water_filling_cost> costs, std::span<const water_filling_budget> budgets);

private:
  struct breakpoint {
    double level;
    double slope;  // change of the sum's slope there
  };

  double level_of(std::span<const water_filling_flow> flows, std::span<const water_filling_cost> costs, double budget);

  std::vector<breakpoint> breakpoints_;
  std::vector<std::uint8_t> settled_;
  std::vector<std::uint8_t> spent_;
  std::vector<double> levels_;
  std::vector<water_filling_cost> own_costs_;
};

}  // namespace perhop::policy
