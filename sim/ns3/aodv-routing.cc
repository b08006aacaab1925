// SPDX-License-Identifier: GPL-2.0-or-later
//
// The module behind on-demand-routing.h.
#include "sim/ns3/on-demand-routing.h"

#include "ns3/aodv-routing-protocol.h"
#include "ns3/boolean.h"

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

class AodvRouting : public OnDemandRouting
{
  public:
    Ptr<Ipv4RoutingProtocol> Install(Ptr<Node> node, uint32_t nodeNumber) const override
    {
        Ptr<aodv::RoutingProtocol> agent = CreateObject<aodv::RoutingProtocol>();
        agent->SetAttribute("EnableHello", BooleanValue(false));
        agent->AssignStreams(FIRST_STREAM + nodeNumber * STREAMS_PER_NODE);
        node->AggregateObject(agent);
        node->GetObject<Ipv4>()->SetRoutingProtocol(agent);
        return agent;
    }

    void TellLinkFailure(Ipv4RoutingProtocol& agent, Ipv4Address neighbour) const override
    {
        aodv::Neighbors& neighbours = Neighbours(static_cast<aodv::RoutingProtocol&>(agent));
        neighbours.GetCallback()(neighbour);
        // Whom AODV has heard of lately says no more than the MAC, and would break the same link again when the entry expires.
        neighbours.Clear();
    }
};

} // namespace
} // namespace ns3

extern "C" const ns3::OnDemandRouting*
PerhopAodv()
{
    static const ns3::AodvRouting routing;
    return &routing;
}
