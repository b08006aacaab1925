// SPDX-License-Identifier: GPL-2.0-or-later
//
// The ends of EXACT flows in one node, and its log: hands packets of flows that start or end here to them. The router itself is in the
// node's shim; the hop path tells it of neighbours, queue and hellos.
#pragma once

#include "sim/ns3/exact-flow.h"
#include "sim/ns3/hop-adapter.h"
#include "sim/ns3/packet-slots.h"

#include <vector>

namespace ns3
{

class ExactNode
{
  public:
    /// The router's settings for a node.
    static perhop::policy::exact_router_config RouterConfig(const perhop::run::run_config& config, uint32_t node);

    /// @param hop of this node, with an EXACT router; outlives this, as `log` does
    ExactNode(uint32_t node, HopAdapter& hop, ExactLog& log);

    ExactNode(const ExactNode&) = delete;
    ExactNode& operator=(const ExactNode&) = delete;

    /// A flow of the run, wherever its ends are: the router knows its weight. Does not own it.
    void AddFlow(ExactFlow& flow);

    /// IP sends a packet of its own. Writes what its EXACT end says of it into the view, and what goes behind its path header.
    void OnSend(HopPacket& packet) const;

    /// A packet has passed the router; its header says what it may tell others. At the flow's source the sender is told. @param arrivedBps
    /// the explicit rate before
    void OnLeft(uint64_t nowUs, const HopPacket& packet, const perhop::wire::path_header& header, uint64_t arrivedBps) const;

    /// A packet for this node arrived. @return true for a report: it goes no further
    bool OnReceive(uint64_t nowUs, const PacketSlot& slot);

    /// Writes this router's allocations to the log.
    void Log(uint64_t nowUs) const;

  private:
    perhop::policy::exact_router& Router() const
    {
        return *m_hop.GetShim().exact();
    }

    ExactFlow* FlowOf(const perhop::shim::flow_key& key) const;

    uint32_t m_node;
    HopAdapter& m_hop;
    ExactLog& m_log;
    std::vector<ExactFlow*> m_flows; ///< all of the run
};

} // namespace ns3
