// SPDX-License-Identifier: GPL-2.0-or-later
//
// A flow of EXACT over UDP: its source sends at the rate that the routers of the path allow, its sink tells the source what arrived.
//
// The rules are host/core's (exact_ends, delayed_increase), and the ends are in the nodes (exact-node); this is what sends, the sockets at
// both ends, and what is measured. A data packet carries its number behind the path header; a report goes back behind the path header of
// an empty UDP packet.
#pragma once

#include "sim/ns3/exact-application.h"
#include "sim/ns3/exact-log.h"
#include "sim/ns3/exact-node.h"
#include "sim/ns3/time-mean.h"
#include "sim/ns3/udp-flow.h"

namespace ns3
{

class ExactFlow : public UdpFlow, public ExactFlowEnds
{
  public:
    /// @param sender the node that it begins in; outlives the flow, as `log` does
    ExactFlow(const perhop::run::flow_config& config,
              std::size_t index,
              Ptr<Node> source,
              Ptr<Node> sink,
              uint64_t measureFromUs,
              uint64_t endUs,
              ExactNode& sender,
              ExactLog& log);

    // Inherited from Flow
    void Attach(HopAdapter& atSource, HopAdapter& atSink) override;
    void StartMeasuring(uint64_t nowUs) override;
    FlowInterval TakeInterval(uint64_t nowUs) override;
    perhop::run::flow_result GetResult(uint64_t nowUs) override;

    // Inherited from ExactFlowEnds
    std::size_t GetIndex() const override
    {
        return m_index;
    }

    double GetWeight() const override
    {
        return m_config.weight;
    }

    const perhop::shim::flow_key& GetKey() const override
    {
        return Flow::GetKey();
    }

    std::optional<perhop::hop::next_packet> GetNextPacket(uint64_t nowUs) override;
    void SendPacket() override;
    void SendReport() override;
    void OnReport(uint64_t nowUs, const perhop::wire::exact_report& report, const perhop::policy::exact_sender& sender) override;
    void OnServed(uint64_t nowUs, const perhop::policy::exact_sender& sender) override;

  private:
    void Begin() override;
    void End() override;
    void Note(uint64_t nowUs, uint64_t appBps);

    std::size_t m_index;
    ExactNode& m_sender;
    ExactLog& m_log;
    ExactApplication m_application;
    std::optional<uint64_t> m_sentUs; ///< when the last packet left
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
