// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/exact-node.h"

#include "sim/ns3/node-address.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

namespace ns3
{

namespace
{

/// Where a node stands for good, in whole metres; nothing when it moves, or is farther away than a hello can say.
std::optional<perhop::wire::node_position>
Position(const perhop::run::run_config& config, uint32_t node)
{
    const auto moves = [node](const perhop::run::event_config& event)
    {
        return event.kind == perhop::run::event_config::event_kind::move && event.a == node;
    };
    const perhop::air::node_position& at = config.air.nodes[node];
    constexpr double MOST_M = std::numeric_limits<int16_t>::max();
    if (std::ranges::any_of(config.events, moves) || std::abs(at.x_m) > MOST_M || std::abs(at.y_m) > MOST_M)
    {
        return std::nullopt;
    }
    return perhop::wire::node_position{static_cast<int16_t>(std::lround(at.x_m)), static_cast<int16_t>(std::lround(at.y_m))};
}

} // namespace

perhop::policy::exact_router_config
ExactNode::RouterConfig(const perhop::run::run_config& config, uint32_t node)
{
    const perhop::run::exact_config& exact = config.exact;
    perhop::policy::exact_router_config router;
    router.profile = config.air.mac.profile;
    router.rts_threshold_bytes = config.air.mac.rts_threshold_bytes;
    router.mode = exact.mode;
    router.fairness = exact.fairness;
    router.eta = exact.eta;
    router.interval_us = exact.interval_ms * 1000;
    router.hello_interval_us = exact.hello_interval_ms * 1000;
    router.neighbourhood.node = NodeIpv4Address(node).Get();
    router.neighbourhood.position = Position(config, node);
    router.neighbourhood.interference_range_m = config.air.medium.cs_range_m;
    router.neighbourhood.relay_range_m = config.air.medium.cs_range_m + 2 * config.air.medium.tx_range_m;
    return router;
}

ExactNode::ExactNode(uint32_t node, HopAdapter& hop, ExactLog& log)
    : m_node(node),
      m_hop(hop),
      m_log(log)
{
}

void
ExactNode::AddFlow(ExactFlow& flow)
{
    m_flows.push_back(&flow);
    if (flow.GetWeight() != 1)
    {
        m_hop.GetShim().set_exact_weight(flow.GetKey(), flow.GetWeight());
    }
}

ExactFlow*
ExactNode::FlowOf(const perhop::shim::flow_key& key) const
{
    for (ExactFlow* flow : m_flows)
    {
        if (flow->GetKey() == key)
        {
            return flow;
        }
    }
    return nullptr;
}

void
ExactNode::OnSend(HopPacket& packet) const
{
    perhop::shim::ip_packet_view& view = packet.view;
    if (view.flow.protocol != perhop::shim::ip_protocol_udp)
    {
        return;
    }
    if (const ExactFlow* flow = FlowOf(view.flow))
    {
        const perhop::policy::exact_outgoing& outgoing = flow->GetOutgoing();
        view.exact = {.wanted_rate_bps = outgoing.explicit_rate_bps, .current_rate_bps = outgoing.current_rate_bps, .follows = true};
        packet.rider = outgoing.header;
    }
    else if (const ExactFlow* reported = FlowOf(view.flow.reversed()))
    {
        view.exact.follows = true;
        packet.rider = reported->GetReport();
    }
}

void
ExactNode::OnLeft(uint64_t nowUs, const HopPacket& packet, const perhop::wire::path_header& header, uint64_t arrivedBps) const
{
    const auto* exact = std::get_if<perhop::wire::exact_header>(&packet.rider);
    ExactFlow* flow = exact == nullptr ? nullptr : FlowOf(packet.view.flow);
    if (flow == nullptr)
    {
        return;
    }
    if (flow->StartsAt(m_node))
    {
        flow->OnFirstHop(nowUs, header.explicit_rate_bps);
    }
    if (m_log.WantsPackets())
    {
        m_log.OnPacket(nowUs,
                       {.node = m_node,
                        .flow = flow->GetIndex(),
                        .sequence = exact->sequence,
                        .arrivedBps = arrivedBps,
                        .allocationBps = Router().allocation_bps(perhop::shim::shim::flow_identity(flow->GetKey())),
                        .sentBps = header.explicit_rate_bps});
    }
}

bool
ExactNode::OnReceive(uint64_t nowUs, const PacketSlot& slot)
{
    const perhop::shim::ip_packet_view& view = slot.view;
    if (const auto* report = std::get_if<perhop::wire::exact_report>(&slot.exact))
    {
        if (ExactFlow* flow = FlowOf(view.flow.reversed()))
        {
            flow->OnReport(nowUs, *report);
        }
        return true;
    }
    const auto* exact = std::get_if<perhop::wire::exact_header>(&slot.exact);
    ExactFlow* flow = exact == nullptr ? nullptr : FlowOf(view.flow);
    if (flow == nullptr)
    {
        return false;
    }
    const uint64_t arrivedBps = slot.header.explicit_rate_bps;
    if (m_log.WantsPackets())
    {
        m_log.OnPacket(nowUs,
                       {.node = m_node,
                        .flow = flow->GetIndex(),
                        .sequence = exact->sequence,
                        .arrivedBps = arrivedBps,
                        .allocationBps = std::nullopt,
                        .sentBps = arrivedBps});
    }
    flow->OnData(nowUs, slot.header, *exact, uint32_t{UINT8_MAX} - view.ttl + 1);
    return false;
}

void
ExactNode::Log(uint64_t nowUs) const
{
    for (const ExactFlow* flow : m_flows)
    {
        if (const auto allocationBps = Router().allocation_bps(perhop::shim::shim::flow_identity(flow->GetKey())))
        {
            m_log.OnAllocation(nowUs, m_node, flow->GetIndex(), *allocationBps, Router().load());
        }
    }
}

} // namespace ns3
