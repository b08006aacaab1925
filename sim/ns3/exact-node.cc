// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/exact-node.h"

#include "sim/ns3/path-header-tag.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ns3
{

perhop::policy::exact_router_config
ExactNode::RouterConfig(const perhop::run::run_config& config, uint32_t address)
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
    router.neighbourhood.node = address;
    return router;
}

ExactNode::ExactNode(uint32_t node, ShimAdapter& shim, ExactLog& log, std::function<void(Ptr<Packet>)> sendHello)
    : m_node(node),
      m_shim(shim),
      m_log(log),
      m_sendHello(std::move(sendHello))
{
    m_shim.SetTimerCallback(
        [this](uint64_t nowUs)
        {
            OnTimer(nowUs);
        });
}

void
ExactNode::AddFlow(ExactFlow& flow)
{
    m_flows.push_back(&flow);
    if (flow.GetWeight() != 1)
    {
        m_shim.GetShim().set_exact_weight(flow.GetKey(), flow.GetWeight());
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

ExactRider
ExactNode::OnSend(IpView& ip, const Packet& packet) const
{
    if (ip.view.flow.protocol != perhop::shim::ip_protocol_udp)
    {
        return {};
    }
    if (PathHeaderTag tag; packet.PeekPacketTag(tag))
    {
        return tag.GetExact();
    }
    if (const ExactFlow* flow = FlowOf(ip.view.flow))
    {
        const perhop::policy::exact_outgoing& outgoing = flow->GetOutgoing();
        ip.view.exact = {.wanted_rate_bps = outgoing.explicit_rate_bps, .current_rate_bps = outgoing.current_rate_bps, .follows = true};
        return outgoing.header;
    }
    if (const ExactFlow* flow = FlowOf(ip.view.flow.reversed()))
    {
        ip.view.exact.follows = true;
        return flow->GetReport();
    }
    return {};
}

void
ExactNode::Note(uint64_t nowUs, uint64_t arrivedBps, const PacketSlot& slot) const
{
    const auto* exact = std::get_if<perhop::wire::exact_header>(&slot.exact);
    ExactFlow* flow = exact == nullptr ? nullptr : FlowOf(slot.ip.view.flow);
    if (flow == nullptr)
    {
        return;
    }
    if (flow->StartsAt(m_node))
    {
        flow->OnFirstHop(nowUs, slot.header.explicit_rate_bps);
    }
    if (m_log.WantsPackets())
    {
        m_log.OnPacket(nowUs,
                       {.node = m_node,
                        .flow = flow->GetIndex(),
                        .sequence = exact->sequence,
                        .arrivedBps = arrivedBps,
                        .allocationBps = Router().allocation_bps(perhop::shim::shim::flow_identity(flow->GetKey())),
                        .sentBps = slot.header.explicit_rate_bps});
    }
}

bool
ExactNode::OnReceive(uint64_t nowUs, const PacketSlot& slot)
{
    const perhop::shim::ip_packet_view& view = slot.ip.view;
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
ExactNode::OnHello(uint64_t nowUs, const Packet& content)
{
    std::array<uint8_t, perhop::wire::max_hello_bytes> bytes;
    const uint32_t size = content.CopyData(bytes.data(), bytes.size());
    if (const auto hello = perhop::wire::decode_hello(std::span(bytes).first(size)))
    {
        Router().on_hello(nowUs, *hello);
        m_shim.Wind(nowUs);
    }
}

void
ExactNode::OnQueue(uint64_t queuedBytes)
{
    Router().on_queue(queuedBytes);
}

void
ExactNode::OnPeer(uint8_t peer, uint32_t address)
{
    Router().set_peer_node(peer, address);
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

void
ExactNode::OnTimer(uint64_t nowUs)
{
    if (const auto hello = Router().take_hello(nowUs))
    {
        const std::vector<uint8_t> bytes = perhop::wire::encode(*hello);
        m_sendHello(Create<Packet>(bytes.data(), static_cast<uint32_t>(bytes.size())));
    }
}

} // namespace ns3
