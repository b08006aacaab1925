// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/gpsr-node.h"

#include <cmath>

namespace ns3
{
namespace
{

perhop::routing::gpsr_position
ToMillimetres(const perhop::air::node_position& position)
{
    constexpr double MM_PER_M = 1e3;
    return {static_cast<int32_t>(std::lround(position.x_m * MM_PER_M)), static_cast<int32_t>(std::lround(position.y_m * MM_PER_M))};
}

perhop::routing::gpsr_locator
LocatorOf(const AirNetDevice& device)
{
    return [&device](perhop::routing::ipv4_address whom, uint64_t nowUs)
    {
        return ToMillimetres(device.PositionOf(NodeOfIpv4Address(whom), nowUs));
    };
}

} // namespace

GpsrNode::GpsrNode(uint32_t node, uint64_t seed, AirNetDevice& device)
    : HeaderAgent(device, NodeIpv4Address(node).Get(), 0, SeedOf(node, seed), LocatorOf(device))
{
    // Its first beacon.
    Drain(0);
}

} // namespace ns3
