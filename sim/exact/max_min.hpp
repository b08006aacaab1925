// SPDX-License-Identifier: GPL-2.0-or-later
//
// The weighted max-min fair optimum by linear programs, to judge EXACT's allocations by: written from the definition, and
// sharing nothing with host/core/policy/exact_water_filling.
//
//   maximise t     subject to  rate_f >= weight_f * t  (flows still free),  floor <= rate <= limit,  sum cost * rate <= budget
//
// Then every free flow that cannot get more than weight * t while all others keep theirs is settled, and the next program runs.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "sim/exact/topology.hpp"

namespace perhop::exact_study {

struct max_min_flow {
  double weight = 1;
  double floor = 0;
  double limit = std::numeric_limits<double>::infinity();
};

struct max_min_budget {
  std::vector<double> costs;  ///< one for each flow; 0 where it takes nothing
  double budget = 0;
};

/// @return the rates. Floors alone must fit the budgets, and every flow needs a limit or a budget that it pays into.
std::vector<double> max_min_rates(const std::vector<max_min_flow>& flows, const std::vector<max_min_budget>& budgets);

/// All maximal sets of links that exclude each other pairwise, as places in `links`.
std::vector<std::vector<std::size_t>> exclusive_sets(const topology& nodes, const std::vector<link>& links);

}  // namespace perhop::exact_study
