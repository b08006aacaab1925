// SPDX-License-Identifier: GPL-2.0-or-later
//
// DSR (host/core/routing) on a node of the simulator.
//
// The queue sends packets of DSR alone first, then TCP ACKs, then data, as ns-2's queue for DSR does.
#pragma once

#include "sim/ns3/header-agent.h"

#include "host/core/routing/dsr_router.hpp"

#include <cstdint>
#include <span>

namespace ns3
{

struct DsrProtocol
{
    using Router = perhop::routing::dsr_router;
    using Packet = perhop::routing::dsr_packet;
    using Action = perhop::routing::dsr_action;
    static constexpr uint8_t IP_PROTOCOL = perhop::wire::dsr_ip_protocol;
    static constexpr bool TCP_ACKS_FIRST = true;
    static constexpr bool OVERHEARS = true;

    static auto Decode(std::span<const uint8_t> bytes)
    {
        return perhop::wire::decode_dsr_header(bytes);
    }
};

class DsrNode final : public HeaderAgent<DsrProtocol>
{
  public:
    /// @param seed of the run; @param device outlives this
    DsrNode(uint32_t node, uint64_t seed, AirNetDevice& device)
        : HeaderAgent(device, NodeIpv4Address(node).Get(), SeedOf(node, seed))
    {
    }
};

} // namespace ns3
