// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/exact-flow.h"

#include "ns3/packet.h"
#include "ns3/simulator.h"

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
                     uint64_t linkRateBps,
                     ExactLog& log)
    : UdpFlow(config, index, source, sink, measureFromUs, endUs),
      m_index(index),
      m_log(log),
      m_application(config),
      m_rate({.packet_bytes = config.payload_bytes + IP_AND_UDP_HEADER_BYTES, .max_rate_bps = linkRateBps})
{
    m_rate.set_application_rate(m_application.GetDemandBps());
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
    Pump();
}

void
ExactFlow::End()
{
    // The last packet tells the routers that there are no more.
    m_stopped = true;
    m_pump.Cancel();
    m_outgoing = m_rate.on_send(NowUs(), true);
    SendPacket();
    Note(NowUs());
}

void
ExactFlow::Pump()
{
    if (m_stopped)
    {
        return;
    }
    m_pump.Cancel();
    const uint64_t nowUs = NowUs();
    if (const auto deadline = m_rate.deadline(); deadline && *deadline <= nowUs)
    {
        m_rate.on_deadline(nowUs);
    }
    m_application.Settle(nowUs);
    auto next = NextPacketUs(nowUs);
    while (next && *next <= nowUs)
    {
        m_outgoing = m_rate.on_send(nowUs);
        m_sentUs = nowUs;
        SendPacket();
        next = NextPacketUs(nowUs);
    }
    const auto deadline = m_rate.deadline();
    if (deadline && (!next || *deadline < *next))
    {
        next = std::max(*deadline, nowUs + 1);
    }
    if (next)
    {
        m_pump = Simulator::Schedule(MicroSeconds(*next - nowUs), &ExactFlow::Pump, this);
    }
    Note(nowUs);
}

std::optional<uint64_t>
ExactFlow::NextPacketUs(uint64_t nowUs)
{
    const auto next = m_rate.next_send(nowUs);
    const auto qualityBps = m_application.GetQualityBps();
    if (!next || !qualityBps || !m_sentUs)
    {
        return next;
    }
    // The microphone fills a packet in this time. While it is off a packet now and then asks for the path's rate.
    const uint64_t bits = uint64_t{8} * (m_config.payload_bytes + IP_AND_UDP_HEADER_BYTES);
    const uint64_t gapUs = *qualityBps == 0 ? MICROPHONE_OFF_GAP_US : bits * 1'000'000 / *qualityBps;
    return std::max(*next, *m_sentUs + gapUs);
}

void
ExactFlow::OnData(uint64_t nowUs, const perhop::wire::path_header& path, const perhop::wire::exact_header& exact, uint32_t ttlHops)
{
    if (m_reporter.on_data(nowUs, path, exact, ttlHops))
    {
        // Not within the delivery: the report goes once the packet has.
        m_reportDue.Cancel();
        m_reportDue = Simulator::ScheduleNow(&ExactFlow::SendReport, this);
    }
    else if (!m_reportDue.IsPending())
    {
        ReportOnDeadline();
    }
}

void
ExactFlow::ReportOnDeadline()
{
    if (const auto deadline = m_reporter.deadline())
    {
        const uint64_t nowUs = NowUs();
        m_reportDue = Simulator::Schedule(MicroSeconds(*deadline > nowUs ? *deadline - nowUs : 0), &ExactFlow::SendReport, this);
    }
}

void
ExactFlow::SendReport()
{
    m_report = m_reporter.take_report(NowUs());
    GetReceiver()->Send(Create<Packet>());
    ReportOnDeadline();
}

void
ExactFlow::OnReport(uint64_t nowUs, const perhop::wire::exact_report& report)
{
    if (!m_rate.on_report(nowUs, report))
    {
        return;
    }
    m_hops = report.hops;
    m_signalBps = report.explicit_rate_bps;
    m_application.OnSignal(nowUs, report.explicit_rate_bps);
    if (m_rate.smoothed_round_trip_us() != 0)
    {
        const double roundTripMs = m_rate.smoothed_round_trip_us() / 1e3;
        m_roundTripSumMs += roundTripMs;
        ++m_roundTrips;
        m_intervalRoundTripSumMs += roundTripMs;
        ++m_intervalRoundTrips;
    }
    if (!m_stopped)
    {
        m_pump.Cancel();
        m_pump = Simulator::ScheduleNow(&ExactFlow::Pump, this);
    }
}

void
ExactFlow::Note(uint64_t nowUs)
{
    const ExactSignal now{
        .signalBps = m_signalBps,
        .allowedBps = m_application.GetAllowedBps(nowUs).value_or(0),
        .appBps = m_stopped ? 0 : std::min(m_rate.rate_bps(), m_application.GetQualityBps().value_or(m_rate.rate_bps())),
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
