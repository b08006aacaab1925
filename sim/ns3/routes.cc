// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/routes.h"

#include "sim/ns3/aodv-node.h"
#include "sim/ns3/dsr-node.h"
#include "sim/ns3/gpsr-node.h"

namespace ns3
{

namespace
{

perhop::routing::aodv_config
AodvConfig(perhop::run::local_repair_kind repair)
{
    switch (repair)
    {
    case perhop::run::local_repair_kind::by_rfc:
        return {.repair = perhop::routing::aodv_repair_by_rfc};
    case perhop::run::local_repair_kind::off:
        return {.repair = {.enabled = false}};
    case perhop::run::local_repair_kind::as_ns2:
        break;
    }
    return {};
}

} // namespace

void
SetRoutes(const perhop::run::run_config& config, const std::vector<Ptr<AirNetDevice>>& devices)
{
    if (config.routing == perhop::run::routing_kind::fixed)
    {
        for (const perhop::run::route_config& route : config.routes)
        {
            devices[route.node]->GetRoutes()->AddRoute(route.destination, route.next_hop, devices[route.node]);
        }
        return;
    }
    for (uint32_t node = 0; node < devices.size(); ++node)
    {
        devices[node]->GetRoutes()->ReachAll(static_cast<uint32_t>(devices.size()), devices[node]);
        if (config.routing == perhop::run::routing_kind::dsr)
        {
            devices[node]->SetRoutingAgent(std::make_unique<DsrNode>(node, config.seed, *devices[node]));
        }
        else if (config.routing == perhop::run::routing_kind::gpsr)
        {
            devices[node]->SetRoutingAgent(std::make_unique<GpsrNode>(node, config.seed, *devices[node]));
        }
        else
        {
            devices[node]->SetRoutingAgent(std::make_unique<AodvNode>(node, config.seed, *devices[node], AodvConfig(config.local_repair)));
        }
    }
}

} // namespace ns3
