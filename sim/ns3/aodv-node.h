// SPDX-License-Identifier: GPL-2.0-or-later
//
// AODV (host/core/routing) on a node of the simulator. Its messages are UDP packets, which the queue sends before all others; data
// packets carry nothing of it.
#pragma once

#include "sim/ns3/routing-agent.h"

#include "host/core/routing/aodv_router.hpp"

#include <cstdint>
#include <memory>

namespace ns3
{

class AodvNode : public RoutingAgent
{
  public:
    /// @param seed of the run; @param device outlives this
    AodvNode(uint32_t node, uint64_t seed, AirNetDevice& device, const perhop::routing::aodv_config& config);

    void Receive(uint64_t nowUs, const PacketSlot& slot) override;
    void OnPurged(std::shared_ptr<const RouteFrame> frame) override;
    void OnCompletion(uint64_t nowUs, const RouteFrame& frame, bool failed) override;

    bool SaysWhatToPurge() const override
    {
        return true;
    }

  private:
    void Originate(uint64_t nowUs, uint64_t content, const HopPacket& packet) override;
    void Expire(uint64_t nowUs) override;
    void Act(uint64_t nowUs) override;
    std::optional<uint64_t> NextDeadline() const override;

    void Send(uint64_t nowUs, const perhop::routing::aodv_action& action);
    void Drop(const perhop::routing::aodv_action& action);
    HopPacket ControlPacket(const perhop::routing::aodv_action& action) const;

    perhop::routing::aodv_router m_router;
};

} // namespace ns3
