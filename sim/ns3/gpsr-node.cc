// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/gpsr-node.h"

#include "sim/ns3/air-net-device.h"
#include "sim/ns3/ip-view.h"
#include "sim/ns3/node-address.h"

#include "ns3/ipv4-header.h"
#include "ns3/node.h"

#include <cmath>
#include <utility>

namespace ns3
{

/// What GPSR puts into a packet for one hop.
struct GpsrFrame : RouteFrame
{
    perhop::routing::gpsr_packet packet;
    perhop::routing::ipv4_address nextHop = 0;
};

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
    : RoutingAgent(device),
      m_router(NodeIpv4Address(node).Get(), 0, SeedOf(node, seed), LocatorOf(device))
{
    // Its first beacon.
    Drain(0);
}

void
GpsrNode::Originate(uint64_t nowUs, uint64_t content, const HopPacket& packet)
{
    m_router.originate(nowUs, content, packet.view.flow.destination.ipv4(), packet.view.flow.protocol, packet.view.ttl);
}

void
GpsrNode::Receive(uint64_t nowUs, const PacketSlot& slot)
{
    const auto decoded = perhop::wire::decode_gpsr_header(slot.route->bytes);
    NS_ASSERT_MSG(decoded, "a header of GPSR that was sent cannot be read");
    perhop::routing::gpsr_packet packet{.source = slot.view.flow.source.ipv4(),
                                        .destination = slot.view.flow.destination.ipv4(),
                                        .ttl = slot.view.ttl,
                                        .header = decoded->header};
    if (decoded->header.route)
    {
        packet.content = Remember(slot);
    }
    m_router.receive(nowUs, packet);
    Drain(nowUs);
}

void
GpsrNode::OnPurged(std::shared_ptr<const RouteFrame> frame)
{
    m_purged.push_back(std::move(frame));
}

void
GpsrNode::OnCompletion(uint64_t nowUs, const RouteFrame& frame, bool failed)
{
    const auto& sent = static_cast<const GpsrFrame&>(frame);
    if (!failed)
    {
        Forget(sent);
        return;
    }
    m_router.on_link_failure(nowUs, sent.nextHop, sent.packet);
    for (const std::shared_ptr<const RouteFrame>& purged : std::exchange(m_purged, {}))
    {
        const auto& unsent = static_cast<const GpsrFrame&>(*purged);
        m_router.on_unsent(nowUs, unsent.nextHop, unsent.packet);
    }
    Drain(nowUs);
}

void
GpsrNode::Forget(const GpsrFrame& frame)
{
    if (frame.packet.content)
    {
        RoutingAgent::Forget(*frame.packet.content);
    }
}

void
GpsrNode::Act(uint64_t nowUs)
{
    using perhop::routing::gpsr_action;
    while (const auto action = m_router.take())
    {
        switch (action->what)
        {
        case gpsr_action::kind::send:
            Send(nowUs, *action);
            break;
        case gpsr_action::kind::deliver:
            DeliverUp(nowUs, *action->packet.content);
            break;
        case gpsr_action::kind::drop:
            GiveUp(*action->packet.content);
            break;
        }
    }
}

void
GpsrNode::Expire(uint64_t nowUs)
{
    m_router.expire(nowUs);
}

std::optional<uint64_t>
GpsrNode::NextDeadline() const
{
    return m_router.next_deadline();
}

void
GpsrNode::Send(uint64_t nowUs, const perhop::routing::gpsr_action& action)
{
    const perhop::routing::gpsr_packet& packet = action.packet;
    HopPacket outgoing = packet.content ? Outgoing(*packet.content, packet.ttl) : Beacon(packet);
    outgoing.content.receiver = action.next_hop == perhop::routing::everybody
                                    ? perhop::broadcast_address
                                    : perhop::air::mac_address(NodeOfIpv4Address(action.next_hop));
    const auto frame = std::make_shared<GpsrFrame>();
    frame->bytes = perhop::wire::encode(packet.header);
    frame->protocol = perhop::wire::gpsr_ip_protocol;
    frame->packet = packet;
    frame->nextHop = action.next_hop;
    outgoing.content.route = frame;
    if (!m_device.GetHop().Forward(nowUs, std::move(outgoing), true))
    {
        Forget(*frame);
    }
}

HopPacket
GpsrNode::Beacon(const perhop::routing::gpsr_packet& packet) const
{
    Ipv4Header header;
    header.SetSource(Ipv4Address(packet.source));
    header.SetDestination(Ipv4Address(packet.destination));
    header.SetProtocol(perhop::wire::gpsr_ip_protocol);
    header.SetTtl(packet.ttl);
    if (Node::ChecksumEnabled())
    {
        header.EnableChecksum();
    }
    Ptr<Packet> made = Create<Packet>();
    made->AddHeader(header);
    return {.view = ReadIpView(made).value(), .content = {.packet = made}, .priority = ROUTING_FIRST};
}

} // namespace ns3
