// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/measured-tcp-socket.h"

#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-socket-state.h"
#include "ns3/tcp-tx-buffer.h"

#include <algorithm>

namespace ns3
{

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
MeasuredTcpSocket::ReTxTimeout()
{
    // The base class doubles the timeout and sets the timer in one go, so the bound is applied before it.
    m_rto = std::min(m_rto.Get(), m_maxRto / 2);
    const bool dataOutstanding = m_txBuffer->Size() != 0; // else the base class does nothing
    TcpSocketBase::ReTxTimeout();
    if (m_observer != nullptr && dataOutstanding)
    {
        m_observer->OnTimeout();
        TellWindow();
    }
}

void
MeasuredTcpSocket::ReceivedAck(Ptr<Packet> packet, const TcpHeader& header)
{
    TcpSocketBase::ReceivedAck(packet, header);
    if (m_observer != nullptr)
    {
        TellWindow();
    }
}

void
MeasuredTcpSocket::TellWindow()
{
    m_observer->OnWindow(m_tcb->m_cWnd, m_rWnd);
}

} // namespace ns3
