// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/on-demand-routing.h"

#include "sim/ns3/node-address.h"

#include "ns3/arp-cache.h"
#include "ns3/boolean.h"
#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/wifi-mac-header.h"

namespace ns3
{
namespace
{

// AODV learns of broken links from ns-3's WifiMac alone, through a private list of neighbours. This hands that list out: an explicit
// instantiation may name private members.
template <auto LIST>
struct NeighboursOf
{
    friend aodv::Neighbors& Neighbours(aodv::RoutingProtocol& agent)
    {
        return agent.*LIST;
    }
};

aodv::Neighbors& Neighbours(aodv::RoutingProtocol& agent);
template struct NeighboursOf<&aodv::RoutingProtocol::m_nb>;

/// Streams of one node are apart from those of the others.
constexpr int64_t STREAMS_PER_NODE = 8;
constexpr int64_t FIRST_STREAM = 1 << 20;

} // namespace

Ptr<aodv::RoutingProtocol>
InstallAodv(Ptr<Node> node, uint32_t nodeNumber)
{
    Ptr<aodv::RoutingProtocol> agent = CreateObject<aodv::RoutingProtocol>();
    agent->SetAttribute("EnableHello", BooleanValue(false));
    agent->AssignStreams(FIRST_STREAM + nodeNumber * STREAMS_PER_NODE);
    node->AggregateObject(agent);
    node->GetObject<Ipv4>()->SetRoutingProtocol(agent);
    return agent;
}

void
TellLinkFailure(aodv::RoutingProtocol& agent, Ipv4Address neighbour)
{
    aodv::Neighbors& neighbours = Neighbours(agent);
    if (neighbours.IsNeighbor(neighbour))
    {
        WifiMacHeader header;
        header.SetAddr1(ToMac48Address(perhop::air::mac_address(NodeOfIpv4Address(neighbour.Get()))));
        neighbours.GetTxErrorCallback()(header);
    }
    else
    {
        neighbours.GetCallback()(neighbour);
    }
}

void
ResolveAllNodes(Ptr<Ipv4> ip, uint32_t interface, uint32_t nodes)
{
    Ptr<ArpCache> cache = DynamicCast<Ipv4L3Protocol>(ip)->GetInterface(interface)->GetArpCache();
    for (uint32_t node = 0; node < nodes; ++node)
    {
        ArpCache::Entry* entry = cache->Add(NodeIpv4Address(node));
        entry->SetMacAddress(ToMac48Address(perhop::air::mac_address(node)));
        entry->MarkPermanent();
    }
}

} // namespace ns3
