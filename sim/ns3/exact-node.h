// SPDX-License-Identifier: GPL-2.0-or-later
//
// EXACT in one node: gives the router in the node's shim what the shim does not see (hellos, neighbours, the queue), broadcasts its hellos,
// and hands packets of flows that start or end here to them.
#pragma once

#include "sim/ns3/exact-flow.h"
#include "sim/ns3/exact-rider.h"
#include "sim/ns3/ip-view.h"
#include "sim/ns3/packet-slots.h"
#include "sim/ns3/shim-adapter.h"

#include "ns3/packet.h"

#include <functional>
#include <vector>

namespace ns3
{

class ExactNode
{
  public:
    /// The router's settings for a node. @param address IPv4 in host byte order
    static perhop::policy::exact_router_config RouterConfig(const perhop::run::run_config& config, uint32_t address);

    /// @param shim of this node, with an EXACT router; outlives this, as `log` does
    /// @param sendHello broadcasts this content
    ExactNode(uint32_t node, ShimAdapter& shim, ExactLog& log, std::function<void(Ptr<Packet>)> sendHello);

    ExactNode(const ExactNode&) = delete;
    ExactNode& operator=(const ExactNode&) = delete;

    /// A flow of the run, wherever its ends are: the router knows its weight. Does not own it.
    void AddFlow(ExactFlow& flow);

    /// IP sends a packet: one of its own, or one that it passes on (PathHeaderTag). Writes what its EXACT sender says of it into the view.
    /// @return what goes behind its path header
    ExactRider OnSend(IpView& ip, const Packet& packet) const;

    /// A packet has passed the router; its header says what it may tell others. At the flow's source the sender is told. @param arrivedBps
    /// the explicit rate before
    void Note(uint64_t nowUs, uint64_t arrivedBps, const PacketSlot& slot) const;

    /// A packet for this node arrived. @return true for a report: it goes no further
    bool OnReceive(uint64_t nowUs, const PacketSlot& slot);

    void OnHello(uint64_t nowUs, const Packet& content);

    /// So many bytes wait in front of the MAC.
    void OnQueue(uint64_t queuedBytes);

    /// A slot of the neighbour table now stands for the node with this address.
    void OnPeer(uint8_t peer, uint32_t address);

    /// Writes this router's allocations to the log.
    void Log(uint64_t nowUs) const;

  private:
    perhop::policy::exact_router& Router() const
    {
        return *m_shim.GetShim().exact();
    }

    ExactFlow* FlowOf(const perhop::shim::flow_key& key) const;
    void OnTimer(uint64_t nowUs);

    uint32_t m_node;
    ShimAdapter& m_shim;
    ExactLog& m_log;
    std::function<void(Ptr<Packet>)> m_sendHello;
    std::vector<ExactFlow*> m_flows; ///< all of the run
};

} // namespace ns3
