// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/shim-adapter.h"

#include "sim/ns3/path-header-tag.h"

namespace ns3
{
ShimAdapter::ShimAdapter(const perhop::shim::shim_config& config, uint32_t address)
    : m_shim(config),
      m_address(address)
{
}

void
ShimAdapter::AddFlow(TcpFlow& flow)
{
    m_flows.push_back(&flow);
    m_shim.set_flow_policy(flow.GetKey(), {.cwl = flow.GetLimitConfig()});
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
ShimAdapter::OnSend(uint64_t nowUs, Packet& packet, const IpView& ip, const perhop::shim::next_hop& hop)
{
    if (PathHeaderTag tag; packet.RemovePacketTag(tag))
    {
        perhop::wire::path_header header = tag.GetHeader();
        OnForward(nowUs, header, ip, hop);
        return header;
    }
    if (ip.source != m_address)
    {
        return m_shim.on_forward_plain(nowUs, ip.view, hop);
    }
    TcpFlow* flow = FlowSentFromHere(ip.view.flow);
    if (flow == nullptr)
    {
        return m_shim.on_originate(nowUs, ip.view, hop, 0);
    }
    perhop::shim::ip_packet_view view = ip.view;
    view.tcp.segment_bytes = static_cast<uint16_t>(flow->GetSegmentBytes());
    if (view.tcp.payload_bytes != 0)
    {
        flow->GetStatistics().OnSegmentSent(view.tcp.sequence, view.tcp.payload_bytes);
    }
    return m_shim.on_originate(nowUs, view, hop, flow->GetStatistics().GetPacketsInFlight());
}

void
ShimAdapter::OnForward(uint64_t nowUs, perhop::wire::path_header& header, const IpView& ip, const perhop::shim::next_hop& hop)
{
    m_shim.on_forward(nowUs, header, ip.view, hop);
}

std::optional<uint16_t>
ShimAdapter::OnReceive(uint64_t nowUs, const perhop::wire::path_header& header, const IpView& ip)
{
    perhop::shim::ip_packet_view view = ip.view;
    TcpFlow* flow = m_flows.empty() ? nullptr : FlowSentFromHere(view.flow.reversed());
    if (flow != nullptr)
    {
        view.tcp.segment_bytes = static_cast<uint16_t>(flow->GetSegmentBytes());
        if (view.tcp.has_tcp_ack)
        {
            flow->GetStatistics().OnTcpAck(view.tcp.tcp_ack);
        }
    }
    const perhop::shim::receive_verdict verdict = m_shim.on_receive(nowUs, header, view);
    if (flow != nullptr)
    {
        if (const auto limitPackets = m_shim.cwl_packets(flow->GetKey()))
        {
            flow->GetStatistics().OnLimit(*limitPackets);
        }
    }
    // ns-3's window scaling is off where a limit is enforced: there is no option to strip, and the window fits its field.
    if (!verdict.window_bytes)
    {
        return std::nullopt;
    }
    return static_cast<uint16_t>(*verdict.window_bytes);
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
