// SPDX-License-Identifier: GPL-2.0-or-later
//
// Packets of one size at a constant rate over UDP, one by one or in bursts, whatever becomes of them.
#pragma once

#include "sim/ns3/udp-flow.h"

namespace ns3
{

class CbrFlow : public UdpFlow
{
  public:
    using UdpFlow::UdpFlow;

    // Inherited from Flow
    void Attach(HopAdapter& atSource, HopAdapter& atSink) override;

  private:
    void Begin() override;
    void End() override;
    void Tick();

    uint64_t m_beginUs = 0;
    bool m_stopped = false;
};

} // namespace ns3
