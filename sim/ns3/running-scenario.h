// SPDX-License-Identifier: GPL-2.0-or-later
//
// A run as who drives it sees it (ScenarioSteps), over the network and the flows that the scenario has made.
#pragma once

#include "sim/ns3/air-channel.h"
#include "sim/ns3/air-simulator-impl.h"
#include "sim/ns3/flow.h"
#include "sim/ns3/scenario.h"
#include "sim/run/run_config.hpp"

namespace ns3
{

class RunningScenario : public ScenarioSteps
{
  public:
    /// Owns none of them. @param interrupted whether the poll has ended the run
    RunningScenario(const perhop::run::run_config& config,
                    AirSimulatorImpl& simulator,
                    AirChannel& channel,
                    const Flows& flows,
                    const bool& interrupted);

    // Inherited from ScenarioSteps
    uint64_t GetNowUs() const override;
    uint64_t GetEndUs() const override;
    bool RunUntil(uint64_t untilUs) override;
    void Play(const perhop::run::event_config& event) override;
    bool SetPolicy(std::size_t flow, const perhop::shim::flow_policy& policy) override;
    std::optional<uint32_t> ReadRegister(uint32_t node, uint32_t address) override;
    bool WriteRegister(uint32_t node, uint32_t address, uint32_t value) override;
    nlohmann::ordered_json Look() const override;

  private:
    nlohmann::ordered_json LookAtNode(uint32_t node) const;
    nlohmann::ordered_json LookAtFlow(std::size_t flow) const;

    const perhop::run::run_config& m_config;
    AirSimulatorImpl& m_simulator;
    AirChannel& m_channel;
    const Flows& m_flows;
    const bool& m_interrupted;
};

} // namespace ns3
