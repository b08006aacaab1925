// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/shim-adapter.h"

#include "sim/ns3/path-header-tag.h"

#include "ns3/assert.h"
#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ns3
{
ShimAdapter::ShimAdapter(const perhop::shim::shim_config& config, uint32_t address, std::function<void(const Outgoing&)> send)
    : m_shim(config),
      m_address(address),
      m_send(std::move(send))
{
}

void
ShimAdapter::AddFlow(TcpFlow& flow)
{
    m_flows.push_back(&flow);
    const perhop::shim::flow_policy policy = flow.GetPolicy();
    m_shim.set_flow_policy(flow.GetKey(), policy);
    if (policy.pacing.kind != perhop::policy::pacing_kind::none)
    {
        m_paced.push_back({.flow = &flow});
    }
}

void
ShimAdapter::AddReceivedFlow(TcpFlow& flow)
{
    m_receivedFlows.push_back(&flow);
    const perhop::shim::flow_policy policy = flow.GetPolicy();
    m_shim.set_flow_policy(flow.GetKey(), policy);
    if (policy.tcp_ack.kind != perhop::policy::tcp_ack_kind::every)
    {
        m_thinned.push_back({.flow = &flow});
    }
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

ShimAdapter::ThinnedFlow*
ShimAdapter::ThinnedFlowOf(const perhop::shim::flow_key& key)
{
    for (ThinnedFlow& thinned : m_thinned)
    {
        if (thinned.flow->GetKey() == key)
        {
            return &thinned;
        }
    }
    return nullptr;
}

bool
ShimAdapter::HoldsBack(uint64_t nowUs, const Ptr<Packet>& packet, const IpView& ip, const Address& receiver)
{
    if ((m_thinned.empty() && m_paced.empty()) || ip.source != m_address || ip.view.flow.protocol != perhop::shim::ip_protocol_tcp)
    {
        return false;
    }
    if (ThinnedFlow* thinned = ThinnedFlowOf(ip.view.flow.reversed()))
    {
        return HoldsTcpAck(nowUs, *thinned, {packet, ip, receiver, std::nullopt});
    }
    for (PacedFlow& paced : m_paced)
    {
        if (paced.flow->GetKey() == ip.view.flow)
        {
            return Paces(nowUs, paced, {packet, ip, receiver, paced.flow->GetPacketsInFlight()});
        }
    }
    return false;
}

bool
ShimAdapter::HoldsTcpAck(uint64_t nowUs, ThinnedFlow& thinned, const Outgoing& packet)
{
    const bool hold = m_shim.on_tcp_ack(nowUs, packet.ip.view) == perhop::policy::tcp_ack_action::hold;
    if (hold)
    {
        thinned.held = packet;
        thinned.flow->GetStatistics().OnTcpAckHeld();
    }
    else
    {
        thinned.held.reset();
        const perhop::shim::tcp_view& tcp = packet.ip.view.tcp;
        if (tcp.has_tcp_ack && tcp.payload_bytes == 0 && !tcp.syn && !tcp.fin && !tcp.rst)
        {
            thinned.sent = packet;
        }
    }
    SetTimer(nowUs);
    return hold;
}

uint64_t
ShimAdapter::ReleaseUs(uint64_t nowUs, const PacedFlow& paced, const IpView& ip)
{
    perhop::shim::ip_packet_view view = ip.view;
    view.tcp.congestion_window_packets = paced.flow->GetWindowPackets();
    return m_shim.release_time(nowUs, view);
}

bool
ShimAdapter::Paces(uint64_t nowUs, PacedFlow& paced, const Outgoing& packet)
{
    if (!paced.waiting.empty())
    {
        if (paced.waiting.size() < MOST_PACED_PACKETS)
        {
            paced.waiting.push_back(packet);
        }
        else
        {
            paced.flow->OnPacketLost(packet.ip.view, FlowLoss::QueueFull);
        }
        return true;
    }
    const uint64_t releaseUs = ReleaseUs(nowUs, paced, packet.ip);
    if (releaseUs <= nowUs)
    {
        return false;
    }
    paced.waiting.push_back(packet);
    paced.releaseUs = releaseUs;
    SetTimer(nowUs);
    return true;
}

void
ShimAdapter::ReleasePaced(uint64_t nowUs, PacedFlow& paced)
{
    while (paced.releaseUs <= nowUs)
    {
        const Outgoing packet = std::move(paced.waiting.front());
        paced.waiting.pop_front();
        // The next one's time is asked for when it is the next one, so that it follows the path as it is now.
        paced.releaseUs = paced.waiting.empty() ? NEVER_US : ReleaseUs(nowUs, paced, paced.waiting.front().ip);
        m_send(packet);
    }
}

void
ShimAdapter::SetTimer(uint64_t nowUs)
{
    uint64_t earliestUs = m_shim.next_deadline().value_or(NEVER_US);
    for (const PacedFlow& paced : m_paced)
    {
        earliestUs = std::min(earliestUs, paced.releaseUs);
    }
    if (earliestUs >= m_timerUs)
    {
        return;
    }
    m_timer.Cancel();
    m_timerUs = std::max(earliestUs, nowUs);
    m_timer = Simulator::Schedule(MicroSeconds(m_timerUs - nowUs), &ShimAdapter::OnTimer, this);
}

void
ShimAdapter::OnTimer()
{
    const uint64_t nowUs = m_timerUs;
    m_timerUs = NEVER_US;
    std::array<perhop::shim::tcp_ack_due, 8> due;
    std::size_t count;
    do
    {
        count = m_shim.expire(nowUs, due);
        for (std::size_t i = 0; i < count; ++i)
        {
            ThinnedFlow* thinned = ThinnedFlowOf(due[i].flow.reversed());
            NS_ASSERT_MSG(thinned != nullptr, "the shim held a TCP ACK of a flow that is not thinned");
            if (due[i].release == perhop::policy::tcp_ack_release::send_held && thinned->held)
            {
                thinned->sent = std::move(thinned->held);
                thinned->held.reset();
                thinned->flow->GetStatistics().OnTcpAckTimer();
                m_send(*thinned->sent);
            }
            else if (due[i].release == perhop::policy::tcp_ack_release::send_again && thinned->sent)
            {
                thinned->flow->GetStatistics().OnTcpAckRepeated();
                m_send(*thinned->sent);
            }
        }
    } while (count == due.size());
    for (PacedFlow& paced : m_paced)
    {
        ReleasePaced(nowUs, paced);
    }
    if (m_onTimer)
    {
        m_onTimer(nowUs);
    }
    SetTimer(nowUs);
}

perhop::wire::path_header
ShimAdapter::OnSend(
    uint64_t nowUs, Packet& packet, const IpView& ip, const perhop::shim::next_hop& hop, std::optional<uint32_t> packetsInFlight)
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
        NoteTcpAck(ip.view);
        const perhop::wire::path_header header = m_shim.on_originate(nowUs, ip.view, hop, 0);
        Wind(nowUs);
        return header;
    }
    perhop::shim::ip_packet_view view = ip.view;
    view.tcp.segment_bytes = static_cast<uint16_t>(flow->GetSegmentBytes());
    if (view.tcp.payload_bytes != 0)
    {
        flow->GetStatistics().OnSegmentSent(view.tcp.sequence, view.tcp.payload_bytes);
    }
    const perhop::wire::path_header header = m_shim.on_originate(nowUs, view, hop, packetsInFlight.value_or(flow->GetPacketsInFlight()));
    Wind(nowUs);
    return header;
}

