// SPDX-License-Identifier: GPL-2.0-or-later
//
// IP, ICMP, UDP and TCP of ns-3 on a node, without what no run here uses: ARP, IPv6, packet sockets and ns-3's own routing. The first ARP
// of a process alone would take 10 ms, which ns-3's random streams need to begin.
#pragma once

#include "ns3/ipv4-l3-protocol.h"
#include "ns3/node.h"

namespace ns3
{

/// @param node that has none yet. @return its IP
Ptr<Ipv4L3Protocol> InstallIp(Ptr<Node> node);

} // namespace ns3
