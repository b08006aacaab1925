// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/tfrc-flow.h"

#include "ns3/packet.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ns3
{

TfrcFlow::TfrcFlow(const perhop::run::flow_config& config,
                   std::size_t index,
                   Ptr<Node> source,
                   Ptr<Node> sink,
                   uint64_t measureFromUs,
                   uint64_t endUs,
                   TfrcLog& log)
    : UdpFlow(config, index, source, sink, measureFromUs, endUs),
      m_index(index),
      m_log(log),
      m_rate({.profile = config.profile, .packet_bytes = config.payload_bytes, .avoid_oscillation = config.avoid_oscillation}),
      m_reporter({.profile = config.profile, .intervals = config.loss_intervals, .packet_bytes = config.payload_bytes})
{
}

void
TfrcFlow::Attach(HopAdapter&, HopAdapter&)
{
    // Every packet goes through the shims; neither has a policy for it.
}

void
TfrcFlow::Begin()
{
    GetSender()->SetRecvCallback(MakeCallback(&TfrcFlow::ReadReports, this));
    Pump();
}

void
TfrcFlow::End()
{
    m_stopped = true;
    m_pump.Cancel();
}

void
TfrcFlow::Pump()
{
    m_pump.Cancel();
    if (m_stopped)
    {
        return;
    }
    const uint64_t nowUs = NowUs();
    m_rate.on_deadline(nowUs);
    if (m_rate.next_send(nowUs) == nowUs)
    {
        SendPacket(perhop::wire::encode(m_rate.on_send(nowUs)));
    }
    for (Sums* sums : {&m_run, &m_interval})
    {
        sums->rateBps.Set(nowUs, 8 * m_rate.rate_bytes_per_s());
        sums->lossEventRate.Set(nowUs, m_rate.loss_event_rate());
    }
    const uint64_t nextUs = std::max(std::min(m_rate.next_send(nowUs), *m_rate.deadline()), nowUs + 1);
    m_pump = Simulator::Schedule(MicroSeconds(nextUs - nowUs), &TfrcFlow::Pump, this);
}

void
TfrcFlow::OnArrival(uint64_t nowUs, uint32_t, const Packet& payload)
{
    perhop::wire::tfrc_header_buffer bytes{};
    payload.CopyData(bytes.data(), bytes.size());
    const auto header = perhop::wire::decode_tfrc_header(bytes);
    if (!header)
    {
        return; // nobody else sends to this port
    }
    const bool due = m_reporter.on_data(nowUs, *header);
    for (const perhop::policy::tfrc_ended_interval& ended : m_reporter.ended())
    {
        m_log.OnLossInterval(nowUs, m_index, ended);
        ++m_ended;
        m_endedPackets += ended.true_packets;
        m_predictionErrors += std::abs(ended.predicted_packets - ended.true_packets) / ended.true_packets;
    }
    if (due)
    {
        SendReport();
    }
    else if (!m_receiverDue.IsPending())
    {
        AwaitReceiverDeadline();
    }
}

void
TfrcFlow::SendReport()
{
    const auto bytes = perhop::wire::encode(m_reporter.take_report(NowUs()));
    GetReceiver()->Send(Create<Packet>(bytes.data(), bytes.size()));
    AwaitReceiverDeadline();
}

void
TfrcFlow::AwaitReceiverDeadline()
{
    m_receiverDue.Cancel();
    if (const auto deadline = m_reporter.deadline())
    {
        const uint64_t nowUs = NowUs();
        m_receiverDue = Simulator::Schedule(MicroSeconds(*deadline > nowUs ? *deadline - nowUs : 0), &TfrcFlow::OnReceiverDeadline, this);
    }
}

void
TfrcFlow::OnReceiverDeadline()
{
    if (m_reporter.on_deadline(NowUs()))
    {
        SendReport();
    }
}

void
TfrcFlow::ReadReports(Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv(std::numeric_limits<uint32_t>::max(), 0))
    {
        perhop::wire::tfrc_report_buffer bytes{};
        const uint32_t read = packet->CopyData(bytes.data(), bytes.size());
        const auto report = perhop::wire::decode_tfrc_report(std::span(bytes).first(read));
        if (m_stopped || !report || !m_rate.on_report(NowUs(), *report))
        {
            continue;
        }
        for (Sums* sums : {&m_run, &m_interval})
        {
            sums->roundTripSumMs += m_rate.round_trip_us() / 1e3;
            ++sums->roundTrips;
        }
        Pump();
    }
}

void
TfrcFlow::Sums::Restart(uint64_t nowUs)
{
    rateBps.Restart(nowUs);
    lossEventRate.Restart(nowUs);
    roundTripSumMs = 0;
    roundTrips = 0;
}

std::optional<double>
TfrcFlow::Sums::RoundTripMs() const
{
    return roundTrips == 0 ? std::nullopt : std::optional(roundTripSumMs / static_cast<double>(roundTrips));
}

void
TfrcFlow::StartMeasuring(uint64_t nowUs)
{
    UdpFlow::StartMeasuring(nowUs);
    m_run.Restart(nowUs);
    m_ended = 0;
    m_endedPackets = 0;
    m_predictionErrors = 0;
    m_halvingsBefore = m_rate.counters().halvings;
}

FlowInterval
TfrcFlow::TakeInterval(uint64_t nowUs)
{
    FlowInterval interval = UdpFlow::TakeInterval(nowUs);
    interval.roundTripMs = m_interval.RoundTripMs();
    interval.allowedRateBps = m_interval.rateBps.Mean(nowUs);
    interval.lossEventRate = m_interval.lossEventRate.Mean(nowUs);
    m_interval.Restart(nowUs);
    return interval;
}

perhop::run::flow_result
TfrcFlow::GetResult(uint64_t nowUs)
{
    perhop::run::flow_result result = UdpFlow::GetResult(nowUs);
    result.rtt_ms = m_run.RoundTripMs();
    result.allowed_rate_bps = m_run.rateBps.Mean(nowUs);
    result.loss_intervals = static_cast<double>(m_ended);
    result.no_feedback_halvings = static_cast<double>(m_rate.counters().halvings - m_halvingsBefore);
    if (m_ended != 0)
    {
        result.loss_event_rate = static_cast<double>(m_ended) / m_endedPackets;
        result.loss_prediction_error = m_predictionErrors / static_cast<double>(m_ended);
    }
    return result;
}

} // namespace ns3
