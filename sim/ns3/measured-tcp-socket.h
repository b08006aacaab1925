// SPDX-License-Identifier: GPL-2.0-or-later
//
// ns-3's TCP socket with eyes: it tells a flow's statistics what no trace source of TcpSocketBase says at the right moment. What TCP does
// differs from ns-3's in this:
//
//  - Without SACK, duplicate TCP ACKs say nothing about loss until a TCP ACK covers more than what had been sent at the last timeout or
//    fast recovery (RFC 6582, 3.2, step 2; ns-2's bugFix_). ns-3 3.44 stops asking once a TCP ACK covers exactly that much, and takes the
//    duplicates that its own needless retransmissions provoke for new losses: at a least timeout of 200 ms it can go on like that for
//    seconds. The heuristics of RFC 6582, section 4, which would spare a timeout when such a duplicate does mean a loss, are left out.
//  - Without SACK, a TCP ACK of new data ends the count of duplicates (RFC 5681, 3.2). ns-3 counts each as a segment that has arrived and
//    keeps that, so that single duplicates behind several TCP ACKs made the third of them begin a fast retransmission, whose needless
//    segments provoke the next duplicates: for minutes, at half the goodput.
//  - Reno (SetReno) leaves fast recovery at the first partial TCP ACK (RFC 5681 without RFC 6582), and may begin another at once.
//  - The retransmission timeout has an upper bound that can be set, and a factor.
//  - The congestion window can have a bound in packets, which its own growth does not feel.
//  - With the clocks of 4.4BSD (SetBsd), timers run by their ticks, the timeout is BsdTimeout's and stays backed off until a sample (ns-3
//    forgets the back-off at any TCP ACK of new data), and the first two duplicate TCP ACKs send nothing (ns-3 would send a new segment
//    for each: limited transmit, RFC 3042). Duplicates after a timeout count there, once what had been sent before it is acknowledged.
#pragma once

#include "sim/ns3/bsd-clocks.h"
#include "sim/ns3/bsd-timeout.h"

#include "ns3/tcp-socket-base.h"

namespace ns3
{

class MeasuredTcpSocket : public TcpSocketBase
{
  public:
    /// Told by the sender's socket.
    class Observer
    {
      public:
        virtual ~Observer() = default;
        /// A round trip was timed (Karn: of segments sent once).
        virtual void OnRoundTrip(Time roundTrip) = 0;
        /// The retransmission timer expired.
        virtual void OnTimeout() = 0;
        /// A TCP ACK was processed or a timeout handled: the window may have changed.
        virtual void OnWindow(uint32_t congestionWindowBytes, uint32_t advertisedWindowBytes) = 0;
    };

    static constexpr uint32_t NO_WINDOW_CAP = 0;

    static TypeId GetTypeId();
    TypeId GetInstanceTypeId() const override;

    MeasuredTcpSocket() = default;
    MeasuredTcpSocket(const MeasuredTcpSocket& other) = default;

    /// Does not own it; nullptr: nobody.
    void SetObserver(Observer* observer);

    /// Upper bound of the retransmission timeout, a SYN's too. ns-3's own is 60 s, and this cannot exceed it.
    void SetMaxRto(Time maxRto);

    /// Multiplies the retransmission timeout that ns-3 computes, its lower bound included.
    void SetRtoFactor(uint32_t factor);

    /// At most this many segments are outstanding, however large the congestion window.
    void SetWindowCap(uint32_t packets);

    /// The first partial TCP ACK ends fast recovery. Has an effect without SACK only.
    void SetReno(bool reno);

    /// 4.4BSD's timers and fast retransmit, by the clocks of this socket's host. Without SACK only.
    void SetBsd(Ptr<BsdClocks> clocks);

    /// A segment of this connection has arrived. @param ip says from where, to where and whether congestion was met
    /// @return false: there is no connection, or not yet
    bool Arrive(Ptr<Packet> segment, const Ipv4Header& ip, uint16_t sourcePort);

    /// Segments on their way as TCP believes: not those that it takes for lost. A part of a segment counts as one.
    uint32_t GetPacketsInFlight() const;

    /// The window in whole segments, at least 1.
    uint32_t GetWindowPackets() const;

  protected:
    Ptr<TcpSocketBase> Fork() override;
    Time CalculateRttSample(const TcpHeader& header, const RttHistory& history) override;
    void ReTxTimeout() override;
    uint32_t SendDataPacket(SequenceNumber32 sequence, uint32_t maxBytes, bool withAck) override;
    void SendEmptyPacket(uint8_t flags) override;
    void ReceivedData(Ptr<Packet> packet, const TcpHeader& header) override;
    uint32_t AvailableWindow() const override;
    void ReceivedAck(Ptr<Packet> packet, const TcpHeader& header) override;
    void ProcessAck(const SequenceNumber32& tcpAck,
                    bool scoreboardUpdated,
                    uint32_t deliveredBytes,
                    const SequenceNumber32& oldHead,
                    bool receivedData) override;
    void EstimateRtt(const TcpHeader& header) override;
    void NewAck(const SequenceNumber32& tcpAck, bool resetRto) override;
    uint32_t Window() const override;

  private:
    /// Duplicates of a TCP ACK up to here say nothing about loss.
    void DistrustUpTo(const SequenceNumber32& sequence);
    void TellWindow();
    /// What the base class computed, times the factor and within the upper bound.
    Time BoundedRto() const;

    /// Of BSD: the time until the n-th tick of the slow clock from now.
    Time UntilSlowTick(uint32_t n) const;
    /// Of BSD: sets the retransmission timer anew.
    void StartBsdTimer();

    Observer* m_observer = nullptr;
    Time m_maxRto = Seconds(60);
    uint32_t m_rtoFactor = 1;
    uint32_t m_windowCapPackets = NO_WINDOW_CAP;
    bool m_reno = false;
    bool m_distrust = false; ///< m_distrustUpTo counts
    SequenceNumber32 m_distrustUpTo;
    Ptr<BsdClocks> m_bsdClocks; ///< null: not BSD
    BsdTimeout m_bsdTimeout;
    bool m_handshakeTried = false;
};

} // namespace ns3
