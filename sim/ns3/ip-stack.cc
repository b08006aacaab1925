// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/ip-stack.h"

#include "ns3/icmpv4-l4-protocol.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/udp-l4-protocol.h"

namespace ns3
{
namespace
{

constexpr int STREAMS_LEFT_OUT = 2; ///< ARP's and global routing's, of a node

} // namespace

Ptr<Ipv4L3Protocol>
InstallIp(Ptr<Node> node)
{
    Ptr<Ipv4L3Protocol> ip = CreateObject<Ipv4L3Protocol>();
    node->AggregateObject(ip);
    node->AggregateObject(CreateObject<Icmpv4L4Protocol>());
    node->AggregateObject(CreateObject<TrafficControlLayer>());
    node->AggregateObject(CreateObject<UdpL4Protocol>());
    node->AggregateObject(CreateObject<TcpL4Protocol>());
    // Those who draw random numbers (TCP's BBR) draw the ones that they would draw beside what is left out.
    for (int stream = 0; stream < STREAMS_LEFT_OUT; ++stream)
    {
        RngSeedManager::GetNextStreamIndex();
    }
    return ip;
}

} // namespace ns3
