// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/udp-statistics.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

void
DelayHistogram::Add(uint64_t delayUs)
{
    const auto step = static_cast<std::size_t>(std::log2(static_cast<double>(std::max<uint64_t>(delayUs, 1))) * STEPS_PER_OCTAVE);
    ++m_counts[std::min(step, m_counts.size() - 1)];
    ++m_total;
}

void
DelayHistogram::Clear()
{
    m_counts.fill(0);
    m_total = 0;
}

double
DelayHistogram::QuantileUs(double share) const
{
    uint64_t seen = 0;
    for (std::size_t step = 0; step < m_counts.size() && m_total != 0; ++step)
    {
        seen += m_counts[step];
        if (static_cast<double>(seen) >= share * static_cast<double>(m_total))
        {
            return std::exp2(static_cast<double>(step + 1) / STEPS_PER_OCTAVE);
        }
    }
    return 0;
}

double
UdpStatistics::Sums::GoodputBps(uint64_t nowUs) const
{
    return nowUs == sinceUs ? 0 : static_cast<double>(deliveredBytes) * 8e6 / static_cast<double>(nowUs - sinceUs);
}

double
UdpStatistics::Sums::DelayMs() const
{
    return delivered == 0 ? 0 : static_cast<double>(delaySumUs) / static_cast<double>(delivered) / 1e3;
}

UdpStatistics::UdpStatistics(uint32_t payloadBytes, uint64_t measureFromUs, uint64_t lossUntilUs)
    : m_payloadBytes(payloadBytes),
      m_measureFromUs(measureFromUs),
      m_lossUntilUs(lossUntilUs)
{
    m_run.sinceUs = measureFromUs;
}

void
UdpStatistics::OnSent(uint64_t nowUs)
{
    ++m_run.sent;
    ++m_interval.sent;
    m_lossSent += nowUs >= m_measureFromUs && nowUs < m_lossUntilUs ? 1 : 0;
}

void
UdpStatistics::OnDelivered(uint64_t nowUs, uint64_t sentUs, uint32_t payloadBytes)
{
    for (Sums* sums : {&m_run, &m_interval})
    {
        ++sums->delivered;
        sums->deliveredBytes += payloadBytes;
        sums->delaySumUs += nowUs - sentUs;
    }
    m_lossDelivered += sentUs >= m_measureFromUs && sentUs < m_lossUntilUs ? 1 : 0;
    m_delays.Add(nowUs - sentUs);
}

void
UdpStatistics::StartMeasuring(uint64_t nowUs)
{
    m_run = {.sinceUs = nowUs};
    m_delays.Clear();
}

FlowInterval
UdpStatistics::TakeInterval(uint64_t nowUs)
{
    FlowInterval interval;
    interval.startS = static_cast<double>(m_interval.sinceUs) / 1e6;
    interval.endS = static_cast<double>(nowUs) / 1e6;
    interval.goodputBps = m_interval.GoodputBps(nowUs);
    interval.sentPackets = static_cast<double>(m_interval.sent);
    interval.deliveredPackets = static_cast<double>(m_interval.delivered);
    if (m_interval.delivered != 0)
    {
        interval.delayMs = m_interval.DelayMs();
    }
    m_interval = {.sinceUs = nowUs};
    return interval;
}

perhop::run::flow_result
UdpStatistics::GetResult(uint64_t nowUs) const
{
    perhop::run::flow_result result;
    if (nowUs < m_measureFromUs)
    {
        return result; // the run ended within its warm-up
    }
    result.goodput_bps = m_run.GoodputBps(nowUs);
    result.packets_per_s = result.goodput_bps / 8 / m_payloadBytes;
    result.delivered_packets = m_run.delivered;
    result.sent_packets = static_cast<double>(m_run.sent);
    if (m_lossSent != 0)
    {
        result.loss_share = 1 - static_cast<double>(m_lossDelivered) / static_cast<double>(m_lossSent);
    }
    if (m_run.delivered != 0)
    {
        result.delay_ms = m_run.DelayMs();
        result.delay_p95_ms = m_delays.QuantileUs(0.95) / 1e3;
    }
    return result;
}

} // namespace ns3
