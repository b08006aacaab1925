// SPDX-License-Identifier: GPL-2.0-or-later
//
// What one TCP flow did: over the measured part of the run, and over each interval of it.
#pragma once

#include "sim/ns3/flow.h"
#include "sim/ns3/measured-tcp-socket.h"
#include "sim/ns3/time-mean.h"
#include "sim/ns3/udp-statistics.h"
#include "sim/run/run_report.hpp"

#include "host/core/policy/delayed_tcp_ack.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace ns3
{

class FlowStatistics : public MeasuredTcpSocket::Observer
{
  public:
    /// @param segmentBytes payload of a full segment; @param measureFromUs what is earlier does not count
    FlowStatistics(uint32_t segmentBytes, uint64_t measureFromUs);

    /// The application at the far end read this much, in order.
    void OnDelivered(uint32_t bytes);

    /// The sender's shim saw a segment of the flow with payload leave TCP.
    void OnSegmentSent(uint32_t sequence, uint32_t payloadBytes);

    /// A segment of the flow with payload found no room in its sender's own queue.
    void OnSegmentRefused();

    /// The receiver's shim saw a segment of the flow with payload arrive, whether or not it had come before.
    void OnSegmentArrived();

    /// The sender's shim saw a TCP ACK of the flow arrive.
    void OnTcpAck(uint32_t tcpAck);

    /// The congestion window limit that holds from now on.
    void OnLimit(uint32_t limitPackets);

    /// The receiver's shim put a TCP ACK without payload on its way.
    void OnTcpAckSent(perhop::policy::tcp_ack_reason reason);

    /// The receiver's shim held a TCP ACK back.
    void OnTcpAckHeld();

    /// @param data or a TCP ACK
    void OnPacketLost(bool data, FlowLoss loss);

    // Inherited from MeasuredTcpSocket::Observer
    void OnRoundTrip(Time roundTrip) override;
    void OnTimeout() override;
    void OnWindow(uint32_t congestionWindowBytes, uint32_t advertisedWindowBytes) override;

    /// Segments between TCP's send side and the last TCP ACK, as the shim sees them. A part of a segment counts as one.
    uint32_t GetPacketsInFlight() const;

    /// The newest sample; nothing before the first.
    std::optional<double> GetLastRoundTripMs() const
    {
        return m_lastRoundTripMs;
    }

    /// By which TCP sends now; nothing before it has told.
    std::optional<double> GetWindowPackets() const
    {
        return m_windowPackets;
    }

    /// The largest number in flight when a new segment left.
    uint32_t GetMaxPacketsInFlight() const
    {
        return m_maxInFlight;
    }

    /// The warm-up is over.
    void StartMeasuring(uint64_t nowUs);

    /// The interval that ends now; starts the next.
    FlowInterval TakeInterval(uint64_t nowUs);

    perhop::run::flow_result GetResult(uint64_t nowUs);

  private:
    /// Sums that start anew with the measurement or with an interval.
    struct Sums
    {
        uint64_t deliveredBytes = 0;
        uint64_t roundTrips = 0;
        double roundTripSumUs = 0;
        TimeMean limitPackets;
        TimeMean windowPackets;
        uint64_t sinceUs = 0;

        void Restart(uint64_t nowUs);
        double GoodputBps(uint64_t nowUs) const;
        std::optional<double> RoundTripMs() const;
    };

    /// What is lost of one direction.
    struct Losses
    {
        uint64_t macRetries = 0;
        uint64_t queueFull = 0;
        uint64_t linkFailure = 0;
    };

    bool IsMeasuring() const;

    uint32_t m_segmentBytes;
    uint64_t m_measureFromUs;
    Sums m_run;
    Sums m_interval;
    uint64_t m_segmentsSent = 0; ///< refused ones among them
    uint64_t m_segmentsArrived = 0;
    uint64_t m_retransmissions = 0;
    uint64_t m_timeouts = 0;
    std::array<uint64_t, perhop::policy::tcp_ack_reason_count> m_tcpAcksSent{};
    uint64_t m_tcpAcksHeld = 0;
    Losses m_dataLosses;
    Losses m_tcpAckLosses;
    DelayHistogram m_roundTrips;
    std::optional<double> m_lastRoundTripMs;
    std::optional<double> m_windowPackets;

    bool m_sent = false;
    uint32_t m_sentEnd = 0; ///< sequence number after the last byte ever sent
    uint32_t m_tcpAck = 0;  ///< highest one seen
    uint32_t m_maxInFlight = 0;
};

} // namespace ns3
