// SPDX-License-Identifier: GPL-2.0-or-later
/// What a run asks of its kernels: what none can do, and the plan of each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/kernel/event_queue.hpp"
#include "sim/run/run_config.hpp"

namespace perhop::kernels {

/// The run's time 0 in the kernels' time: they are up by then.
inline constexpr time_ns begin_ns = 1'000'000'000;

/// @throws run::config_error a run that no kernel can make
void check(const run::run_config& config);

/// The plan (flow_plan.hpp) of each kernel, by its node.
std::map<air::node_id, std::string> make_plans(const run::run_config& config, const std::vector<time_ns>& edges);

}  // namespace perhop::kernels
