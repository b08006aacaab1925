// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/segment-path.h"

#include "sim/ns3/air-net-device.h"
#include "sim/ns3/packet-rewrite.h"

#include "host/core/shim/ip_packet.hpp"

#include "ns3/ipv4-header.h"
#include "ns3/node.h"
#include "ns3/socket.h"
#include "ns3/uinteger.h"

#include <array>

namespace ns3
{
namespace
{

constexpr uint32_t IP_HEADER_BYTES = 20;
constexpr std::size_t MOST_TCP_HEADER_BYTES = 60;
constexpr unsigned DSCP_SHIFT = 2;
constexpr uint8_t ECN_MASK = 3;

} // namespace

SegmentPath::SegmentPath(AirNetDevice& device, Ptr<Ipv4L3Protocol> ip)
    : m_device(device),
      m_tcp(device.GetNode()->GetObject<TcpL4Protocol>()),
      m_interface(ip->GetInterface(static_cast<uint32_t>(ip->GetInterfaceForDevice(&device)))),
      m_ip(m_tcp->GetDownTarget())
{
    UintegerValue ttl;
    ip->GetAttribute("DefaultTtl", ttl);
    m_ttl = static_cast<uint8_t>(ttl.Get());
    m_tcp->SetDownTarget(MakeCallback(&SegmentPath::Send, this));
}

void
SegmentPath::Send(Ptr<Packet> segment, Ipv4Address source, Ipv4Address destination, uint8_t protocol, Ptr<Ipv4Route> route)
{
    perhop::shim::ip_packet_view view;
    view.ip_bytes = segment->GetSize() + IP_HEADER_BYTES;
    std::array<uint8_t, MOST_TCP_HEADER_BYTES> head;
    const std::size_t headBytes = segment->CopyData(head.data(), head.size());
    bool plain = route && view.ip_bytes <= m_device.GetMtu();
    if (plain && segment->GetPacketTagIterator().HasNext())
    {
        SocketIpTtlTag ttl;
        plain = !segment->PeekPacketTag(ttl);
        SocketIpTosTag tos;
        if (plain && segment->RemovePacketTag(tos))
        {
            view.expedited = tos.GetTos() >> DSCP_SHIFT == perhop::shim::expedited_forwarding;
            view.ecn = static_cast<perhop::shim::ecn_field>(tos.GetTos() & ECN_MASK);
        }
    }
    if (!plain || !perhop::shim::read_segment(std::span(head).first(headBytes), segment->GetSize(), view))
    {
        m_ip(segment, source, destination, protocol, route);
        return;
    }
    view.flow.source = perhop::shim::ip_address::from_ipv4(source.Get());
    view.flow.destination = perhop::shim::ip_address::from_ipv4(destination.Get());
    view.flow.protocol = protocol;
    view.ttl = m_ttl;
    m_device.SendSegment(segment, view);
}

void
SegmentPath::Deliver(const perhop::shim::ip_packet_view& view, const Packet& segment, std::optional<uint16_t> windowBytes)
{
    Ptr<Packet> arrived = segment.Copy();
    if (windowBytes)
    {
        SetWindow(*arrived, *windowBytes);
    }
    Ipv4Header ip;
    ip.SetSource(Ipv4Address(view.flow.source.ipv4()));
    ip.SetDestination(Ipv4Address(view.flow.destination.ipv4()));
    ip.SetEcn(static_cast<Ipv4Header::EcnType>(view.ecn));
    MeasuredTcpSocket* socket = m_device.GetHop().SocketOf(view.flow);
    if (socket == nullptr || !socket->Arrive(arrived, ip, view.flow.source_port))
    {
        m_tcp->Receive(arrived, ip, m_interface);
    }
}

} // namespace ns3
