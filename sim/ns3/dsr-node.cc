// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/dsr-node.h"

#include "sim/ns3/air-net-device.h"
#include "sim/ns3/ip-view.h"
#include "sim/ns3/node-address.h"

#include "ns3/ipv4-header.h"
#include "ns3/node.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <utility>

namespace ns3
{
namespace
{

// In the queue, and in ns-2's.
constexpr uint8_t ROUTING_FIRST = 2, TCP_ACKS_BEFORE_DATA = 1;
/// Nodes of one run, and runs, draw apart.
constexpr uint64_t SEED_STEP = 1'000'003;

} // namespace

DsrNode::DsrNode(uint32_t node, uint64_t seed, AirNetDevice& device)
    : m_device(device),
      m_router(NodeIpv4Address(node).Get(), seed * SEED_STEP + node)
{
}

DsrNode::~DsrNode()
{
    m_timer.Cancel();
    m_drain.Cancel();
}

void
DsrNode::Keep(uint64_t nowUs, const HopPacket& packet)
{
    const uint64_t content = m_nextContent++;
    m_contents.emplace(content, packet);
    m_router.originate(nowUs, content, packet.view.flow.destination.ipv4(), packet.view.flow.protocol, packet.view.ttl);
    // The hop path, which calls this, must not be called from here.
    if (!m_drain.IsPending())
    {
        m_drain = Simulator::ScheduleNow(&DsrNode::Drain, this, nowUs);
    }
}

void
DsrNode::Receive(uint64_t nowUs, const PacketSlot& slot)
{
    const auto decoded = perhop::wire::decode_dsr_header(slot.dsr->bytes);
    NS_ASSERT_MSG(decoded, "a DSR header that was sent cannot be read");
    perhop::routing::dsr_packet packet{.source = slot.view.flow.source.ipv4(),
                                       .destination = slot.view.flow.destination.ipv4(),
                                       .ttl = slot.view.ttl,
                                       .header = decoded->header};
    if (slot.dsr->packet.content)
    {
        packet.content = m_nextContent++;
        m_contents.emplace(*packet.content,
                           HopPacket{.view = slot.view,
                                     .from = perhop::hop::origin::radio,
                                     .header = slot.header,
                                     .rider = slot.exact,
                                     .content = {.packet = slot.packet, .ttlSpent = slot.ttlSpent}});
    }
    m_router.receive(nowUs, std::move(packet));
    Drain(nowUs);
}

void
DsrNode::OnPurged(std::shared_ptr<const DsrFrame> frame)
{
    m_purged.push_back(std::move(frame));
}

void
DsrNode::OnCompletion(uint64_t nowUs, const DsrFrame& frame, bool failed)
{
    if (!failed)
    {
        Forget(frame);
        return;
    }
    m_router.on_link_failure(nowUs, frame.nextHop, perhop::routing::dsr_packet(frame.packet));
    for (const std::shared_ptr<const DsrFrame>& purged : std::exchange(m_purged, {}))
    {
        m_router.on_unsent(nowUs, purged->nextHop, perhop::routing::dsr_packet(purged->packet));
    }
    Drain(nowUs);
}

void
DsrNode::Forget(const DsrFrame& frame)
{
    if (frame.packet.content)
    {
        m_contents.erase(*frame.packet.content);
    }
}

void
DsrNode::Drain(uint64_t nowUs)
{
    while (auto action = m_router.take())
    {
        if (action->what == Action::kind::send)
        {
            Send(nowUs, std::move(*action));
            continue;
        }
        const auto kept = m_contents.extract(*action->packet.content);
        if (action->what == Action::kind::deliver)
        {
            m_device.DeliverUp(nowUs, kept.mapped());
        }
        else
        {
            m_device.OnNoRoute(kept.mapped().view);
        }
    }
    const uint64_t deadlineUs = m_router.next_deadline().value_or(UINT64_MAX);
    if (deadlineUs < m_timerUs)
    {
        m_timer.Cancel();
        m_timerUs = std::max(deadlineUs, nowUs);
        m_timer = Simulator::Schedule(MicroSeconds(m_timerUs - nowUs), &DsrNode::OnTimer, this);
    }
}

void
DsrNode::OnTimer()
{
    const uint64_t nowUs = std::exchange(m_timerUs, UINT64_MAX);
    m_router.expire(nowUs);
    Drain(nowUs);
}

void
DsrNode::Send(uint64_t nowUs, Action&& action)
{
    const perhop::routing::dsr_packet& packet = action.packet;
    HopPacket outgoing;
    if (packet.content)
    {
        HopPacket& kept = m_contents.at(*packet.content);
        outgoing = kept;
        outgoing.content.ttlSpent = static_cast<uint8_t>(kept.content.ttlSpent + kept.view.ttl - packet.ttl);
        outgoing.view.ttl = packet.ttl;
        outgoing.priority = kept.view.tcp.is_bare_tcp_ack() ? TCP_ACKS_BEFORE_DATA : uint8_t{0};
        kept.content.again = true;
    }
    else
    {
        outgoing = ControlPacket(packet);
    }
    outgoing.content.receiver = action.next_hop == perhop::routing::everybody
                                    ? perhop::broadcast_address
                                    : perhop::air::mac_address(NodeOfIpv4Address(action.next_hop));
    std::vector<uint8_t> bytes = perhop::wire::encode(packet.header);
    const auto frame = std::make_shared<const DsrFrame>(
        DsrFrame{.packet = std::move(action.packet), .nextHop = action.next_hop, .bytes = std::move(bytes)});
    outgoing.content.dsr = frame;
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
