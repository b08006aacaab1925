// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/exact-node.h"

#include "sim/ns3/node-address.h"

#include "ns3/simulator.h"

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
    perhop::policy::exact_router_config router = config.exact.router;
    router.profile = config.air.mac.profile;
    router.rts_threshold_bytes = config.air.mac.rts_threshold_bytes;
    router.neighbourhood.node = NodeIpv4Address(node).Get();
    router.neighbourhood.position = Position(config, node);
    router.neighbourhood.interference_range_m = config.air.medium.cs_range_m;
    router.neighbourhood.relay_range_m = config.air.medium.cs_range_m + 2 * config.air.medium.tx_range_m;
    return router;
}

ExactNode::ExactNode(uint32_t node, HopAdapter& hop, const perhop::hop::exact_ends_config& ends, ExactLog& log)
    : m_node(node),
      m_hop(hop),
      m_log(log),
      m_ends(ends)
{
}

void
ExactNode::AddFlow(ExactFlowEnds& flow)
{
    m_flows.push_back(&flow);
    if (flow.GetWeight() != 1)
    {
        m_hop.GetShim().set_exact_weight(flow.GetKey(), flow.GetWeight());
    }
}

ExactFlowEnds*
ExactNode::FlowOf(const perhop::shim::flow_key& key) const
{
    for (ExactFlowEnds* flow : m_flows)
    {
        if (flow->GetKey() == key)
        {
            return flow;
        }
    }
    return nullptr;
}

void
ExactNode::Begin(uint64_t nowUs, ExactFlowEnds& flow, uint64_t demandBps)
{
    m_ends.use(nowUs, flow.GetKey(), &flow).sender.set_application_rate(demandBps);
    Serve();
}

void
ExactNode::End(uint64_t nowUs, ExactFlowEnds& flow)
{
    send_data(m_ends.finish(nowUs, flow.GetKey()));
    Wind(nowUs);
}

void
ExactNode::OnSend(HopPacket& packet) const
{
    perhop::shim::ip_packet_view& view = packet.view;
    if (view.flow.protocol != perhop::shim::ip_protocol_udp)
    {
        return;
    }
    if (const ExactFlowEnds* flow = FlowOf(view.flow))
    {
        view.exact = perhop::hop::view_of(flow->GetOutgoing());
        packet.rider = flow->GetOutgoing().header;
    }
    else if (const ExactFlowEnds* reported = FlowOf(view.flow.reversed()))
    {
        view.exact.follows = true;
        packet.rider = reported->GetReport();
    }
}

void
ExactNode::OnLeft(uint64_t nowUs, const HopPacket& packet, uint64_t receiver, const perhop::wire::path_header& header, uint64_t arrivedBps)
{
    m_ends.on_left(nowUs, packet, receiver, header);
    const auto* exact = std::get_if<perhop::wire::exact_header>(&packet.rider);
    const ExactFlowEnds* flow = exact != nullptr && m_log.WantsPackets() ? FlowOf(packet.view.flow) : nullptr;
    if (flow != nullptr)
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
ExactNode::OnReceive(uint64_t nowUs,
                     const perhop::shim::ip_packet_view& view,
                     const perhop::wire::path_header& header,
                     const perhop::hop::exact_rider& rider,
                     uint64_t nextHopBack)
{
    const perhop::shim::flow_key& key = view.flow;
    if (const auto* report = std::get_if<perhop::wire::exact_report>(&rider))
    {
        const auto* known = m_ends.on_report(nowUs, key.reversed(), *report, m_hop.GetShim().cwl_packets(key.reversed()));
        if (known != nullptr)
        {
            known->from.flow->OnReport(nowUs, *report, known->sender);
            ServeAt(nowUs, nowUs);
        }
        return true;
    }
    const auto* exact = std::get_if<perhop::wire::exact_header>(&rider);
    const ExactFlowEnds* flow = exact == nullptr ? nullptr : FlowOf(key);
    if (flow == nullptr)
    {
        return false;
    }
    const uint64_t arrivedBps = header.explicit_rate_bps;
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
    m_ends.on_data(nowUs, view, header, *exact, nextHopBack);
    Wind(nowUs);
    return false;
}

void
ExactNode::OnRoutes(uint64_t nowUs, const HopDevice& device)
{
    m_ends.on_routes(nowUs,
                     [&device](const perhop::shim::ip_address& destination)
                     {
                         const uint64_t nextHop = device.NextHopTo(destination.ipv4());
                         return nextHop == perhop::broadcast_address ? 0 : nextHop;
                     });
    ServeAt(nowUs, nowUs);
}

void
ExactNode::Wind(uint64_t nowUs)
{
    if (const auto next = m_ends.next_deadline(has_room()))
    {
        ServeAt(nowUs, std::max(*next, nowUs));
    }
}

void
ExactNode::ServeAt(uint64_t nowUs, uint64_t atUs)
{
    if (atUs != m_timerUs)
    {
        m_timer.Cancel();
        m_timerUs = atUs;
        // Not within what happens now, such as the delivery of a packet.
        m_timer = Simulator::Schedule(MicroSeconds(atUs - nowUs), &ExactNode::Serve, this);
    }
}

void
ExactNode::Serve()
{
    m_timer.Cancel();
    m_timerUs = NEVER_US;
    const auto nowUs = static_cast<uint64_t>(Simulator::Now().GetMicroSeconds());
    m_ends.serve(nowUs, *this);
    for (const auto& [key, source] : m_ends.sources())
    {
        source.from.flow->OnServed(nowUs, source.sender);
    }
    Wind(nowUs);
}

void
ExactNode::Log(uint64_t nowUs) const
{
    for (const ExactFlowEnds* flow : m_flows)
    {
        if (const auto allocationBps = Router().allocation_bps(perhop::shim::shim::flow_identity(flow->GetKey())))
        {
            m_log.OnAllocation(nowUs, m_node, flow->GetIndex(), *allocationBps, Router().load());
        }
    }
}

} // namespace ns3
