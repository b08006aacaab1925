// SPDX-License-Identifier: GPL-2.0-or-later
//
// DSR (host/core/routing) on a node of the simulator. Its header goes beside the packet, as the path header does, and is put between IP's
// header and TCP's where bytes are wanted. It costs its bytes of airtime in every packet.
//
// The queue sends packets of DSR alone first, then TCP ACKs, then data, as ns-2's queue for DSR does.
#pragma once

#include "sim/ns3/routing-agent.h"

#include "host/core/routing/dsr_router.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

struct DsrFrame;

class DsrNode : public RoutingAgent
{
  public:
    /// @param seed of the run; @param device outlives this
    DsrNode(uint32_t node, uint64_t seed, AirNetDevice& device);

    void Receive(uint64_t nowUs, const PacketSlot& slot) override;
    void OnPurged(std::shared_ptr<const RouteFrame> frame) override;
    void OnCompletion(uint64_t nowUs, const RouteFrame& frame, bool failed) override;

  private:
    void Originate(uint64_t nowUs, uint64_t content, const HopPacket& packet) override;
    void Expire(uint64_t nowUs) override;
    void Act(uint64_t nowUs) override;
    std::optional<uint64_t> NextDeadline() const override;

    void Send(uint64_t nowUs, perhop::routing::dsr_action&& action);
    HopPacket ControlPacket(const perhop::routing::dsr_packet& packet) const;
    void Forget(const DsrFrame& frame);

    perhop::routing::dsr_router m_router;
    std::vector<std::shared_ptr<const RouteFrame>> m_purged;
};

} // namespace ns3
