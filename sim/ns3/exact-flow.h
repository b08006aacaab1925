// SPDX-License-Identifier: GPL-2.0-or-later
//
// A flow of EXACT over UDP: its source sends at the rate that the routers of the path allow, its sink tells the source what arrived.
//
// The rules are host/core's (exact_sender, exact_receiver, delayed_increase); this gives them packets and time. A data packet carries its
// number behind the path header; a report goes back behind the path header of an empty UDP packet.
#pragma once

#include "sim/ns3/exact-application.h"
#include "sim/ns3/exact-log.h"
#include "sim/ns3/time-mean.h"
#include "sim/ns3/udp-flow.h"

#include "host/core/policy/exact_receiver.hpp"
#include "host/core/policy/exact_sender.hpp"

#include "ns3/event-id.h"

namespace ns3
{

class ExactFlow : public UdpFlow
{
  public:
    /// @param linkRateBps what no flow can exceed; @param log outlives the flow
    ExactFlow(const perhop::run::flow_config& config,
              std::size_t index,
              Ptr<Node> source,
              Ptr<Node> sink,
              uint64_t measureFromUs,
              uint64_t endUs,
              uint64_t linkRateBps,
              ExactLog& log);

    // Inherited from Flow
    void Attach(HopAdapter& atSource, HopAdapter& atSink) override;
    void StartMeasuring(uint64_t nowUs) override;
    FlowInterval TakeInterval(uint64_t nowUs) override;
    perhop::run::flow_result GetResult(uint64_t nowUs) override;

    std::size_t GetIndex() const
    {
        return m_index;
    }

    double GetWeight() const
    {
        return m_config.weight;
    }

    /// Of the data packet that is being sent: called from within its sending.
    const perhop::policy::exact_outgoing& GetOutgoing() const
    {
        return m_outgoing;
    }

    /// Of the report that is being sent, likewise.
    const perhop::wire::exact_report& GetReport() const
    {
        return m_report;
    }

    bool StartsAt(uint32_t node) const
    {
        return m_config.src == node;
    }

    /// The source's own router left the packet that is being sent with this rate.
    void OnFirstHop(uint64_t nowUs, uint64_t explicitRateBps)
    {
        m_rate.on_first_hop(nowUs, explicitRateBps);
    }

    /// A data packet arrived at the sink. @param ttlHops by its time to live
    void OnData(uint64_t nowUs, const perhop::wire::path_header& path, const perhop::wire::exact_header& exact, uint32_t ttlHops);

    /// A report arrived at the source.
    void OnReport(uint64_t nowUs, const perhop::wire::exact_report& report);

  private:
    void Begin() override;
    void End() override;
    /// Sends what may go now, and comes again when something else may.
    void Pump();
    /// When the sender may, and the application has something to send; nothing: not before a report or the sender's deadline.
    std::optional<uint64_t> NextPacketUs(uint64_t nowUs);
    void SendReport();
    void ReportOnDeadline();
    void Note(uint64_t nowUs);

    std::size_t m_index;
    ExactLog& m_log;
    ExactApplication m_application;
    perhop::policy::exact_sender m_rate;
    perhop::policy::exact_receiver m_reporter;
    perhop::policy::exact_outgoing m_outgoing;
    perhop::wire::exact_report m_report;
    std::optional<uint64_t> m_sentUs; ///< when the last packet left
    EventId m_pump;
    EventId m_reportDue;
    bool m_stopped = false;

    /// Means of the measured time or of an interval.
    struct Means
    {
        TimeMean signalBps;
        TimeMean allowedBps;
        TimeMean appBps;

        void Set(uint64_t nowUs, const ExactSignal& signal);
        void Restart(uint64_t nowUs);
    };

    uint64_t m_signalBps = 0;
    uint8_t m_hops = 0;
    ExactSignal m_noted;
    Means m_run;
    Means m_interval;
    double m_roundTripSumMs = 0;
    uint64_t m_roundTrips = 0;
    double m_intervalRoundTripSumMs = 0;
    uint64_t m_intervalRoundTrips = 0;
    uint64_t m_qualityChangesBefore = 0; ///< in the warm-up
    uint64_t m_signalChangesBefore = 0;
};

} // namespace ns3
