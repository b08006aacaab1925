// SPDX-License-Identifier: GPL-2.0-or-later

#include "sim/exact/max_min.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <stdexcept>

namespace perhop::exact_study {

namespace {

using number = long double;

constexpr number tiny = 1e-15L;

/// maximise objective * x subject to rows * x <= bounds, x >= 0, bounds >= 0. Dense simplex with Bland's rule, so that it
/// ends. @return x
std::vector<number> maximise(std::vector<std::vector<number>> rows, std::vector<number> bounds, std::vector<number> objective) {
  const std::size_t variables = objective.size();
  const std::size_t constraints = rows.size();
  std::vector<std::size_t> basis(constraints);
  for (std::size_t row = 0; row < constraints; ++row) {
    rows[row].resize(variables + constraints, 0);
    rows[row][variables + row] = 1;
    basis[row] = variables + row;
    // Rows of one size, so that one notion of tiny serves all.
    number largest = 0;
    for (std::size_t i = 0; i < variables; ++i) largest = std::max(largest, std::fabs(rows[row][i]));
    if (largest == 0) continue;
    for (std::size_t i = 0; i < variables; ++i) rows[row][i] /= largest;
    bounds[row] /= largest;
  }
  objective.resize(variables + constraints, 0);
  while (true) {
    std::size_t enter = objective.size();
    for (std::size_t column = 0; column < objective.size(); ++column) {
      if (objective[column] > tiny) {
        enter = column;
        break;
      }
    }
    if (enter == objective.size()) break;
    std::size_t leave = constraints;
    for (std::size_t row = 0; row < constraints; ++row) {
      if (rows[row][enter] <= tiny) continue;
      if (leave == constraints) {
        leave = row;
        continue;
      }
      const number step = bounds[row] * rows[leave][enter];
      const number least = bounds[leave] * rows[row][enter];
      if (step < least || (step == least && basis[row] < basis[leave])) leave = row;
    }
    if (leave == constraints) throw std::logic_error("max_min: a flow has neither a limit nor a budget");
    const number pivot = rows[leave][enter];
    for (number& value : rows[leave]) value /= pivot;
    bounds[leave] /= pivot;
    for (std::size_t row = 0; row < constraints; ++row) {
      const number factor = rows[row][enter];
      if (row == leave || factor == 0) continue;
      for (std::size_t column = 0; column < objective.size(); ++column) rows[row][column] -= factor * rows[leave][column];
      bounds[row] = std::max<number>(bounds[row] - factor * bounds[leave], 0);
    }
    const number factor = objective[enter];
    for (std::size_t column = 0; column < objective.size(); ++column) objective[column] -= factor * rows[leave][column];
    basis[leave] = enter;
  }
  std::vector<number> x(variables, 0);
  for (std::size_t row = 0; row < constraints; ++row) {
    if (basis[row] < variables) x[basis[row]] = bounds[row];
  }
  return x;
}

}  // namespace

std::vector<double> max_min_rates(const std::vector<max_min_flow>& flows, const std::vector<max_min_budget>& budgets) {
  const std::size_t count = flows.size();
  std::vector<bool> settled(count, false);
  std::vector<number> rate(count, 0);
  // Rates count in units that bring the costs near 1.
  number largest_cost = 0;
  for (const max_min_budget& budget : budgets) {
    for (const double cost : budget.costs) largest_cost = std::max<number>(largest_cost, cost);
  }
  const number unit = largest_cost > 0 ? 1 / largest_cost : 1;

  // Variables: what each flow gets above its floor, and the level t (last). `least` is the level that the free flows keep.
  const auto solve = [&](bool raise_level, std::size_t favoured, number least) {
    std::vector<std::vector<number>> rows;
    std::vector<number> bounds;
    const auto floor = [&](std::size_t f) {
      return settled[f] ? rate[f]
                        : std::max<number>(flows[f].floor / unit,
                                           raise_level ? 0 : std::min<number>(least * flows[f].weight, flows[f].limit / unit));
    };
    for (const max_min_budget& budget : budgets) {
      std::vector<number> row(count + 1, 0);
      number left = budget.budget;
      for (std::size_t f = 0; f < count; ++f) {
        const number cost = static_cast<number>(budget.costs[f]) * unit;
        left -= cost * floor(f);
        if (!settled[f]) row[f] = cost;
      }
      rows.push_back(row);
      bounds.push_back(std::max<number>(left, 0));
    }
    for (std::size_t f = 0; f < count; ++f) {
      std::vector<number> row(count + 1, 0);
      row[f] = 1;
      if (settled[f]) {
        rows.push_back(row);
        bounds.push_back(0);
        continue;
      }
      if (std::isfinite(flows[f].limit)) {
        rows.push_back(row);
        bounds.push_back(std::max<number>(flows[f].limit / unit - floor(f), 0));
      }
      if (!raise_level) continue;
      std::vector<number> level(count + 1, 0);
      level[f] = -1;
      level[count] = flows[f].weight;
      rows.push_back(level);
      bounds.push_back(floor(f));
    }
    if (!raise_level) {
      std::vector<number> row(count + 1, 0);
      row[count] = 1;
      rows.push_back(row);
      bounds.push_back(0);
    }
    std::vector<number> objective(count + 1, 0);
    objective[raise_level ? count : favoured] = 1;
    std::vector<number> x = maximise(rows, bounds, objective);
    for (std::size_t f = 0; f < count; ++f) x[f] += floor(f);
    return x;
  };

  while (std::ranges::find(settled, false) != settled.end()) {
    const number level = solve(true, 0, 0)[count];
    std::vector<std::size_t> stuck;
    std::size_t closest = count;
    number least_gain = std::numeric_limits<number>::infinity();
    for (std::size_t f = 0; f < count; ++f) {
      if (settled[f]) continue;
      const number most = solve(false, f, level)[f];
      // At level 0 a flow either can have something or not.
      const number kept = flows[f].weight * level;
      const number gain = kept > 0 ? most / kept - 1 : most;
      if (gain < least_gain) {
        least_gain = gain;
        closest = f;
      }
      if (gain <= 1e-13L) stuck.push_back(f);
    }
    if (stuck.empty()) stuck.push_back(closest);
    for (const std::size_t f : stuck) {
      rate[f] = std::max<number>(flows[f].floor / unit, std::min<number>(level * flows[f].weight, flows[f].limit / unit));
      settled[f] = true;
    }
  }
  std::vector<double> rates(count);
  for (std::size_t f = 0; f < count; ++f) rates[f] = static_cast<double>(rate[f] * unit);
  return rates;
}

std::vector<std::vector<std::size_t>> exclusive_sets(const topology& nodes, const std::vector<link>& links) {
  using members = std::vector<std::size_t>;
  std::vector<members> sets;
  members chosen;
  const auto excluded_by = [&](std::size_t l, const members& list) {
    members result;
    std::ranges::copy_if(list, std::back_inserter(result), [&](std::size_t m) { return m != l && nodes.exclude(links[l], links[m]); });
    return result;
  };
  // Grows a set by its candidates. `done` are links that would fit too, and whose sets are all known already.
  const auto grow = [&](const auto& self, members candidates, members done) -> void {
    if (candidates.empty()) {
      if (done.empty() && !chosen.empty()) sets.push_back(chosen);
      return;
    }
    // A set without this link holds a link that does not exclude it, so only those need to be tried.
    const members skipped = excluded_by(candidates.front(), candidates);
    for (const std::size_t l : members(candidates)) {
      if (std::ranges::find(skipped, l) != skipped.end()) continue;
      chosen.push_back(l);
      self(self, excluded_by(l, candidates), excluded_by(l, done));
      chosen.pop_back();
      std::erase(candidates, l);
      done.push_back(l);
    }
  };
  members all(links.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  grow(grow, all, {});
  return sets;
}

}  // namespace perhop::exact_study
