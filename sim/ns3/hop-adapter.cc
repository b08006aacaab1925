// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/hop-adapter.h"

#include "sim/run/completion_record.hpp"

#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <utility>

namespace ns3
{
namespace
{

TcpFlow*
FlowOf(const std::vector<TcpFlow*>& flows, const perhop::shim::flow_key& key)
{
    for (TcpFlow* flow : flows)
    {
        if (flow->GetKey() == key)
        {
            return flow;
        }
    }
    return nullptr;
}

} // namespace

HopAdapter::HopAdapter(
    const perhop::shim::shim_config& config, std::size_t queuePackets, uint8_t averageShift, uint32_t address, HopDevice& device)
    : m_device(device),
      m_address(address),
      m_path(*this, queuePackets)
{
    m_path.start(config);
    m_path.restart_averages(averageShift);
}

void
HopAdapter::AddFlow(TcpFlow& flow)
{
    m_flows.push_back(&flow);
    m_path.shim().set_flow_policy(flow.GetKey(), flow.GetPolicy());
}

void
HopAdapter::AddReceivedFlow(TcpFlow& flow)
{
    m_receivedFlows.push_back(&flow);
    m_path.shim().set_flow_policy(flow.GetKey(), flow.GetPolicy());
}

void
HopAdapter::AddForwardedFlow(const TcpFlow& flow)
{
    const perhop::shim::flow_policy& policy = flow.GetPolicy();
    m_path.shim().set_flow_policy(flow.GetKey(), {.cwl = policy.brakes() ? policy.cwl : perhop::shim::no_policy.cwl, .ecn = policy.ecn});
}

void
HopAdapter::ChangePolicy(uint64_t nowUs, const TcpFlow& flow)
{
    m_path.shim().set_flow_policy(flow.GetKey(), flow.GetPolicy());
    m_path.room().on_policy(nowUs, m_path.shim());
    Wind(nowUs);
}

TcpFlow*
HopAdapter::FlowSentFromHere(const perhop::shim::flow_key& key) const
{
    return FlowOf(m_flows, key);
}

TcpFlow*
HopAdapter::FlowReceivedHere(const perhop::shim::flow_key& key) const
{
    return FlowOf(m_receivedFlows, key);
}

MeasuredTcpSocket*
HopAdapter::SocketOf(const perhop::shim::flow_key& arrived) const
{
    if (const TcpFlow* received = FlowReceivedHere(arrived))
    {
        return received->GetReceiver();
    }
    const TcpFlow* sent = FlowSentFromHere(arrived.reversed());
    return sent == nullptr ? nullptr : sent->GetSender();
}

bool
HopAdapter::Send(uint64_t nowUs, HopPacket&& packet)
{
    packet.from = packet.header                                 ? perhop::hop::origin::radio
                  : packet.view.flow.source.ipv4() == m_address ? perhop::hop::origin::here
                                                                : perhop::hop::origin::elsewhere;
    const bool sent = m_path.send(nowUs, std::move(packet));
    Wind(nowUs);
    return sent;
}

bool
HopAdapter::Forward(uint64_t nowUs, HopPacket&& packet, bool stamp)
{
    const bool sent = m_path.pass(nowUs, std::move(packet), stamp);
    Wind(nowUs);
    return sent;
}

std::optional<uint16_t>
HopAdapter::Receive(uint64_t nowUs, const perhop::wire::path_header& header, const perhop::shim::ip_packet_view& packet)
{
    if (packet.tcp.payload_bytes != 0)
    {
        if (TcpFlow* received = FlowReceivedHere(packet.flow))
        {
            received->GetStatistics().OnSegmentArrived();
        }
    }
    TcpFlow* flow = m_flows.empty() ? nullptr : FlowSentFromHere(packet.flow.reversed());
    perhop::shim::receive_verdict verdict;
    if (flow == nullptr)
    {
        verdict = m_path.receive(nowUs, header, packet);
    }
    else
    {
        perhop::shim::ip_packet_view view = packet;
        view.tcp.segment_bytes = static_cast<uint16_t>(flow->GetSegmentBytes());
        if (view.tcp.has_tcp_ack)
        {
            flow->GetStatistics().OnTcpAck(view.tcp.tcp_ack);
        }
        verdict = m_path.receive(nowUs, header, view);
        if (const auto limitPackets = m_path.shim().cwl_packets(flow->GetKey()))
        {
            flow->GetStatistics().OnLimit(*limitPackets);
        }
    }
    // An arrival moves no deadline but that of a TCP ACK.
    if (m_path.shim().holds_back())
    {
        Wind(nowUs);
    }
    // ns-3's window scaling is off where a limit is enforced: there is no option to strip, and the window fits its field.
    return verdict.window_bytes ? std::optional(static_cast<uint16_t>(*verdict.window_bytes)) : std::nullopt;
}

void
HopAdapter::ReceiveHello(uint64_t nowUs, std::span<const uint8_t> content)
{
    m_path.on_hello(nowUs, content);
    Wind(nowUs);
}

void
HopAdapter::Completed(const perhop::air::completion& record, bool purge)
{
    const uint32_t overheadUs = record.parts.control_us + record.parts.response_us;
    const auto serviceUs = static_cast<uint32_t>(record.service_time_us());
    m_path.on_completion(
        record.t_done_us,
        {.receiver_address = record.ra,
         .averages = {.peer = record.peer,
                      .avg_contention_us16 = record.avg_contention_us16,
                      .avg_overhead_us16 = record.avg_overhead_us16,
                      .avg_data_attempts_256 = record.avg_data_attempts_256},
         .sample = {.contention_us = serviceUs - overheadUs - record.parts.data_us,
                    .overhead_us = overheadUs,
                    .data_attempts = record.data_attempts},
         .service_us = serviceUs,
         .delivered = record.result == perhop::tx_result::delivered || record.result == perhop::tx_result::group_sent,
         .unanswered = record.result == perhop::tx_result::short_retry_limit || record.result == perhop::tx_result::long_retry_limit,
         .record = m_path.shim().wants_records() ? std::optional(perhop::run::record_of(record)) : std::nullopt},
        purge);
    Wind(record.t_done_us);
}

// ---- What the hop path asks

std::optional<uint64_t>
HopAdapter::receiver_of(const HopPacket& packet) const
{
    if (!packet.content.route && m_device.Keep(packet))
    {
        return std::nullopt;
    }
    return packet.content.receiver != perhop::broadcast_address ? packet.content.receiver
                                                                : m_device.NextHopTo(packet.view.flow.destination.ipv4());
}

void
HopAdapter::before_leaving(HopPacket& packet)
{
    perhop::shim::ip_packet_view& view = packet.view;
    if (view.flow.protocol != perhop::shim::ip_protocol_tcp || packet.content.again)
    {
        return;
    }
    if (TcpFlow* flow = FlowSentFromHere(view.flow))
    {
        view.tcp.segment_bytes = static_cast<uint16_t>(flow->GetSegmentBytes());
        if (view.tcp.payload_bytes != 0)
        {
            flow->GetStatistics().OnSegmentSent(view.tcp.sequence, view.tcp.payload_bytes);
        }
    }
    else if (view.tcp.has_tcp_ack && !view.tcp.syn)
    {
        if (TcpFlow* received = FlowReceivedHere(view.flow.reversed()))
        {
            received->GetStatistics().OnTcpAckSent(m_path.shim().last_tcp_ack_reason(view.flow));
        }
    }
}

uint32_t
HopAdapter::window_packets(const perhop::shim::ip_packet_view& view) const
{
    const TcpFlow* flow = FlowSentFromHere(view.flow);
    return flow == nullptr ? 0 : flow->GetWindowPackets();
}

void
HopAdapter::on_room(perhop::hop::room_event event, const perhop::shim::ip_packet_view& view)
{
    using perhop::hop::room_event;
    if (event == room_event::paced || event == room_event::paced_lost)
    {
        if (TcpFlow* flow = event == room_event::paced_lost ? FlowSentFromHere(view.flow) : nullptr)
        {
            flow->OnPacketLost(view, FlowLoss::QueueFull);
        }
        return;
    }
    TcpFlow* flow = event == room_event::tcp_ack_held ? FlowReceivedHere(view.flow.reversed()) : nullptr;
    if (flow != nullptr)
    {
        flow->GetStatistics().OnTcpAckHeld();
    }
}

// ---- Time

void
HopAdapter::Wind(uint64_t nowUs)
{
    const uint64_t earliestUs = m_path.next_deadline().value_or(NEVER_US);
    if (earliestUs >= m_timerUs)
    {
        return;
    }
    m_timer.Cancel();
    m_timerUs = std::max(earliestUs, nowUs);
    m_timer = Simulator::Schedule(MicroSeconds(m_timerUs - nowUs), &HopAdapter::OnTimer, this);
}

void
HopAdapter::OnTimer()
{
    const uint64_t nowUs = m_timerUs;
    m_timerUs = NEVER_US;
    m_path.expire(nowUs);
    Wind(nowUs);
}

} // namespace ns3
