// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/aodv-node.h"

#include "sim/ns3/air-net-device.h"
#include "sim/ns3/ip-view.h"
#include "sim/ns3/node-address.h"

#include "ns3/ipv4-header.h"
#include "ns3/node.h"
#include "ns3/udp-header.h"
#include "ns3/udp-l4-protocol.h"

#include <vector>

namespace ns3
{
namespace
{

using perhop::routing::aodv_action;

/// A frame of a node with AODV.
struct AodvFrame : RouteFrame
{
    std::optional<perhop::routing::aodv_packet> packet; ///< nothing: a message of AODV itself
    perhop::routing::ipv4_address nextHop = 0;
};

uint64_t
MacAddressOf(perhop::routing::ipv4_address neighbour)
{
    return neighbour == perhop::routing::everybody ? perhop::broadcast_address : perhop::air::mac_address(NodeOfIpv4Address(neighbour));
}

perhop::wire::aodv_message
MessageIn(const Packet& packet)
{
    const Ptr<Packet> message = packet.Copy();
    Ipv4Header ip;
    message->RemoveHeader(ip);
    UdpHeader udp;
    message->RemoveHeader(udp);
    std::vector<uint8_t> bytes(message->GetSize());
    message->CopyData(bytes.data(), message->GetSize());
    const auto decoded = perhop::wire::decode_aodv_message(bytes);
    NS_ASSERT_MSG(decoded, "a message of AODV that was sent cannot be read");
    return *decoded;
}

} // namespace

AodvNode::AodvNode(uint32_t node, uint64_t seed, AirNetDevice& device, const perhop::routing::aodv_config& config)
    : RoutingAgent(device),
      m_router(NodeIpv4Address(node).Get(), SeedOf(node, seed), config)
{
}

void
AodvNode::Originate(uint64_t nowUs, uint64_t content, const HopPacket& packet)
{
    m_router.originate(nowUs, content, packet.view.flow.destination.ipv4());
}

void
AodvNode::Receive(uint64_t nowUs, const PacketSlot& slot)
{
    const perhop::shim::flow_key& key = slot.view.flow;
    if (key.protocol == perhop::shim::ip_protocol_udp && key.destination_port == perhop::wire::aodv_udp_port)
    {
        m_router.receive_message(nowUs, key.source.ipv4(), slot.view.ttl, MessageIn(*slot.packet));
    }
    else
    {
        m_router.receive(
            nowUs, {.source = key.source.ipv4(), .destination = key.destination.ipv4(), .ttl = slot.view.ttl, .content = Remember(slot)});
    }
    Drain(nowUs);
}

void
AodvNode::OnPurged(std::shared_ptr<const RouteFrame> frame)
{
    if (const auto& packet = static_cast<const AodvFrame&>(*frame).packet)
    {
        GiveUp(packet->content);
    }
}

void
AodvNode::OnCompletion(uint64_t nowUs, const RouteFrame& frame, bool failed)
{
    const auto& sent = static_cast<const AodvFrame&>(frame);
    if (!sent.packet)
    {
        return;
    }
    if (!failed)
    {
        Forget(sent.packet->content);
        return;
    }
    m_router.on_link_failure(nowUs, sent.nextHop, *sent.packet);
    Drain(nowUs);
}

void
AodvNode::Act(uint64_t nowUs)
{
    while (const auto action = m_router.take())
    {
        switch (action->what)
        {
        case aodv_action::kind::send:
        case aodv_action::kind::tell:
            // As in ns-2, a MAC that has just given up a packet takes the next one before what AODV says of it is in the queue.
            m_device.GetHop().Pump(nowUs);
            Send(nowUs, *action);
            break;
        case aodv_action::kind::deliver:
            DeliverUp(nowUs, action->packet.content);
            break;
        case aodv_action::kind::drop:
            Drop(*action);
            break;
        case aodv_action::kind::purge:
            m_device.PurgeQueue(MacAddressOf(action->next_hop));
            break;
        }
    }
}

void
AodvNode::Drop(const aodv_action& action)
{
    if (action.reason == perhop::routing::aodv_drop::link_failure)
    {
        Forget(action.packet.content); // the MAC's loss, which is told already
    }
    else
    {
        GiveUp(action.packet.content);
    }
}

void
AodvNode::Expire(uint64_t nowUs)
{
    m_router.expire(nowUs);
}

std::optional<uint64_t>
AodvNode::NextDeadline() const
{
    return m_router.next_deadline();
}

void
AodvNode::Send(uint64_t nowUs, const aodv_action& action)
{
    const bool carries = action.what == aodv_action::kind::send;
    HopPacket outgoing = carries ? Outgoing(action.packet.content, action.packet.ttl) : ControlPacket(action);
    outgoing.content.receiver = MacAddressOf(action.next_hop);
    const auto frame = std::make_shared<AodvFrame>();
    frame->nextHop = action.next_hop;
    if (carries)
    {
        frame->packet = action.packet;
    }
    outgoing.content.route = frame;
    if (action.next_hop == perhop::routing::everybody && !m_device.TellWires(*outgoing.content.packet))
    {
        return;
    }
    const bool onWire = m_device.IsWired(outgoing.content.receiver);
    const bool queued = m_device.GetHop().Forward(nowUs, std::move(outgoing), true);
    if (carries && (!queued || onWire))
    {
        Forget(action.packet.content);
    }
}

HopPacket
AodvNode::ControlPacket(const aodv_action& action) const
{
    const std::vector<uint8_t> bytes = perhop::wire::encode(action.message);
    const Ipv4Address source(m_router.address());
    const Ipv4Address destination(action.next_hop);
    Ptr<Packet> made = Create<Packet>(bytes.data(), static_cast<uint32_t>(bytes.size()));
    UdpHeader udp;
    udp.SetSourcePort(perhop::wire::aodv_udp_port);
    udp.SetDestinationPort(perhop::wire::aodv_udp_port);
    Ipv4Header ip;
    if (Node::ChecksumEnabled())
    {
        udp.EnableChecksums();
        udp.InitializeChecksum(source, destination, UdpL4Protocol::PROT_NUMBER);
        ip.EnableChecksum();
    }
    made->AddHeader(udp);
    ip.SetSource(source);
    ip.SetDestination(destination);
    ip.SetProtocol(UdpL4Protocol::PROT_NUMBER);
    ip.SetPayloadSize(static_cast<uint16_t>(made->GetSize()));
    ip.SetTtl(action.ttl);
    made->AddHeader(ip);
    return {.view = ReadIpView(made).value(), .content = {.packet = made}, .priority = ROUTING_FIRST};
}

} // namespace ns3
