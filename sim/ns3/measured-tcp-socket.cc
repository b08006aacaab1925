// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/measured-tcp-socket.h"

#include "ns3/simulator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-socket-state.h"
#include "ns3/tcp-tx-buffer.h"

#include <algorithm>

namespace ns3
{

namespace
{

// ns-3 waits for 3 s times 2^n before the n-th repetition of a SYN, in 32 bits. So many doublings are beyond any upper bound of ours.
constexpr uint32_t MOST_SYN_DOUBLINGS = 6;

} // namespace

NS_OBJECT_ENSURE_REGISTERED(MeasuredTcpSocket);

TypeId
MeasuredTcpSocket::GetTypeId()
{
    static TypeId tid = TypeId("perhop::MeasuredTcpSocket").SetParent<TcpSocketBase>().AddConstructor<MeasuredTcpSocket>();
    return tid;
}

TypeId
MeasuredTcpSocket::GetInstanceTypeId() const
{
    return GetTypeId();
}

void
MeasuredTcpSocket::SetObserver(Observer* observer)
{
    m_observer = observer;
}

void
MeasuredTcpSocket::SetMaxRto(Time maxRto)
{
    m_maxRto = maxRto;
}

Ptr<TcpSocketBase>
MeasuredTcpSocket::Fork()
{
    return CopyObject<MeasuredTcpSocket>(this);
}

Time
MeasuredTcpSocket::CalculateRttSample(const TcpHeader& header, const RttHistory& history)
{
    const Time sample = TcpSocketBase::CalculateRttSample(header, history);
    if (m_observer != nullptr && sample.IsStrictlyPositive())
    {
        m_observer->OnRoundTrip(sample);
    }
    return sample;
}

void
MeasuredTcpSocket::SetRtoFactor(uint32_t factor)
{
    m_rtoFactor = factor;
}

void
MeasuredTcpSocket::SetWindowCap(uint32_t packets)
{
    m_windowCapPackets = packets;
}

void
MeasuredTcpSocket::SetReno(bool reno)
{
    m_reno = reno;
}

void
MeasuredTcpSocket::SetBsd(Ptr<BsdClocks> clocks)
{
    m_bsdClocks = clocks;
}

Time
MeasuredTcpSocket::UntilSlowTick(uint32_t n) const
{
    const Time now = Simulator::Now();
    return m_bsdClocks->slow.Next(now, n) - now;
}

void
MeasuredTcpSocket::StartBsdTimer()
{
    m_rto = m_bsdClocks->slow.GetPeriod() * int64_t{m_bsdTimeout.Ticks()};
    m_retxEvent.Cancel();
    m_retxEvent = Simulator::Schedule(UntilSlowTick(m_bsdTimeout.Ticks()), &MeasuredTcpSocket::ReTxTimeout, this);
}

uint32_t
MeasuredTcpSocket::SendDataPacket(SequenceNumber32 sequence, uint32_t maxBytes, bool withAck)
{
    const bool timerStarts = m_bsdClocks && m_retxEvent.IsExpired();
    const uint32_t bytes = TcpSocketBase::SendDataPacket(sequence, maxBytes, withAck);
    if (timerStarts)
    {
        StartBsdTimer();
    }
    return bytes;
}

void
MeasuredTcpSocket::SendEmptyPacket(uint8_t flags)
{
    if ((flags & (TcpHeader::SYN | TcpHeader::FIN)) == 0)
    {
        TcpSocketBase::SendEmptyPacket(flags); // starts no timer
        return;
    }
    const bool timerStarts = m_retxEvent.IsExpired();
    if ((flags & TcpHeader::SYN) != 0 && m_synRetries > m_synCount + MOST_SYN_DOUBLINGS)
    {
        m_synCount = m_synRetries - MOST_SYN_DOUBLINGS;
    }
    TcpSocketBase::SendEmptyPacket(flags);
    if (!timerStarts || !m_retxEvent.IsPending())
    {
        return;
    }
    // The base class has set the timer of a SYN or FIN, which it calls this for again.
    if (m_bsdClocks)
    {
        if (m_handshakeTried)
        {
            m_bsdTimeout.OnTimeout();
        }
        m_handshakeTried = true;
        m_retxEvent.Cancel();
        m_retxEvent = Simulator::Schedule(UntilSlowTick(m_bsdTimeout.Ticks()), &MeasuredTcpSocket::SendEmptyPacket, this, flags);
    }
    else if (m_rto.Get() > m_maxRto)
    {
        m_rto = m_maxRto;
        m_retxEvent.Cancel();
        m_retxEvent = Simulator::Schedule(m_maxRto, &MeasuredTcpSocket::SendEmptyPacket, this, flags);
    }
}

void
MeasuredTcpSocket::ReceivedData(Ptr<Packet> packet, const TcpHeader& header)
{
    const bool timerStarts = m_bsdClocks && m_delAckEvent.IsExpired();
    TcpSocketBase::ReceivedData(packet, header);
    if (timerStarts && m_delAckEvent.IsPending())
    {
        const Time now = Simulator::Now();
        m_delAckEvent.Cancel();
        m_delAckEvent = Simulator::Schedule(m_bsdClocks->fast.Next(now, 1) - now, &MeasuredTcpSocket::DelAckTimeout, this);
    }
}

uint32_t
MeasuredTcpSocket::AvailableWindow() const
{
    if (!m_bsdClocks || m_tcb->m_congState != TcpSocketState::CA_DISORDER)
    {
        return TcpSocketBase::AvailableWindow();
    }
    const uint32_t windowBytes = Window();
    const uint32_t outstandingBytes = UnAckDataCount();
    return windowBytes > outstandingBytes ? windowBytes - outstandingBytes : 0;
}

uint32_t
MeasuredTcpSocket::Window() const
{
    const uint32_t windowBytes = TcpSocketBase::Window();
    return m_windowCapPackets == NO_WINDOW_CAP ? windowBytes : std::min(windowBytes, m_windowCapPackets * m_tcb->m_segmentSize);
}

bool
MeasuredTcpSocket::Arrive(Ptr<Packet> segment, const Ipv4Header& ip, uint16_t sourcePort)
{
    if (!m_connected || m_endPoint == nullptr)
    {
        return false;
    }
    ForwardUp(segment, ip, sourcePort, nullptr);
    return true;
}

uint32_t
MeasuredTcpSocket::GetPacketsInFlight() const
{
    return (BytesInFlight() + m_tcb->m_segmentSize - 1) / m_tcb->m_segmentSize;
}

uint32_t
MeasuredTcpSocket::GetWindowPackets() const
{
    return std::max(1U, Window() / m_tcb->m_segmentSize);
}

void
MeasuredTcpSocket::EstimateRtt(const TcpHeader& header)
{
    const bool sampled = !m_history.empty();
    if (m_bsdClocks && sampled && TcpSocketBase::CalculateRttSample(header, m_history.front()).IsStrictlyPositive())
    {
        BsdClock& clock = m_bsdClocks->slow;
        m_bsdTimeout.OnSample(1 + static_cast<int32_t>(clock.Count(Simulator::Now()) - clock.Count(m_history.front().time)));
    }
    TcpSocketBase::EstimateRtt(header);
    if (sampled)
    {
        m_rto = BoundedRto();
    }
}

void
MeasuredTcpSocket::NewAck(const SequenceNumber32& tcpAck, bool resetRto)
{
    TcpSocketBase::NewAck(tcpAck, resetRto);
    if (m_bsdClocks && m_state == ESTABLISHED && m_retxEvent.IsPending())
    {
        StartBsdTimer();
        return;
    }
    // The base class has computed the timeout anew and set the timer by it.
    const Time bounded = BoundedRto();
    if (bounded != m_rto.Get() && resetRto && m_retxEvent.IsPending())
    {
        m_rto = bounded;
        m_retxEvent.Cancel();
        m_retxEvent = Simulator::Schedule(m_rto.Get(), &MeasuredTcpSocket::ReTxTimeout, this);
    }
}

Time
MeasuredTcpSocket::BoundedRto() const
{
    return std::min(m_rto.Get() * m_rtoFactor, m_maxRto);
}

void
MeasuredTcpSocket::DistrustUpTo(const SequenceNumber32& sequence)
{
    m_distrust = true;
    m_distrustUpTo = sequence;
}

void
MeasuredTcpSocket::ProcessAck(
    const SequenceNumber32& tcpAck, bool scoreboardUpdated, uint32_t deliveredBytes, const SequenceNumber32& oldHead, bool receivedData)
{
    if (m_sackEnabled)
    {
        TcpSocketBase::ProcessAck(tcpAck, scoreboardUpdated, deliveredBytes, oldHead, receivedData);
        return;
    }
    m_distrust = m_distrust && tcpAck <= m_distrustUpTo;
    const bool wasInRecovery = m_tcb->m_congState == TcpSocketState::CA_RECOVERY;
    const SequenceNumber32 recover = m_recover;
    if (wasInRecovery && m_reno && tcpAck > oldHead && tcpAck < recover)
    {
        m_recover = tcpAck; // what is left of the window is no longer this recovery's business
    }
    const bool ofNoMeaning = !m_bsdClocks && m_distrust && !wasInRecovery && tcpAck == oldHead;
    // To the base class a TCP ACK that comes with data is no duplicate.
    TcpSocketBase::ProcessAck(tcpAck, scoreboardUpdated, deliveredBytes, oldHead, receivedData || ofNoMeaning);
    if (m_bsdClocks && !wasInRecovery && m_tcb->m_congState == TcpSocketState::CA_RECOVERY)
    {
        StartBsdTimer(); // with the fast retransmission
    }
    if (wasInRecovery && !m_reno && m_tcb->m_congState != TcpSocketState::CA_RECOVERY)
    {
        DistrustUpTo(recover);
    }
}

void
MeasuredTcpSocket::ReTxTimeout()
{
    // The base class doubles the timeout and sets the timer in one go, so the bound is applied before it.
    m_rto = std::min(m_rto.Get(), m_maxRto / 2);
    const bool dataOutstanding = m_txBuffer->Size() != 0; // else the base class does nothing
    if (dataOutstanding)
    {
        DistrustUpTo(m_tcb->m_highTxMark);
        m_bsdTimeout.OnTimeout();
    }
    TcpSocketBase::ReTxTimeout();
    if (m_bsdClocks && dataOutstanding && m_retxEvent.IsPending())
    {
        StartBsdTimer();
    }
    if (m_observer != nullptr && dataOutstanding)
    {
        m_observer->OnTimeout();
        TellWindow();
    }
}

void
MeasuredTcpSocket::ReceivedAck(Ptr<Packet> packet, const TcpHeader& header)
{
    const bool staysInRecovery = m_tcb->m_congState == TcpSocketState::CA_RECOVERY && !m_reno;
    if (!m_sackEnabled && !staysInRecovery && m_txBuffer->GetSacked() != 0 && header.GetAckNumber() > m_txBuffer->HeadSequence())
    {
        // The duplicates before it have told what they had to. That a partial TCP ACK ends Reno's recovery is ProcessAck's business.
        m_txBuffer->ResetRenoSack();
    }
    TcpSocketBase::ReceivedAck(packet, header);
    if (m_observer != nullptr)
    {
        TellWindow();
    }
}

void
MeasuredTcpSocket::TellWindow()
{
    const uint32_t capBytes = m_windowCapPackets * m_tcb->m_segmentSize;
    const uint32_t windowBytes = m_tcb->m_cWnd;
    m_observer->OnWindow(m_windowCapPackets == NO_WINDOW_CAP ? windowBytes : std::min(windowBytes, capBytes), m_rWnd);
}

} // namespace ns3
