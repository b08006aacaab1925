// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/exact-node.h"

#include "sim/ns3/path-header-tag.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace ns3
{
namespace
{

constexpr uint64_t NO_TIMER_US = std::numeric_limits<uint64_t>::max();

perhop::policy::exact_router_config
RouterConfig(const perhop::air::run_config& config, uint32_t address)
{
    const perhop::air::exact_config& exact = config.exact;
    perhop::policy::exact_router_config router;
    router.profile = config.air.mac.profile;
    router.rts_threshold_bytes = config.air.mac.rts_threshold_bytes;
    router.mode = exact.mode == perhop::air::exact_mode::m1 ? perhop::policy::exact_mode::m1 : perhop::policy::exact_mode::m2;
    router.fairness = exact.fairness == perhop::air::exact_fairness::rate ? perhop::policy::exact_fairness::rate
                                                                          : perhop::policy::exact_fairness::airtime;
    router.eta = exact.eta;
    router.interval_us = exact.interval_ms * 1000;
    router.hello_interval_us = exact.hello_interval_ms * 1000;
    router.neighbourhood.node = address;
    return router;
}

/// The same number at all routers.
uint64_t
Identity(const perhop::shim::flow_key& key)
{
    // Addresses of node-address.h differ in their lower halves, flows of a run in their ports.
    return (key.source.low & 0xFFFF) << 48 | (key.destination.low & 0xFFFF) << 32 | uint64_t{key.source_port} << 16 | key.destination_port;
}

} // namespace

ExactNode::ExactNode(
    const perhop::air::run_config& config, uint32_t node, uint32_t address, ExactLog& log, std::function<void(Ptr<Packet>)> sendHello)
    : m_node(node),
      m_address(address),
      m_log(log),
      m_sendHello(std::move(sendHello)),
      m_router(RouterConfig(config, address)),
      m_timerUs(NO_TIMER_US)
{
}

void
ExactNode::AddFlow(ExactFlow& flow)
{
    m_flows.push_back(&flow);
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
ExactNode::RiderOf(const IpView& ip, const Packet& packet) const
{
    if (ip.source != m_address)
    {
        PathHeaderTag tag;
        return packet.PeekPacketTag(tag) ? tag.GetExact() : ExactRider{};
    }
    if (ip.view.flow.protocol != perhop::shim::ip_protocol_udp)
    {
        return {};
    }
    if (const ExactFlow* flow = FlowOf(ip.view.flow))
    {
        return flow->GetOutgoing().header;
    }
    if (const ExactFlow* flow = FlowOf(ip.view.flow.reversed()))
    {
        return flow->GetReport();
    }
    return {};
}

void
ExactNode::OnSend(
    uint64_t nowUs, perhop::wire::path_header& header, const ExactRider& rider, const IpView& ip, const perhop::shim::next_hop& hop)
{
    header.exact_follows = rider.index() != 0;
    if (ip.source == m_address && std::holds_alternative<perhop::wire::exact_header>(rider))
    {
        const perhop::policy::exact_outgoing& outgoing = FlowOf(ip.view.flow)->GetOutgoing();
        header.explicit_rate_bps = outgoing.explicit_rate_bps;
        header.current_rate_bps = outgoing.current_rate_bps;
    }
    Lower(nowUs, header, rider, ip, hop);
}

void
ExactNode::OnForward(
    uint64_t nowUs, perhop::wire::path_header& header, const ExactRider& rider, const IpView& ip, const perhop::shim::next_hop& hop)
{
    Lower(nowUs, header, rider, ip, hop);
}

void
ExactNode::Lower(
    uint64_t nowUs, perhop::wire::path_header& header, const ExactRider& rider, const IpView& ip, const perhop::shim::next_hop& hop)
{
    perhop::policy::exact_packet packet{
        .flow = Identity(ip.view.flow),
        .peer = hop.peer,
        .rate_index = hop.rate_index,
        .ip_bytes = ip.view.ip_bytes,
        .mpdu_bytes = hop.mpdu_bytes,
        .explicit_rate_bps = header.explicit_rate_bps,
        .current_rate_bps = header.current_rate_bps,
    };
    const auto* exact = std::get_if<perhop::wire::exact_header>(&rider);
    if (exact == nullptr)
    {
        m_router.on_other_packet(nowUs, packet, std::holds_alternative<perhop::wire::exact_report>(rider));
        SetTimer(nowUs);
        return;
    }
    ExactFlow* flow = FlowOf(ip.view.flow);
    packet.weight = flow == nullptr ? 1 : flow->GetWeight();
    header.explicit_rate_bps = perhop::wire::quantise_rate_down_bps(m_router.on_packet(nowUs, packet));
    SetTimer(nowUs);
    if (flow != nullptr && m_log.WantsPackets())
    {
        m_log.OnPacket(nowUs,
                       {.node = m_node,
                        .flow = flow->GetIndex(),
                        .sequence = exact->sequence,
                        .arrivedBps = packet.explicit_rate_bps,
                        .allocationBps = m_router.allocation_bps(packet.flow),
                        .sentBps = header.explicit_rate_bps});
    }
}

bool
ExactNode::OnReceive(uint64_t nowUs, const perhop::wire::path_header& header, const ExactRider& rider, const IpView& ip)
{
    if (const auto* report = std::get_if<perhop::wire::exact_report>(&rider))
    {
        if (ExactFlow* flow = FlowOf(ip.view.flow.reversed()))
        {
            flow->OnReport(nowUs, *report);
        }
        return true;
    }
    if (const auto* exact = std::get_if<perhop::wire::exact_header>(&rider))
    {
        if (ExactFlow* flow = FlowOf(ip.view.flow))
        {
            if (m_log.WantsPackets())
            {
                m_log.OnPacket(nowUs,
                               {.node = m_node,
                                .flow = flow->GetIndex(),
                                .sequence = exact->sequence,
                                .arrivedBps = header.explicit_rate_bps,
                                .allocationBps = std::nullopt,
                                .sentBps = header.explicit_rate_bps});
            }
            flow->OnData(nowUs, header, *exact, 255U - ip.view.ttl + 1);
        }
    }
    return false;
}

void
ExactNode::OnHello(uint64_t nowUs, const Packet& content)
{
    std::array<uint8_t, perhop::wire::max_hello_bytes> bytes;
    const uint32_t size = content.CopyData(bytes.data(), bytes.size());
    if (const auto hello = perhop::wire::decode_hello(std::span(bytes).first(size)))
    {
        m_router.on_hello(nowUs, *hello);
        SetTimer(nowUs);
    }
}

void
ExactNode::OnCompletion(const perhop::air::completion& record)
{
    if (record.result == perhop::tx_result::group_sent)
    {
        return;
    }
    m_router.on_completion(record.t_done_us,
                           {.averages = {.peer = record.peer,
                                         .avg_contention_us16 = record.avg_contention_us16,
                                         .avg_overhead_us16 = record.avg_overhead_us16,
                                         .avg_data_attempts_256 = record.avg_data_attempts_256},
                            .delivered = record.result == perhop::tx_result::delivered});
    SetTimer(record.t_done_us);
}

void
ExactNode::OnQueue(uint64_t queuedBytes)
{
    m_router.on_queue(queuedBytes);
}

void
ExactNode::OnPeer(uint8_t peer, uint32_t address)
{
    m_router.set_peer_node(peer, address);
}

void
ExactNode::OnPeerReplaced(uint8_t peer)
{
    m_router.on_peer_replaced(peer);
}

void
ExactNode::Log(uint64_t nowUs) const
{
    for (const ExactFlow* flow : m_flows)
    {
        if (const auto allocationBps = m_router.allocation_bps(Identity(flow->GetKey())))
        {
            m_log.OnAllocation(nowUs, m_node, flow->GetIndex(), *allocationBps, m_router.load());
        }
    }
}

void
ExactNode::SetTimer(uint64_t nowUs)
{
    const uint64_t dueUs = std::max(m_router.deadline().value_or(NO_TIMER_US), nowUs);
    if (dueUs >= m_timerUs)
    {
        return; // it asks again when it is called
    }
    m_timer.Cancel();
    m_timerUs = dueUs;
    m_timer = Simulator::Schedule(MicroSeconds(dueUs - nowUs), &ExactNode::OnTimer, this);
}

void
ExactNode::OnTimer()
{
    const uint64_t nowUs = m_timerUs;
    m_timerUs = NO_TIMER_US;
    m_router.on_deadline(nowUs);
    if (const auto hello = m_router.take_hello(nowUs))
    {
        const std::vector<uint8_t> bytes = perhop::wire::encode(*hello);
        m_sendHello(Create<Packet>(bytes.data(), static_cast<uint32_t>(bytes.size())));
    }
    SetTimer(nowUs);
}

} // namespace ns3
