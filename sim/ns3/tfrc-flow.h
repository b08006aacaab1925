// SPDX-License-Identifier: GPL-2.0-or-later
//
// A flow of TFRC over UDP: always has data, and sends at the rate that the loss events and the round trip allow.
//
// The rules are host/core's (tfrc_sender, tfrc_receiver); this gives them packets and time. A data packet carries TFRC's header behind the
// stamp of every UDP flow; a report is all that a packet of the receiver carries.
#pragma once

#include "sim/ns3/tfrc-log.h"
#include "sim/ns3/time-mean.h"
#include "sim/ns3/udp-flow.h"

#include "host/core/policy/tfrc_receiver.hpp"
#include "host/core/policy/tfrc_sender.hpp"

#include "ns3/event-id.h"

namespace ns3
{

class TfrcFlow : public UdpFlow
{
  public:
    /// @param log outlives the flow
    TfrcFlow(const perhop::run::flow_config& config,
             std::size_t index,
             Ptr<Node> source,
             Ptr<Node> sink,
             uint64_t measureFromUs,
             uint64_t endUs,
             TfrcLog& log);

    // Inherited from Flow
    void Attach(HopAdapter& atSource, HopAdapter& atSink) override;
    void StartMeasuring(uint64_t nowUs) override;
    FlowInterval TakeInterval(uint64_t nowUs) override;
    perhop::run::flow_result GetResult(uint64_t nowUs) override;

  private:
    void Begin() override;
    void End() override;
    void OnArrival(uint64_t nowUs, uint32_t sequence, const Packet& payload) override;

    /// Sends what may go now, and comes again when something else may.
    void Pump();
    void SendReport();
    void OnReceiverDeadline();
    void AwaitReceiverDeadline();
    void ReadReports(Ptr<Socket> socket);

    /// Sums that start anew with the measurement or with an interval.
    struct Sums
    {
        TimeMean rateBps;
        TimeMean lossEventRate;
        double roundTripSumMs = 0;
        uint64_t roundTrips = 0;

        void Restart(uint64_t nowUs);
        std::optional<double> RoundTripMs() const;
    };

    std::size_t m_index;
    TfrcLog& m_log;
    perhop::policy::tfrc_sender m_rate;
    perhop::policy::tfrc_receiver m_reporter;
    EventId m_pump;
    EventId m_receiverDue;
    bool m_stopped = false;

    Sums m_run;
    Sums m_interval;
    // Loss intervals that ended in the measured time.
    uint64_t m_ended = 0;
    double m_endedPackets = 0;
    double m_predictionErrors = 0;
    uint64_t m_halvingsBefore = 0; ///< in the warm-up
};

} // namespace ns3
