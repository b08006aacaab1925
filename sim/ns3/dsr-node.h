// SPDX-License-Identifier: GPL-2.0-or-later
//
// DSR (host/core/routing) on a node of the simulator: it stands between the shim's waiting room and the queue, where a packet of IP still
// lacks a next hop. The shim sees TCP as ever: DSR's header goes beside the packet, as the path header does, and is put between IP's
// header and TCP's where bytes are wanted. It costs its bytes of airtime in every packet.
//
// The queue sends packets of DSR alone first, then TCP ACKs, then data, as ns-2's queue for DSR does.
#pragma once

#include "sim/air/types.hpp"
#include "sim/ns3/hop-adapter.h"
#include "sim/ns3/packet-slots.h"

#include "host/core/routing/dsr_router.hpp"

#include "ns3/event-id.h"

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace ns3
{

class AirNetDevice;

class DsrNode
{
  public:
    /// @param seed of the run; @param device outlives this
    DsrNode(uint32_t node, uint64_t seed, AirNetDevice& device);
    ~DsrNode();

    /// IP sends a packet: it leaves when there is a route.
    void Keep(uint64_t nowUs, const HopPacket& packet);

    /// A frame for this node, or for all.
    void Receive(uint64_t nowUs, const PacketSlot& slot);

    /// Waited for a neighbour that does not answer; OnCompletion() follows.
    void OnPurged(std::shared_ptr<const DsrFrame> frame);

    /// The MAC is done with a frame. @param failed the neighbour did not answer
    void OnCompletion(uint64_t nowUs, const DsrFrame& frame, bool failed);

    /// The queue had no room for it.
    void Forget(const DsrFrame& frame);

  private:
    using Action = perhop::routing::dsr_action;

    /// Does what the router wants, and sees to it that an event is pending for its deadline.
    void Drain(uint64_t nowUs);
    void Send(uint64_t nowUs, Action&& action);
    HopPacket ControlPacket(const perhop::routing::dsr_packet& packet) const;
    void OnTimer();

    AirNetDevice& m_device;
    perhop::routing::dsr_router m_router;
    std::unordered_map<uint64_t, HopPacket> m_contents; ///< of packets that have not left for good, as they came
    uint64_t m_nextContent = 0;
    std::vector<std::shared_ptr<const DsrFrame>> m_purged;
    EventId m_timer;
    uint64_t m_timerUs = UINT64_MAX;
    EventId m_drain;
};

} // namespace ns3
