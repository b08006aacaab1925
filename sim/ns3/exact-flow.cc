// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/exact-flow.h"

#include "ns3/packet.h"

#include <algorithm>

namespace ns3
{
namespace
{

constexpr uint32_t IP_AND_UDP_HEADER_BYTES = 28;
constexpr uint64_t MICROPHONE_OFF_GAP_US = 1'000'000;

} // namespace

ExactFlow::ExactFlow(const perhop::run::flow_config& config,
                     std::size_t index,
                     Ptr<Node> source,
                     Ptr<Node> sink,
                     uint64_t measureFromUs,
                     uint64_t endUs,
                     ExactNode& sender,
                     ExactLog& log)
    : UdpFlow(config, index, source, sink, measureFromUs, endUs),
      m_index(index),
      m_sender(sender),
      m_log(log),
      m_application(config)
{
}

void
ExactFlow::Attach(HopAdapter&, HopAdapter&)
{
    // ExactNode stands between this and the device.
}

void
ExactFlow::Begin()
{
    GetSender()->ShutdownRecv(); // reports end in the shim
    m_sender.Begin(NowUs(), *this, m_application.GetDemandBps());
}

void
ExactFlow::End()
{
    m_stopped = true;
    m_sender.End(NowUs(), *this);
    Note(NowUs(), 0);
}

std::optional<perhop::hop::next_packet>
ExactFlow::GetNextPacket(uint64_t nowUs)
{
    m_application.Settle(nowUs);
    perhop::hop::next_packet next{.ip_bytes = m_config.payload_bytes + IP_AND_UDP_HEADER_BYTES};
    const auto qualityBps = m_application.GetQualityBps();
    if (qualityBps && m_sentUs)
    {
        // The microphone fills a packet in this time. While it is off a packet now and then asks for the path's rate.
        next.not_before = *m_sentUs + (*qualityBps == 0 ? MICROPHONE_OFF_GAP_US : uint64_t{8} * next.ip_bytes * 1'000'000 / *qualityBps);
    }
    return next;
}

void
ExactFlow::SendPacket()
{
    m_sentUs = NowUs();
    UdpFlow::SendPacket();
}

void
ExactFlow::SendReport()
{
    GetReceiver()->Send(Create<Packet>());
}

void
ExactFlow::OnReport(uint64_t nowUs, const perhop::wire::exact_report& report, const perhop::policy::exact_sender& sender)
{
    m_hops = report.hops;
    m_signalBps = report.explicit_rate_bps;
    m_application.OnSignal(nowUs, report.explicit_rate_bps);
    if (sender.smoothed_round_trip_us() != 0)
    {
        const double roundTripMs = sender.smoothed_round_trip_us() / 1e3;
        m_roundTripSumMs += roundTripMs;
        ++m_roundTrips;
        m_intervalRoundTripSumMs += roundTripMs;
        ++m_intervalRoundTrips;
    }
}

void
ExactFlow::OnServed(uint64_t nowUs, const perhop::policy::exact_sender& sender)
{
    if (!m_stopped)
    {
        Note(nowUs, std::min(sender.rate_bps(), m_application.GetQualityBps().value_or(sender.rate_bps())));
    }
}

void
ExactFlow::Note(uint64_t nowUs, uint64_t appBps)
{
    const ExactSignal now{
        .signalBps = m_signalBps,
        .allowedBps = m_application.GetAllowedBps(nowUs).value_or(0),
        .appBps = appBps,
        .hops = m_hops,
    };
    if (m_signalBps != 0 && now != m_noted)
    {
        m_log.OnSignal(nowUs, m_index, now);
        m_run.Set(nowUs, now);
        m_interval.Set(nowUs, now);
    }
    m_noted = now;
}

void
ExactFlow::Means::Set(uint64_t nowUs, const ExactSignal& signal)
{
    signalBps.Set(nowUs, static_cast<double>(signal.signalBps));
    allowedBps.Set(nowUs, static_cast<double>(signal.allowedBps));
    appBps.Set(nowUs, static_cast<double>(signal.appBps));
}

void
ExactFlow::Means::Restart(uint64_t nowUs)
{
    signalBps.Restart(nowUs);
    allowedBps.Restart(nowUs);
    appBps.Restart(nowUs);
}

void
ExactFlow::StartMeasuring(uint64_t nowUs)
{
    UdpFlow::StartMeasuring(nowUs);
    m_run.Restart(nowUs);
    m_roundTripSumMs = 0;
    m_roundTrips = 0;
    m_qualityChangesBefore = m_application.GetQualityChanges();
    m_signalChangesBefore = m_application.GetSignalChanges();
}

FlowInterval
ExactFlow::TakeInterval(uint64_t nowUs)
{
    FlowInterval interval = UdpFlow::TakeInterval(nowUs);
    if (m_intervalRoundTrips != 0)
    {
        interval.roundTripMs = m_intervalRoundTripSumMs / static_cast<double>(m_intervalRoundTrips);
    }
    if (m_signalBps != 0)
    {
        interval.rateSignalBps = m_interval.signalBps.Mean(nowUs);
        interval.allowedRateBps = m_interval.allowedBps.Mean(nowUs);
        interval.appRateBps = m_interval.appBps.Mean(nowUs);
    }
    m_interval.Restart(nowUs);
    m_intervalRoundTripSumMs = 0;
    m_intervalRoundTrips = 0;
    return interval;
}

perhop::run::flow_result
ExactFlow::GetResult(uint64_t nowUs)
{
    perhop::run::flow_result result = UdpFlow::GetResult(nowUs);
    if (m_roundTrips != 0)
    {
        result.rtt_ms = m_roundTripSumMs / static_cast<double>(m_roundTrips);
    }
    result.rate_signal_bps = m_run.signalBps.Mean(nowUs);
    result.allowed_rate_bps = m_run.allowedBps.Mean(nowUs);
    result.app_rate_bps = m_run.appBps.Mean(nowUs);
    if (m_application.IsAudio())
    {
        result.rate_changes = static_cast<double>(m_application.GetQualityChanges() - m_qualityChangesBefore);
        result.signal_changes = static_cast<double>(m_application.GetSignalChanges() - m_signalChangesBefore);
    }
    return result;
}

} // namespace ns3
