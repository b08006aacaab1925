// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/flow-statistics.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <numeric>

namespace ns3
{
namespace
{

uint64_t
NowUs()
{
    return static_cast<uint64_t>(Simulator::Now().GetTimeStep()); // which is a microsecond here
}

/// Sequence numbers wrap (RFC 793).
bool
IsAfter(uint32_t a, uint32_t b)
{
    return static_cast<int32_t>(a - b) > 0;
}

} // namespace

void
FlowStatistics::Sums::Restart(uint64_t nowUs)
{
    deliveredBytes = 0;
    roundTrips = 0;
    roundTripSumUs = 0;
    limitPackets.Restart(nowUs);
    windowPackets.Restart(nowUs);
    sinceUs = nowUs;
}

double
FlowStatistics::Sums::GoodputBps(uint64_t nowUs) const
{
    return nowUs == sinceUs ? 0 : static_cast<double>(deliveredBytes) * 8e6 / static_cast<double>(nowUs - sinceUs);
}

std::optional<double>
FlowStatistics::Sums::RoundTripMs() const
{
    return roundTrips == 0 ? std::nullopt : std::optional(roundTripSumUs / static_cast<double>(roundTrips) / 1e3);
}

FlowStatistics::FlowStatistics(uint32_t segmentBytes, uint64_t measureFromUs)
    : m_segmentBytes(segmentBytes),
      m_measureFromUs(measureFromUs)
{
    m_run.sinceUs = measureFromUs;
}

bool
FlowStatistics::IsMeasuring() const
{
    return NowUs() >= m_measureFromUs;
}

void
FlowStatistics::OnDelivered(uint32_t bytes)
{
    m_run.deliveredBytes += bytes;
    m_interval.deliveredBytes += bytes;
}

void
FlowStatistics::OnSegmentSent(uint32_t sequence, uint32_t payloadBytes)
{
    const uint32_t end = sequence + payloadBytes;
    m_segmentsSent += IsMeasuring() ? 1 : 0;
    if (!m_sent)
    {
        m_sent = true;
        m_sentEnd = end;
        m_tcpAck = sequence;
    }
    else if (IsAfter(end, m_sentEnd))
    {
        m_sentEnd = end;
    }
    else
    {
        m_retransmissions += IsMeasuring() ? 1 : 0;
        return;
    }
    m_maxInFlight = std::max(m_maxInFlight, GetPacketsInFlight());
}

void
FlowStatistics::OnSegmentRefused()
{
    m_segmentsSent += IsMeasuring() ? 1 : 0;
}

void
FlowStatistics::OnSegmentArrived()
{
    m_segmentsArrived += IsMeasuring() ? 1 : 0;
}

void
FlowStatistics::OnTcpAck(uint32_t tcpAck)
{
    if (m_sent && IsAfter(tcpAck, m_tcpAck))
    {
        m_tcpAck = tcpAck;
    }
}

uint32_t
FlowStatistics::GetPacketsInFlight() const
{
    return IsAfter(m_sentEnd, m_tcpAck) ? (m_sentEnd - m_tcpAck + m_segmentBytes - 1) / m_segmentBytes : 0;
}

void
FlowStatistics::OnTcpAckSent(perhop::policy::tcp_ack_reason reason)
{
    m_tcpAcksSent[static_cast<std::size_t>(reason)] += IsMeasuring() ? 1 : 0;
}

void
FlowStatistics::OnTcpAckHeld()
{
    m_tcpAcksHeld += IsMeasuring() ? 1 : 0;
}

void
FlowStatistics::OnPacketLost(bool data, FlowLoss loss)
{
    if (!IsMeasuring())
    {
        return;
    }
    Losses& losses = data ? m_dataLosses : m_tcpAckLosses;
    switch (loss)
    {
    case FlowLoss::MacRetries:
        ++losses.macRetries;
        break;
    case FlowLoss::QueueFull:
        ++losses.queueFull;
        break;
    case FlowLoss::LinkFailure:
        ++losses.linkFailure;
        break;
    }
}

void
FlowStatistics::OnLimit(uint32_t limitPackets)
{
    m_run.limitPackets.Set(NowUs(), limitPackets);
    m_interval.limitPackets.Set(NowUs(), limitPackets);
}

void
FlowStatistics::OnRoundTrip(Time roundTrip)
{
    const auto roundTripUs = static_cast<double>(roundTrip.GetMicroSeconds());
    m_lastRoundTripMs = roundTripUs / 1e3;
    for (Sums* sums : {&m_run, &m_interval})
    {
        ++sums->roundTrips;
        sums->roundTripSumUs += roundTripUs;
    }
    if (IsMeasuring())
    {
        m_roundTrips.Add(static_cast<uint64_t>(roundTrip.GetMicroSeconds()));
    }
}

void
FlowStatistics::OnTimeout()
{
    m_timeouts += IsMeasuring() ? 1 : 0;
}

void
FlowStatistics::OnWindow(uint32_t congestionWindowBytes, uint32_t advertisedWindowBytes)
{
    // TCP sends by the smaller of the two; the congestion window itself goes on growing in ns-3 while the other one holds it.
    const double packets = std::min(congestionWindowBytes, advertisedWindowBytes) / static_cast<double>(m_segmentBytes);
    m_windowPackets = packets;
    m_run.windowPackets.Set(NowUs(), packets);
    m_interval.windowPackets.Set(NowUs(), packets);
}

void
FlowStatistics::StartMeasuring(uint64_t nowUs)
{
    m_run.Restart(nowUs);
}

FlowInterval
FlowStatistics::TakeInterval(uint64_t nowUs)
{
    FlowInterval interval;
    interval.startS = static_cast<double>(m_interval.sinceUs) / 1e6;
    interval.endS = static_cast<double>(nowUs) / 1e6;
    interval.goodputBps = m_interval.GoodputBps(nowUs);
    interval.roundTripMs = m_interval.RoundTripMs();
    interval.limitPackets = m_interval.limitPackets.Mean(nowUs);
    interval.windowPackets = m_interval.windowPackets.Mean(nowUs);
    m_interval.Restart(nowUs);
    return interval;
}

perhop::run::flow_result
FlowStatistics::GetResult(uint64_t nowUs)
{
    perhop::run::flow_result result;
    if (nowUs < m_measureFromUs)
    {
        return result; // the run ended within its warm-up
    }
    result.goodput_bps = m_run.GoodputBps(nowUs);
    result.packets_per_s = result.goodput_bps / 8 / m_segmentBytes;
    result.delivered_packets = m_run.deliveredBytes / m_segmentBytes;
    result.rtt_ms = m_run.RoundTripMs();
    result.cwl_packets = m_run.limitPackets.Mean(nowUs);
    result.cwnd_packets = m_run.windowPackets.Mean(nowUs);
    result.sent_packets = static_cast<double>(m_segmentsSent);
    if (m_segmentsSent != 0)
    {
        // What was on its way when the measurement began arrived without having been sent in it.
        result.loss_share = 1 - static_cast<double>(std::min(m_segmentsArrived, m_segmentsSent)) / static_cast<double>(m_segmentsSent);
    }
    result.retransmissions = m_retransmissions;
    result.timeouts = m_timeouts;
    const auto share = [](uint64_t part, uint64_t whole)
    {
        return whole == 0 ? std::nullopt : std::optional(static_cast<double>(part) / static_cast<double>(whole));
    };
    if (result.rtt_ms)
    {
        result.rtt_p95_ms = m_roundTrips.QuantileUs(0.95) / 1e3;
    }
    using perhop::policy::tcp_ack_reason;
    const auto because = [this](tcp_ack_reason reason)
    {
        return m_tcpAcksSent[static_cast<std::size_t>(reason)];
    };
    const uint64_t sent = std::accumulate(m_tcpAcksSent.begin(), m_tcpAcksSent.end(), uint64_t{0});
    result.tcp_acks_sent = sent;
    result.tcp_acks_per_packet = share(sent, result.delivered_packets);
    result.tcp_acks_held = m_tcpAcksHeld;
    result.tcp_acks_window_share = share(because(tcp_ack_reason::window), sent);
    result.tcp_acks_timer_share = share(because(tcp_ack_reason::delay_timer) + because(tcp_ack_reason::hard_limit), sent);
    result.tcp_acks_disorder_share = share(because(tcp_ack_reason::disorder), sent);
    result.tcp_acks_repeated = because(tcp_ack_reason::repeated);
    result.mac_drops_data_packets = m_dataLosses.macRetries;
    result.mac_drops_tcp_ack_packets = m_tcpAckLosses.macRetries;
    result.queue_drops_data_packets = m_dataLosses.queueFull;
    result.queue_drops_tcp_ack_packets = m_tcpAckLosses.queueFull;
    result.link_failure_drops_packets = m_dataLosses.linkFailure + m_tcpAckLosses.linkFailure;
    result.link_failure_drops_data_packets = m_dataLosses.linkFailure;
    result.max_packets_in_flight = GetMaxPacketsInFlight();
    return result;
}

} // namespace ns3
