// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/dsr-node.h"

#include "sim/ns3/air-net-device.h"
#include "sim/ns3/ip-view.h"
#include "sim/ns3/node-address.h"

#include "ns3/ipv4-header.h"
#include "ns3/node.h"

#include <utility>

namespace ns3
{

/// What DSR puts into a packet for one hop.
struct DsrFrame : RouteFrame
{
    perhop::routing::dsr_packet packet;
    perhop::routing::ipv4_address nextHop = 0;
};

DsrNode::DsrNode(uint32_t node, uint64_t seed, AirNetDevice& device)
    : RoutingAgent(device),
      m_router(NodeIpv4Address(node).Get(), SeedOf(node, seed))
{
}

void
DsrNode::Originate(uint64_t nowUs, uint64_t content, const HopPacket& packet)
{
    m_router.originate(nowUs, content, packet.view.flow.destination.ipv4(), packet.view.flow.protocol, packet.view.ttl);
}

void
DsrNode::Receive(uint64_t nowUs, const PacketSlot& slot)
{
    const auto decoded = perhop::wire::decode_dsr_header(slot.route->bytes);
    NS_ASSERT_MSG(decoded, "a DSR header that was sent cannot be read");
    perhop::routing::dsr_packet packet{.source = slot.view.flow.source.ipv4(),
                                       .destination = slot.view.flow.destination.ipv4(),
                                       .ttl = slot.view.ttl,
                                       .header = decoded->header};
    if (static_cast<const DsrFrame&>(*slot.route).packet.content)
    {
        packet.content = Remember(slot);
    }
    m_router.receive(nowUs, std::move(packet));
    Drain(nowUs);
}

void
DsrNode::OnPurged(std::shared_ptr<const RouteFrame> frame)
{
    m_purged.push_back(std::move(frame));
}

void
DsrNode::OnCompletion(uint64_t nowUs, const RouteFrame& frame, bool failed)
{
    const auto& sent = static_cast<const DsrFrame&>(frame);
    if (!failed)
    {
        Forget(sent);
        return;
    }
    m_router.on_link_failure(nowUs, sent.nextHop, perhop::routing::dsr_packet(sent.packet));
    for (const std::shared_ptr<const RouteFrame>& purged : std::exchange(m_purged, {}))
    {
        const auto& unsent = static_cast<const DsrFrame&>(*purged);
        m_router.on_unsent(nowUs, unsent.nextHop, perhop::routing::dsr_packet(unsent.packet));
    }
    Drain(nowUs);
}

void
DsrNode::Forget(const DsrFrame& frame)
{
    if (frame.packet.content)
    {
        RoutingAgent::Forget(*frame.packet.content);
    }
}

void
DsrNode::Act(uint64_t nowUs)
{
    while (auto action = m_router.take())
    {
        switch (action->what)
        {
        case perhop::routing::dsr_action::kind::send:
            Send(nowUs, std::move(*action));
            break;
        case perhop::routing::dsr_action::kind::deliver:
            DeliverUp(nowUs, *action->packet.content);
            break;
        case perhop::routing::dsr_action::kind::drop:
            GiveUp(*action->packet.content);
            break;
        }
    }
}

void
DsrNode::Expire(uint64_t nowUs)
{
    m_router.expire(nowUs);
}

std::optional<uint64_t>
DsrNode::NextDeadline() const
{
    return m_router.next_deadline();
}

void
DsrNode::Send(uint64_t nowUs, perhop::routing::dsr_action&& action)
{
    const perhop::routing::dsr_packet& packet = action.packet;
    HopPacket outgoing;
    if (packet.content)
    {
        outgoing = Outgoing(*packet.content, packet.ttl);
        outgoing.priority = outgoing.view.tcp.is_bare_tcp_ack() ? TCP_ACKS_BEFORE_DATA : uint8_t{0};
    }
    else
    {
        outgoing = ControlPacket(packet);
    }
    outgoing.content.receiver = action.next_hop == perhop::routing::everybody
                                    ? perhop::broadcast_address
                                    : perhop::air::mac_address(NodeOfIpv4Address(action.next_hop));
    const auto frame = std::make_shared<DsrFrame>();
    frame->bytes = perhop::wire::encode(packet.header);
    frame->protocol = perhop::wire::dsr_ip_protocol;
    frame->packet = std::move(action.packet);
    frame->nextHop = action.next_hop;
    outgoing.content.route = frame;
    if (!m_device.GetHop().Forward(nowUs, std::move(outgoing), true))
    {
        Forget(*frame);
    }
}

HopPacket
DsrNode::ControlPacket(const perhop::routing::dsr_packet& packet) const
{
    Ipv4Header header;
    header.SetSource(Ipv4Address(packet.source));
    header.SetDestination(Ipv4Address(packet.destination));
    header.SetProtocol(perhop::wire::dsr_ip_protocol);
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
