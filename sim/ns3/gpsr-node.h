// SPDX-License-Identifier: GPL-2.0-or-later
//
// GPSR (host/core/routing) on a node of the simulator. Its beacons are broadcast frames. The location service is the air's own knowledge
// of all positions.
#pragma once

#include "sim/ns3/header-agent.h"

#include "host/core/routing/gpsr_router.hpp"

#include <cstdint>
#include <span>

namespace ns3
{

struct GpsrProtocol
{
    using Router = perhop::routing::gpsr_router;
    using Packet = perhop::routing::gpsr_packet;
    using Action = perhop::routing::gpsr_action;
    static constexpr uint8_t IP_PROTOCOL = perhop::wire::gpsr_ip_protocol;
    static constexpr bool TCP_ACKS_FIRST = false;
    static constexpr bool OVERHEARS = false;

    static auto Decode(std::span<const uint8_t> bytes)
    {
        return perhop::wire::decode_gpsr_header(bytes);
    }
};

class GpsrNode final : public HeaderAgent<GpsrProtocol>
{
  public:
    /// @param seed of the run; @param device outlives this
    GpsrNode(uint32_t node, uint64_t seed, AirNetDevice& device);
};

} // namespace ns3
