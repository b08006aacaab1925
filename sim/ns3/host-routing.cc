// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/host-routing.h"

#include "sim/ns3/node-address.h"

#include "ns3/ipv4-header.h"
#include "ns3/ipv4.h"
#include "ns3/net-device.h"
#include "ns3/output-stream-wrapper.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(HostRouting);

TypeId
HostRouting::GetTypeId()
{
    static TypeId tid = TypeId("perhop::HostRouting").SetParent<Ipv4RoutingProtocol>().AddConstructor<HostRouting>();
    return tid;
}

void
HostRouting::DoDispose()
{
    m_routes.clear();
    m_reachedBy = nullptr;
    m_ipv4 = nullptr;
    Ipv4RoutingProtocol::DoDispose();
}

void
HostRouting::SetNode(uint32_t ownNode)
{
    m_ownAddress = NodeIpv4Address(ownNode).Get();
}

void
HostRouting::AddRoute(uint32_t destination, uint32_t nextHop, Ptr<NetDevice> device)
{
    m_routes[destination] = MakeRoute(destination, nextHop, device);
}

void
HostRouting::ReachAll(uint32_t nodes, Ptr<NetDevice> device)
{
    m_reached = nodes;
    m_reachedBy = device;
}

Ptr<Ipv4Route>
HostRouting::MakeRoute(uint32_t destination, uint32_t nextHop, Ptr<NetDevice> device) const
{
    Ptr<Ipv4Route> route = Create<Ipv4Route>();
    route->SetDestination(NodeIpv4Address(destination));
    route->SetSource(Ipv4Address(m_ownAddress));
    route->SetGateway(NodeIpv4Address(nextHop));
    route->SetOutputDevice(device);
    return route;
}

const Ptr<Ipv4Route>&
HostRouting::Lookup(uint32_t destinationAddress) const
{
    static const Ptr<Ipv4Route> none;
    const uint32_t node = NodeOfIpv4Address(destinationAddress);
    if (const auto known = m_routes.find(node); known != m_routes.end())
    {
        return known->second;
    }
    if (node >= m_reached)
    {
        return none;
    }
    return m_routes[node] = MakeRoute(node, node, m_reachedBy);
}

uint32_t
HostRouting::NextHop(uint32_t destinationAddress) const
{
    const Ptr<Ipv4Route>& route = Lookup(destinationAddress);
    return route ? NodeOfIpv4Address(route->GetGateway().Get()) : MAX_NODES;
}

Ptr<Ipv4Route>
HostRouting::RouteOutput(Ptr<Packet>, const Ipv4Header& header, Ptr<NetDevice>, Socket::SocketErrno& error)
{
    const Ptr<Ipv4Route>& route = Lookup(header.GetDestination().Get());
    error = route ? Socket::ERROR_NOTERROR : Socket::ERROR_NOROUTETOHOST;
    return route;
}

bool
HostRouting::RouteInput(Ptr<const Packet> packet,
                        const Ipv4Header& header,
                        Ptr<const NetDevice> device,
                        const UnicastForwardCallback& forward,
                        const MulticastForwardCallback&,
                        const LocalDeliverCallback& deliver,
                        const ErrorCallback& error)
{
    const Ipv4Address destination = header.GetDestination();
    if (destination.Get() == m_ownAddress || destination.IsBroadcast())
    {
        deliver(packet, header, m_ipv4->GetInterfaceForDevice(device));
        return true;
    }
    if (const Ptr<Ipv4Route>& route = Lookup(destination.Get()))
    {
        forward(route, packet, header);
        return true;
    }
    error(packet, header, Socket::ERROR_NOROUTETOHOST);
    return false;
}

// The routes are given once and for all: nothing that happens to an interface changes them.
void
HostRouting::NotifyInterfaceUp(uint32_t)
{
}

void
HostRouting::NotifyInterfaceDown(uint32_t)
{
}

void
HostRouting::NotifyAddAddress(uint32_t, Ipv4InterfaceAddress)
{
}

void
HostRouting::NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress)
{
}

void
HostRouting::SetIpv4(Ptr<Ipv4> ipv4)
{
    m_ipv4 = ipv4;
}

void
HostRouting::PrintRoutingTable(Ptr<OutputStreamWrapper> stream, Time::Unit) const
{
    for (const auto& [destination, route] : m_routes)
    {
        *stream->GetStream() << route->GetDestination() << " via " << route->GetGateway() << '\n';
    }
}

} // namespace ns3
