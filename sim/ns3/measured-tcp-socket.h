// SPDX-License-Identifier: GPL-2.0-or-later
//
// ns-3's TCP socket with eyes: it tells a flow's statistics what no trace source of TcpSocketBase says at the right moment, and changes
// nothing in what TCP does, but for an upper bound of the retransmission timeout that can be set.
#pragma once

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

    static TypeId GetTypeId();
    TypeId GetInstanceTypeId() const override;

    MeasuredTcpSocket() = default;
    MeasuredTcpSocket(const MeasuredTcpSocket& other) = default;

    /// Does not own it; nullptr: nobody.
    void SetObserver(Observer* observer);

    /// Upper bound of the retransmission timeout. ns-3's own is 60 s, and this cannot exceed it.
    void SetMaxRto(Time maxRto);

  protected:
    Ptr<TcpSocketBase> Fork() override;
    Time CalculateRttSample(const TcpHeader& header, const RttHistory& history) override;
    void ReTxTimeout() override;
    void ReceivedAck(Ptr<Packet> packet, const TcpHeader& header) override;

  private:
    void TellWindow();

    Observer* m_observer = nullptr;
    Time m_maxRto = Seconds(60);
};

} // namespace ns3
