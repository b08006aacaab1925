// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/routing-agent.h"

#include "sim/ns3/air-net-device.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <utility>

namespace ns3
{

RoutingAgent::~RoutingAgent()
{
    m_timer.Cancel();
    m_drain.Cancel();
}

void
RoutingAgent::Keep(uint64_t nowUs, const HopPacket& packet)
{
    const uint64_t content = m_nextContent++;
    m_contents.emplace(content, packet);
    Originate(nowUs, content, packet);
    // The hop path, which calls this, must not be called from here.
    if (!m_drain.IsPending())
    {
        m_drain = Simulator::ScheduleNow(&RoutingAgent::Drain, this, nowUs);
    }
}

void
RoutingAgent::Drain(uint64_t nowUs)
{
    Act(nowUs);
    const uint64_t deadlineUs = NextDeadline().value_or(UINT64_MAX);
    if (deadlineUs < m_timerUs)
    {
        m_timer.Cancel();
        m_timerUs = std::max(deadlineUs, nowUs);
        m_timer = Simulator::Schedule(MicroSeconds(m_timerUs - nowUs), &RoutingAgent::OnTimer, this);
    }
}

void
RoutingAgent::OnTimer()
{
    const uint64_t nowUs = std::exchange(m_timerUs, UINT64_MAX);
    Expire(nowUs);
    Drain(nowUs);
}

uint64_t
RoutingAgent::Remember(const PacketSlot& slot)
{
    const uint64_t content = m_nextContent++;
    m_contents.emplace(content,
                       HopPacket{.view = slot.view,
                                 .from = perhop::hop::origin::radio,
                                 .header = slot.header,
                                 .rider = slot.exact,
                                 .content = {.packet = slot.packet, .ttlSpent = slot.ttlSpent, .headerInView = slot.headerInView}});
    return content;
}

HopPacket
RoutingAgent::Outgoing(uint64_t content, uint8_t ttl)
{
    HopPacket& kept = m_contents.at(content);
    HopPacket outgoing = kept;
    outgoing.content.ttlSpent = static_cast<uint8_t>(kept.content.ttlSpent + kept.view.ttl - ttl);
    outgoing.view.ttl = ttl;
    kept.content.again = true;
    return outgoing;
}

void
RoutingAgent::DeliverUp(uint64_t nowUs, uint64_t content)
{
    m_device.DeliverUp(nowUs, m_contents.extract(content).mapped());
}

void
RoutingAgent::GiveUp(uint64_t content)
{
    m_device.OnNoRoute(m_contents.extract(content).mapped().view);
}

} // namespace ns3
