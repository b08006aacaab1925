// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/scripted-events.h"

#include "ns3/simulator.h"

namespace ns3
{
namespace
{

using perhop::air::node_id;
using perhop::run::event_config;

void
AddRoutes(AirChannel& channel, const std::vector<node_id>& path)
{
    for (std::size_t place = 0; place + 1 < path.size(); ++place)
    {
        AirNetDevice& device = channel.GetAirDevice(path[place]);
        device.GetRoutes()->AddRoute(path.back(), path[place + 1], &device);
    }
}

// As a live node's kernel tells its daemon.
void
TellRoutesChanged(AirChannel& channel, const std::vector<node_id>& path)
{
    for (const node_id node : path)
    {
        AirNetDevice& device = channel.GetAirDevice(node);
        if (device.GetExact() != nullptr)
        {
            device.GetExact()->OnRoutes(static_cast<uint64_t>(Simulator::Now().GetMicroSeconds()), device);
        }
    }
}

} // namespace

void
PlayEvent(AirChannel& channel, const event_config& event)
{
    if (event.kind != event_config::event_kind::route)
    {
        channel.Apply(event);
        return;
    }
    AddRoutes(channel, event.path);
    if (event.both_ways)
    {
        AddRoutes(channel, {event.path.rbegin(), event.path.rend()});
    }
    TellRoutesChanged(channel, event.path);
}

void
ScheduleEvents(const std::vector<event_config>& events, AirChannel& channel)
{
    for (const event_config& event : events)
    {
        Simulator::Schedule(MicroSeconds(static_cast<int64_t>(event.at())),
                            [&channel, event]
                            {
                                PlayEvent(channel, event);
                            });
    }
}

} // namespace ns3
