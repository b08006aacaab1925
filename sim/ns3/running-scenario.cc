// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/running-scenario.h"

#include "sim/ns3/scripted-events.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

using nlohmann::ordered_json;

RunningScenario::RunningScenario(
    const perhop::run::run_config& config, AirSimulatorImpl& simulator, AirChannel& channel, const Flows& flows, const bool& interrupted)
    : m_config(config),
      m_simulator(simulator),
      m_channel(channel),
      m_flows(flows),
      m_interrupted(interrupted)
{
    m_channel.KeepRegisters(config.air);
}

uint64_t
RunningScenario::GetNowUs() const
{
    return m_simulator.NowTick();
}

uint64_t
RunningScenario::GetEndUs() const
{
    return static_cast<uint64_t>(Seconds(m_config.duration_s).GetMicroSeconds());
}

bool
RunningScenario::RunUntil(uint64_t untilUs)
{
    const uint64_t stopUs = std::min(untilUs, GetEndUs());
    if (stopUs > GetNowUs())
    {
        // The newest event of its microsecond, so that it comes behind all others that are known: none changes its place.
        Simulator::Stop(MicroSeconds(static_cast<int64_t>(stopUs - GetNowUs())));
        Simulator::Run();
    }
    return !m_interrupted;
}

void
RunningScenario::Play(const perhop::run::event_config& event)
{
    PlayEvent(m_channel, event);
}

bool
RunningScenario::SetPolicy(std::size_t flow, const perhop::shim::flow_policy& policy)
{
    return m_flows[flow]->SetPolicy(GetNowUs(), policy);
}

std::optional<uint32_t>
RunningScenario::ReadRegister(uint32_t node, uint32_t address)
{
    return m_channel.ReadRegister(node, address);
}

bool
RunningScenario::WriteRegister(uint32_t node, uint32_t address, uint32_t value)
{
    return m_channel.WriteRegister(node, address, value);
}

ordered_json
RunningScenario::Look() const
{
    ordered_json look = {{"nodes", ordered_json::array()}, {"flows", ordered_json::array()}};
    for (uint32_t node = 0; node < m_config.node_count(); ++node)
    {
        look["nodes"].push_back(LookAtNode(node));
    }
    for (std::size_t flow = 0; flow < m_flows.size(); ++flow)
    {
        look["flows"].push_back(LookAtFlow(flow));
    }
    return look;
}

ordered_json
RunningScenario::LookAtNode(uint32_t node) const
{
    ordered_json look = {{"queue_packets", m_channel.GetAirDevice(node).GetHop().GetPath().queue().size()}};
    if (m_channel.HasRadio(node))
    {
        const perhop::air::node_position position = m_channel.PositionOf(node, GetNowUs());
        look["x_m"] = position.x_m;
        look["y_m"] = position.y_m;
    }
    return look;
}

ordered_json
RunningScenario::LookAtFlow(std::size_t flow) const
{
    const FlowState state = m_flows[flow]->GetState();
    ordered_json now = ordered_json::object();
    const auto put = [&now](const char* name, const auto& value)
    {
        now[name] = value ? ordered_json(*value) : ordered_json();
    };
    put("delivered_bytes", state.deliveredBytes);
    put("rtt_ms", state.roundTripMs);
    put("in_flight_packets", state.packetsInFlight);
    put("cwnd_packets", state.windowPackets);
    put("cwl_packets", state.limitPackets);
    const bool measured = GetNowUs() > static_cast<uint64_t>(Seconds(m_config.warmup_s).GetMicroSeconds());
    return {{"now", std::move(now)},
            {"measured", perhop::run::flow_json(m_config.flows[flow], m_flows[flow]->GetResult(GetNowUs()), measured)}};
}

} // namespace ns3
