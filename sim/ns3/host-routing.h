// SPDX-License-Identifier: GPL-2.0-or-later
//
// Static host routes in an array: one lookup per packet whatever the length of the chain. (ns-3's Ipv4StaticRouting walks a list.)
#pragma once

#include "ns3/ipv4-address.h"
#include "ns3/ipv4-route.h"
#include "ns3/ipv4-routing-protocol.h"

#include <vector>

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
    const Ptr<Ipv4Route>& Lookup(uint32_t destinationAddress) const;

    std::vector<Ptr<Ipv4Route>> m_routes; ///< index: destination's node number; null: no route
    Ptr<Ipv4> m_ipv4;
    uint32_t m_ownAddress = 0;
};

} // namespace ns3
