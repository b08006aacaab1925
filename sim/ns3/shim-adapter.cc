// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/shim-adapter.h"

#include "sim/ns3/node-address.h"
#include "sim/ns3/path-header-tag.h"

#include "ns3/assert.h"
#include "ns3/ipv4-header.h"
#include "ns3/node.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-l4-protocol.h"

namespace ns3
{
namespace
{

/// A copy of the packet with another window in its TCP header, and right checksums where ns-3 computes them.
Ptr<Packet>
WithWindow(const Packet& original, uint16_t windowBytes)
{
    Ptr<Packet> packet = original.Copy();
    Ipv4Header ipHeader;
    TcpHeader tcpHeader;
    packet->RemoveHeader(ipHeader);
    packet->RemoveHeader(tcpHeader);
    tcpHeader.SetWindowSize(windowBytes);
    if (Node::ChecksumEnabled())
    {
        tcpHeader.EnableChecksums();
        tcpHeader.InitializeChecksum(ipHeader.GetSource(), ipHeader.GetDestination(), TcpL4Protocol::PROT_NUMBER);
        ipHeader.EnableChecksum();
    }
    packet->AddHeader(tcpHeader);
    packet->AddHeader(ipHeader);
    return packet;
}

} // namespace

ShimAdapter::ShimAdapter(const perhop::shim::shim_config& config, uint32_t address)
    : m_shim(config),
      m_address(address)
{
}

void
ShimAdapter::AddFlow(TcpFlow& flow)
{
    m_flows.push_back(&flow);
    m_shim.set_flow_policy(flow.GetKey(), flow.GetLimitConfig());
}

TcpFlow*
ShimAdapter::FlowSentFromHere(const perhop::shim::flow_key& key) const
{
    for (TcpFlow* flow : m_flows)
    {
        if (flow->GetKey() == key)
        {
            return flow;
        }
    }
    return nullptr;
}

perhop::wire::path_header
ShimAdapter::OnSend(uint64_t nowUs, Packet& packet, IpView& ip, const perhop::shim::next_hop& hop)
{
    if (PathHeaderTag tag; packet.RemovePacketTag(tag))
    {
        perhop::wire::path_header header = tag.GetHeader();
        m_shim.on_forward(nowUs, header, ip.view, hop);
        return header;
    }
    if (ip.source != m_address)
    {
        return m_shim.on_forward_plain(nowUs, ip.view, hop);
    }
    uint32_t packetsInFlight = 0;
    if (TcpFlow* flow = FlowSentFromHere(ip.view.flow))
    {
        ip.view.tcp.segment_bytes = static_cast<uint16_t>(flow->GetSegmentBytes());
        if (ip.view.tcp.payload_bytes != 0)
        {
            flow->GetStatistics().OnSegmentSent(ip.view.tcp.sequence, ip.view.tcp.payload_bytes);
        }
        packetsInFlight = flow->GetStatistics().GetPacketsInFlight();
    }
    return m_shim.on_originate(nowUs, ip.view, hop, packetsInFlight);
}

Ptr<const Packet>
ShimAdapter::OnReceive(uint64_t nowUs, const perhop::wire::path_header& header, const Ptr<Packet>& packet, bool group)
{
    std::optional<IpView> ip = ReadIpView(packet);
    if (!ip)
    {
        return packet;
    }
    if (ip->destination != m_address && !group)
    {
        packet->AddPacketTag(PathHeaderTag(header));
        return packet;
    }

    TcpFlow* flow = m_flows.empty() ? nullptr : FlowSentFromHere(ip->view.flow.reversed());
    if (flow != nullptr)
    {
        ip->view.tcp.segment_bytes = static_cast<uint16_t>(flow->GetSegmentBytes());
        if (ip->view.tcp.has_tcp_ack)
        {
            flow->GetStatistics().OnTcpAck(ip->view.tcp.tcp_ack);
        }
    }
    const perhop::shim::receive_verdict verdict = m_shim.on_receive(nowUs, header, ip->view);
    if (flow != nullptr)
    {
        if (const auto limitPackets = m_shim.cwl_packets(flow->GetKey()))
        {
            flow->GetStatistics().OnLimit(*limitPackets);
        }
    }
    // ns-3's window scaling is off where a limit is enforced, so there is no option to strip.
    if (verdict.window_bytes)
    {
        return WithWindow(*packet, static_cast<uint16_t>(*verdict.window_bytes));
    }
    return packet;
}

void
ShimAdapter::OnCompletion(const perhop::air::completion& record)
{
    m_shim.on_completion(record.t_done_us,
                         {.peer = record.peer,
                          .avg_contention_us16 = record.avg_contention_us16,
                          .avg_overhead_us16 = record.avg_overhead_us16,
                          .avg_data_attempts_256 = record.avg_data_attempts_256});
}

} // namespace ns3
