// SPDX-License-Identifier: GPL-2.0-or-later
//
// GPSR (host/core/routing) on a node of the simulator. Its header goes beside the packet, as DSR's does; its beacons are broadcast frames
// of IP packets, which the queue sends before all others. The location service is the air's own knowledge of all positions.
#pragma once

#include "sim/ns3/routing-agent.h"

#include "host/core/routing/gpsr_router.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

struct GpsrFrame;

class GpsrNode final : public RoutingAgent
{
  public:
    /// @param seed of the run; @param device outlives this
    GpsrNode(uint32_t node, uint64_t seed, AirNetDevice& device);

    void Receive(uint64_t nowUs, const PacketSlot& slot) override;
    void OnPurged(std::shared_ptr<const RouteFrame> frame) override;
    void OnCompletion(uint64_t nowUs, const RouteFrame& frame, bool failed) override;

  private:
    void Originate(uint64_t nowUs, uint64_t content, const HopPacket& packet) override;
    void Expire(uint64_t nowUs) override;
    void Act(uint64_t nowUs) override;
    std::optional<uint64_t> NextDeadline() const override;

    void Send(uint64_t nowUs, const perhop::routing::gpsr_action& action);
    HopPacket Beacon(const perhop::routing::gpsr_packet& packet) const;
    void Forget(const GpsrFrame& frame);

    perhop::routing::gpsr_router m_router;
    std::vector<std::shared_ptr<const RouteFrame>> m_purged;
};

} // namespace ns3
