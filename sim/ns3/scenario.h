// SPDX-License-Identifier: GPL-2.0-or-later
//
// One run: nodes, routes and TCP flows of a run file over sim/air, from start to result. Needs no ns-3 header.
#pragma once

#include "sim/run/run_config.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace ns3
{

struct ScenarioResult
{
    nlohmann::ordered_json json;              ///< result.json
    std::vector<uint32_t> maxPacketsInFlight; ///< for each flow, when a new segment left
    bool interrupted = false;
};

/// A run whose time passes when somebody asks for it (RunScenario's `drive`).
class ScenarioSteps
{
  public:
    virtual ~ScenarioSteps() = default;

    virtual uint64_t GetNowUs() const = 0;
    virtual uint64_t GetEndUs() const = 0;

    /// Lets time pass, at most to the run's end. @return false: the poll wants the run to end
    virtual bool RunUntil(uint64_t untilUs) = 0;

    /// Lets an event happen now.
    virtual void Play(const perhop::run::event_config& event) = 0;

    /// @return false: flows of this kind have no policy. @throws perhop::run::config_error a policy that its TCP cannot have
    virtual bool SetPolicy(std::size_t flow, const perhop::shim::flow_policy& policy) = 0;

    /// Of a node with a radio.
    virtual std::optional<uint32_t> ReadRegister(uint32_t node, uint32_t address) = 0;
    virtual bool WriteRegister(uint32_t node, uint32_t address, uint32_t value) = 0;

    /// Nodes and flows as they are now, and what was measured of the flows so far.
    virtual nlohmann::ordered_json Look() const = 0;
};

/// Runs it and writes the outputs that it asks for, all but result.json.
///
/// One at a time in a process: ns-3's simulator is a global.
/// @param poll called with the simulated seconds when the network stands, before its first event, and then every few thousand steps;
/// returning false ends the run with what there is
/// @param drive if there is one, it lets the time pass; a run that it does not drive to the end is interrupted
/// @param config as parse_run_config checked it: nodes of routes exist, TCP flows have routes both ways
/// @throws perhop::run::config_error what only ns-3 can tell: a TCP that it does not have, a window that cannot be advertised, traffic
/// that is not TCP, more nodes than addresses. The message begins with the field
/// @throws std::runtime_error an output that cannot be written
ScenarioResult RunScenario(const perhop::run::run_config& config,
                           const std::function<bool(double)>& poll,
                           const std::function<void(ScenarioSteps&)>& drive = {});

} // namespace ns3
