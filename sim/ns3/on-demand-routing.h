// SPDX-License-Identifier: GPL-2.0-or-later
//
// ns-3's AODV on a node whose MAC is ours. AODV itself is ns-3's, with its default times; only what joins it to the device is here:
// resolved MAC addresses, and the news that a packet found no MAC ACK, which AODV takes for a broken link.
//
// Differences from AODV over ns-3's Wi-Fi: no HELLO messages (the MAC tells), no ARP traffic (addresses are known), and the device may
// drop the other packets that wait for the broken link (attribute PurgeOnLinkFailure), as the routing agents of ns-2 do.
//
// ns-3's AODV needs its Wi-Fi and all that this needs. It is a module, aodv-routing.cc, loaded by the runs that route by it: the others
// would pay for these libraries at every start.
#pragma once

#include "ns3/ipv4-routing-protocol.h"
#include "ns3/node.h"

#include <cstdint>

namespace ns3
{

class OnDemandRouting
{
  public:
    virtual ~OnDemandRouting() = default;

    /// An agent on `node`, which has loopback and internet stack but no interface yet. Its random numbers are streams of their own.
    virtual Ptr<Ipv4RoutingProtocol> Install(Ptr<Node> node, uint32_t nodeNumber) const = 0;

    /// The link from the agent's node to a neighbour broke.
    virtual void TellLinkFailure(Ipv4RoutingProtocol& agent, Ipv4Address neighbour) const = 0;
};

/// Loads the module at the first call. @throws std::runtime_error it cannot be loaded
const OnDemandRouting& Aodv();

/// Enters the addresses of all nodes in the interface's ARP cache for good.
void ResolveAllNodes(Ptr<Ipv4> ip, uint32_t interface, uint32_t nodes);

} // namespace ns3
