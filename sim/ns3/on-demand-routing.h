// SPDX-License-Identifier: GPL-2.0-or-later
//
// ns-3's AODV on a node whose MAC is ours. AODV itself is ns-3's, with its default times; only what joins it to the device is here:
// resolved MAC addresses, and the news that a packet found no MAC ACK, which AODV takes for a broken link.
//
// Differences from AODV over ns-3's Wi-Fi: no HELLO messages (the MAC tells), no ARP traffic (addresses are known), and the device may
// drop the other packets that wait for the broken link (attribute PurgeOnLinkFailure), as the routing agents of ns-2 do.
#pragma once

#include "ns3/aodv-routing-protocol.h"
#include "ns3/node.h"

#include <cstdint>

namespace ns3
{

/// AODV on `node`, which has loopback and internet stack but no interface yet. Its random numbers are streams of their own.
Ptr<aodv::RoutingProtocol> InstallAodv(Ptr<Node> node, uint32_t nodeNumber);

/// The link to a neighbour broke.
void TellLinkFailure(aodv::RoutingProtocol& agent, Ipv4Address neighbour);

/// Enters the addresses of all nodes in the interface's ARP cache for good.
void ResolveAllNodes(Ptr<Ipv4> ip, uint32_t interface, uint32_t nodes);

} // namespace ns3
