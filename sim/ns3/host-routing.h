// SPDX-License-Identifier: GPL-2.0-or-later
//
// Static host routes in a hash table: one lookup per packet whatever the length of the chain, and no memory for destinations that a node
// has nothing for. (ns-3's Ipv4StaticRouting walks a list.)
#pragma once

#include "ns3/ipv4-address.h"
#include "ns3/ipv4-route.h"
#include "ns3/ipv4-routing-protocol.h"

#include <unordered_map>

namespace ns3
{

class HostRouting : public Ipv4RoutingProtocol
{
  public:
    static TypeId GetTypeId();

    /// @param ownNode this node's number; addresses as in node-address.h
    void SetNode(uint32_t ownNode);

    /// Packets for `destination` leave by `device` to `nextHop` (both node numbers).
    void AddRoute(uint32_t destination, uint32_t nextHop, Ptr<NetDevice> device);

    /// Packets for each of so many nodes leave by `device` to the node itself; a routing protocol finds their way below IP.
    void ReachAll(uint32_t nodes, Ptr<NetDevice> device);

    /// Next hop's node number for an address in host byte order; MAX_NODES when there is no route.
    uint32_t NextHop(uint32_t destinationAddress) const;

    // Inherited from Ipv4RoutingProtocol
    Ptr<Ipv4Route> RouteOutput(Ptr<Packet> packet, const Ipv4Header& header, Ptr<NetDevice> oif, Socket::SocketErrno& error) override;
    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> device,
                    const UnicastForwardCallback& forward,
                    const MulticastForwardCallback& forwardMulticast,
                    const LocalDeliverCallback& deliver,
                    const ErrorCallback& error) override;
    void NotifyInterfaceUp(uint32_t interface) override;
    void NotifyInterfaceDown(uint32_t interface) override;
    void NotifyAddAddress(uint32_t interface, Ipv4InterfaceAddress address) override;
    void NotifyRemoveAddress(uint32_t interface, Ipv4InterfaceAddress address) override;
    void SetIpv4(Ptr<Ipv4> ipv4) override;
    void PrintRoutingTable(Ptr<OutputStreamWrapper> stream, Time::Unit unit = Time::S) const override;

  private:
    void DoDispose() override;
    Ptr<Ipv4Route> MakeRoute(uint32_t destination, uint32_t nextHop, Ptr<NetDevice> device) const;
    const Ptr<Ipv4Route>& Lookup(uint32_t destinationAddress) const;

    mutable std::unordered_map<uint32_t, Ptr<Ipv4Route>> m_routes; ///< by destination's node number; Lookup() makes what ReachAll() allows
    uint32_t m_reached = 0;                                        ///< nodes that ReachAll() named
    Ptr<NetDevice> m_reachedBy;
    Ptr<Ipv4> m_ipv4;
    uint32_t m_ownAddress = 0;
};

} // namespace ns3