void
ShimAdapter::NoteTcpAck(const perhop::shim::ip_packet_view& view) const
{
    if (view.flow.protocol != perhop::shim::ip_protocol_tcp || !view.tcp.has_tcp_ack || view.tcp.syn)
    {
        return;
    }
    for (TcpFlow* flow : m_receivedFlows)
    {
        if (flow->GetKey() == view.flow.reversed())
        {
            flow->GetStatistics().OnTcpAckSent();
            return;
        }
    }
}

void
ShimAdapter::OnForward(uint64_t nowUs, perhop::wire::path_header& header, const IpView& ip, const perhop::shim::next_hop& hop)
{
    m_shim.on_forward(nowUs, header, ip.view, hop);
    Wind(nowUs);
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
    if (!m_thinned.empty())
    {
        SetTimer(nowUs);
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
                          .avg_data_attempts_256 = record.avg_data_attempts_256},
                         record.result == perhop::tx_result::delivered || record.result == perhop::tx_result::group_sent);
    Wind(record.t_done_us);
}

void
ShimAdapter::SetTimerCallback(std::function<void(uint64_t)> call)
{
    m_onTimer = std::move(call);
}

void
ShimAdapter::Wind(uint64_t nowUs)
{
    if (m_onTimer)
    {
        SetTimer(nowUs);
    }
}

} // namespace ns3
