// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/cbr-flow.h"

#include "host/core/shim/packet_view.hpp"

#include "ns3/simulator.h"

#include <cmath>

namespace ns3
{

void
CbrFlow::Attach(HopAdapter&, HopAdapter&)
{
    // Every packet goes through the shims; neither has a policy for it.
}

void
CbrFlow::Begin()
{
    m_beginUs = NowUs();
    if (m_config.expedited)
    {
        GetSender()->SetIpTos(perhop::shim::expedited_forwarding << 2);
    }
    Tick();
}

void
CbrFlow::End()
{
    m_stopped = true;
}

void
CbrFlow::Tick()
{
    if (m_stopped)
    {
        return;
    }
    for (uint32_t packet = 0; packet < m_config.burst_packets; ++packet)
    {
        SendPacket();
    }
    // From the start on, so that rounding to microseconds does not add up.
    const double gapUs = m_config.payload_bytes * 8e6 / m_config.rate_bps;
    const auto nextUs = m_beginUs + static_cast<uint64_t>(std::llround(gapUs * GetSentPackets()));
    Simulator::Schedule(MicroSeconds(nextUs) - Simulator::Now(), &CbrFlow::Tick, this);
}

} // namespace ns3
