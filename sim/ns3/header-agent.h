// SPDX-License-Identifier: GPL-2.0-or-later
//
// A routing protocol whose header goes beside each packet, as the path header does, and is put between IP's header and TCP's where bytes
// are wanted: DSR and GPSR (host/core/routing) on a node of the simulator. The header costs its bytes of airtime in every packet. What the
// protocol sends on its own is such a header behind IP's, which the queue sends before all others.
#pragma once

#include "sim/ns3/air-net-device.h"
#include "sim/ns3/ip-view.h"
#include "sim/ns3/node-address.h"
#include "sim/ns3/routing-agent.h"

#include "host/core/wire/ipv4_address.hpp"

#include "ns3/ipv4-header.h"
#include "ns3/node.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace ns3
{

/// @tparam Protocol names the router, its packet and its action, reads its header, and says its number in IP, whether the queue
///         sends TCP ACKs before data, and whether it learns from frames for other nodes
template <class Protocol>
class HeaderAgent : public RoutingAgent
{
  public:
    void Receive(uint64_t nowUs, const PacketSlot& slot) override
    {
        const auto decoded = Protocol::Decode(slot.route->bytes);
        NS_ASSERT_MSG(decoded, "a routing header that was sent cannot be read");
        RoutedPacket packet{.source = slot.view.flow.source.ipv4(),
                            .destination = slot.view.flow.destination.ipv4(),
                            .ttl = slot.view.ttl,
                            .header = decoded->header};
        if (FrameOf(*slot.route).packet.content)
        {
            packet.content = Remember(slot);
        }
        m_router.receive(nowUs, std::move(packet));
        Drain(nowUs);
    }

    void Overhear(uint64_t nowUs, uint32_t transmitter, const PacketSlot& slot) override
    {
        if constexpr (Protocol::OVERHEARS)
        {
            m_router.overhear(nowUs, FrameOf(*slot.route).packet, NodeIpv4Address(transmitter).Get());
            Drain(nowUs);
        }
    }

    void OnPurged(std::shared_ptr<const RouteFrame> frame) override
    {
        m_purged.push_back(std::move(frame));
    }

    void OnCompletion(uint64_t nowUs, const RouteFrame& frame, bool failed) override
    {
        const Frame& sent = FrameOf(frame);
        if (!failed)
        {
            ForgetContent(sent);
            return;
        }
        m_router.on_link_failure(nowUs, sent.nextHop, RoutedPacket(sent.packet));
        for (const std::shared_ptr<const RouteFrame>& purged : std::exchange(m_purged, {}))
        {
            const Frame& unsent = FrameOf(*purged);
            m_router.on_unsent(nowUs, unsent.nextHop, RoutedPacket(unsent.packet));
        }
        Drain(nowUs);
    }

  protected:
    /// @param device outlives this; @param router what the protocol's router is made of
    template <class... Router>
    explicit HeaderAgent(AirNetDevice& device, Router&&... router)
        : RoutingAgent(device),
          m_router(std::forward<Router>(router)...)
    {
    }

  private:
    using RoutedPacket = typename Protocol::Packet;
    using Action = typename Protocol::Action;

    /// What the protocol puts into a packet for one hop.
    struct Frame : RouteFrame
    {
        RoutedPacket packet;
        perhop::routing::ipv4_address nextHop = 0;
    };

    static const Frame& FrameOf(const RouteFrame& frame)
    {
        return static_cast<const Frame&>(frame);
    }

    void Originate(uint64_t nowUs, uint64_t content, const HopPacket& packet) override
    {
        m_router.originate(nowUs, content, packet.view.flow.destination.ipv4(), packet.view.flow.protocol, packet.view.ttl);
    }

    void Expire(uint64_t nowUs) override
    {
        m_router.expire(nowUs);
    }

    std::optional<uint64_t> NextDeadline() const override
    {
        return m_router.next_deadline();
    }

    void Act(uint64_t nowUs) override
    {
        while (std::optional<Action> action = m_router.take())
        {
            switch (action->what)
            {
            case Action::kind::send:
                Send(nowUs, std::move(*action));
                break;
            case Action::kind::deliver:
                DeliverUp(nowUs, *action->packet.content);
                break;
            case Action::kind::drop:
                GiveUp(*action->packet.content);
                break;
            }
        }
    }

    void Send(uint64_t nowUs, Action&& action)
    {
        const RoutedPacket& packet = action.packet;
        HopPacket outgoing = packet.content ? Outgoing(*packet.content, packet.ttl) : ControlPacket(packet);
        if (Protocol::TCP_ACKS_FIRST && packet.content)
        {
            outgoing.priority = outgoing.view.tcp.is_bare_tcp_ack() ? TCP_ACKS_BEFORE_DATA : uint8_t{0};
        }
        outgoing.content.receiver = action.next_hop == perhop::routing::everybody
                                        ? perhop::broadcast_address
                                        : perhop::air::mac_address(NodeOfIpv4Address(action.next_hop));
        const auto frame = std::make_shared<Frame>();
        frame->bytes = encode(packet.header); // perhop::wire's, of this header
        frame->protocol = Protocol::IP_PROTOCOL;
        frame->packet = std::move(action.packet);
        frame->nextHop = action.next_hop;
        outgoing.content.route = frame;
        if (!m_device.GetHop().Forward(nowUs, std::move(outgoing), true))
        {
            ForgetContent(*frame);
        }
    }

    void ForgetContent(const Frame& frame)
    {
        if (frame.packet.content)
        {
            Forget(*frame.packet.content);
        }
    }

    static HopPacket ControlPacket(const RoutedPacket& packet)
    {
        Ipv4Header header;
        header.SetSource(Ipv4Address(packet.source));
        header.SetDestination(Ipv4Address(packet.destination));
        header.SetProtocol(Protocol::IP_PROTOCOL);
        header.SetTtl(packet.ttl);
        if (Node::ChecksumEnabled())
        {
            header.EnableChecksum();
        }
        Ptr<Packet> made = Create<Packet>();
        made->AddHeader(header);
        return {.view = ReadIpView(made).value(), .content = {.packet = made}, .priority = ROUTING_FIRST};
    }

    typename Protocol::Router m_router;
    std::vector<std::shared_ptr<const RouteFrame>> m_purged;
};

} // namespace ns3
