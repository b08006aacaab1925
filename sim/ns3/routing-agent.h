// SPDX-License-Identifier: GPL-2.0-or-later
//
// A routing protocol on demand on a node of the simulator: it stands between the shim's waiting room and the queue, where a packet of IP
// still lacks a next hop. So the shim sees TCP as ever. The protocols themselves are in host/core/routing and keep no packet; this keeps
// those that have not left for good, names them by numbers, and has one event pending for the protocol's earliest deadline.
#pragma once

#include "sim/ns3/hop-adapter.h"
#include "sim/ns3/packet-slots.h"
#include "sim/ns3/route-frame.h"

#include "ns3/event-id.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

namespace ns3
{

class AirNetDevice;

class RoutingAgent
{
  public:
    virtual ~RoutingAgent();
    RoutingAgent(const RoutingAgent&) = delete;
    RoutingAgent& operator=(const RoutingAgent&) = delete;

    /// IP sends a packet: it leaves when there is a route.
    void Keep(uint64_t nowUs, const HopPacket& packet);

    /// A frame for this node, or for all.
    virtual void Receive(uint64_t nowUs, const PacketSlot& slot) = 0;

    /// A frame for another node, which this one received, too. @param transmitter its node
    virtual void Overhear(uint64_t /*nowUs*/, uint32_t /*transmitter*/, const PacketSlot& /*slot*/)
    {
    }

    /// Waited for a neighbour that does not answer; OnCompletion() follows.
    virtual void OnPurged(std::shared_ptr<const RouteFrame> frame) = 0;

    /// The MAC is done with a frame. @param failed the neighbour did not answer
    virtual void OnCompletion(uint64_t nowUs, const RouteFrame& frame, bool failed) = 0;

    /// The protocol says for whom waiting packets are lost (AirNetDevice::PurgeQueue). Otherwise each failed link costs those for it.
    virtual bool SaysWhatToPurge() const
    {
        return false;
    }

  protected:
    // In the queue, and in ns-2's for DSR.
    static constexpr uint8_t ROUTING_FIRST = perhop::hop::queue_priority::routing;
    static constexpr uint8_t TCP_ACKS_BEFORE_DATA = perhop::hop::queue_priority::tcp_acks;

    /// @param device outlives this
    explicit RoutingAgent(AirNetDevice& device)
        : m_device(device)
    {
    }

    /// Nodes of one run, and runs, draw apart.
    static uint64_t SeedOf(uint32_t node, uint64_t seed)
    {
        return seed * 1'000'003 + node;
    }

    /// The protocol is told of a packet that Keep() got.
    virtual void Originate(uint64_t nowUs, uint64_t content, const HopPacket& packet) = 0;
    /// The protocol's deadline has come.
    virtual void Expire(uint64_t nowUs) = 0;
    /// Does what the protocol wants.
    virtual void Act(uint64_t nowUs) = 0;
    virtual std::optional<uint64_t> NextDeadline() const = 0;

    /// Acts, and sees to it that an event is pending for the deadline. Call it after all that the protocol was told.
    void Drain(uint64_t nowUs);

    /// Keeps what a frame from the air carries. @return the packet's number
    uint64_t Remember(const PacketSlot& slot);
    /// The kept packet as it is to be sent with this time to live. It stays.
    HopPacket Outgoing(uint64_t content, uint8_t ttl);
    /// A packet for IP here, which leaves for good.
    void DeliverUp(uint64_t nowUs, uint64_t content);
    /// A packet without route, which is lost.
    void GiveUp(uint64_t content);
    void Forget(uint64_t content)
    {
        m_contents.erase(content);
    }

    AirNetDevice& m_device;

  private:
    void OnTimer();

    std::unordered_map<uint64_t, HopPacket> m_contents; ///< of packets that have not left for good, as they came
    uint64_t m_nextContent = 0;
    EventId m_timer;
    uint64_t m_timerUs = UINT64_MAX;
    EventId m_drain;
};

} // namespace ns3
