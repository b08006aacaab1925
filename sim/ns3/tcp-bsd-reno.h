// SPDX-License-Identifier: GPL-2.0-or-later
//
// Congestion window of 4.4BSD's TCP (FreeBSD 2.2.4, netinet/tcp_input.c), where it differs from ns-3's NewReno: slow start goes on while
// the window equals the threshold, every TCP ACK of new data counts once however much it covers, and a loss halves the window that TCP
// sends by, whatever was in flight.
#pragma once

#include "ns3/tcp-congestion-ops.h"

namespace ns3
{

class TcpBsdReno : public TcpNewReno
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override;
    void IncreaseWindow(Ptr<TcpSocketState> state, uint32_t segmentsAcked) override;
    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t bytesInFlight) override;
    Ptr<TcpCongestionOps> Fork() override;

    /// What the receiver advertises: TCP sends by the smaller of this and the congestion window.
    void SetAdvertisedWindow(uint32_t bytes);

  private:
    uint32_t m_advertisedBytes = 65535;
};

} // namespace ns3
