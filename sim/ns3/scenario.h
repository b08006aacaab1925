// SPDX-License-Identifier: GPL-2.0-or-later
//
// One run: nodes, routes and TCP flows of a run file over sim/air, from start to result. Needs no ns-3 header.
#pragma once

#include "sim/run/run_config.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace ns3
{

struct ScenarioResult
{
    nlohmann::ordered_json json;              ///< result.json
    std::vector<uint32_t> maxPacketsInFlight; ///< for each flow, when a new segment left
    bool interrupted = false;
};

/// Runs it and writes the outputs that it asks for, all but result.json.
///
/// One at a time in a process: ns-3's simulator is a global.
/// @param poll called with the simulated seconds when the network stands, before its first event, and then every few thousand steps;
/// returning false ends the run with what there is
/// @param config as parse_run_config checked it: nodes of routes exist, TCP flows have routes both ways
/// @throws perhop::run::config_error what only ns-3 can tell: a TCP that it does not have, a window that cannot be advertised, traffic
/// that is not TCP, more nodes than addresses. The message begins with the field
/// @throws std::runtime_error an output that cannot be written
ScenarioResult RunScenario(const perhop::run::run_config& config, const std::function<bool(double)>& poll);

} // namespace ns3
