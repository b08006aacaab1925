// SPDX-License-Identifier: GPL-2.0-or-later
//
// EXACT in one node: its router (host/core) gets the node's packets, completions, queue and clock; its hellos go out as broadcast frames;
// flows that start or end here get their packets.
#pragma once

#include "sim/air/run_config.hpp"
#include "sim/ns3/exact-flow.h"
#include "sim/ns3/exact-rider.h"
#include "sim/ns3/ip-view.h"

#include "host/core/policy/exact_router.hpp"
#include "host/core/shim/packet_view.hpp"

#include "ns3/event-id.h"
#include "ns3/packet.h"

#include <functional>
#include <vector>

namespace ns3
{

class ExactNode
{
  public:
    /// @param address IPv4 address of the node in host byte order; @param sendHello broadcasts this content
    ExactNode(
        const perhop::air::run_config& config, uint32_t node, uint32_t address, ExactLog& log, std::function<void(Ptr<Packet>)> sendHello);

    ExactNode(const ExactNode&) = delete;
    ExactNode& operator=(const ExactNode&) = delete;

    /// Flows of the run, for those that start or end here and for their weights. Does not own them.
    void AddFlow(ExactFlow& flow);

    /// What goes behind the path header of a packet that IP sends: this node's own, or one that IP passes on (PathHeaderTag).
    ExactRider RiderOf(const IpView& ip, const Packet& packet) const;

    /// A packet that IP sends is queued. The rates of an own one go into the header; the router lowers it to the flow's allocation.
    void OnSend(
        uint64_t nowUs, perhop::wire::path_header& header, const ExactRider& rider, const IpView& ip, const perhop::shim::next_hop& hop);

    /// The same for a packet that the shim passes on.
    void OnForward(
        uint64_t nowUs, perhop::wire::path_header& header, const ExactRider& rider, const IpView& ip, const perhop::shim::next_hop& hop);

    /// A packet for this node arrived. @return true for a report: it goes no further
    bool OnReceive(uint64_t nowUs, const perhop::wire::path_header& header, const ExactRider& rider, const IpView& ip);

    void OnHello(uint64_t nowUs, const Packet& content);
    void OnCompletion(const perhop::air::completion& record);

    /// So many bytes wait in front of the MAC.
    void OnQueue(uint64_t queuedBytes);

    /// A slot of the neighbour table now stands for the node with this address.
    void OnPeer(uint8_t peer, uint32_t address);
    void OnPeerReplaced(uint8_t peer);

    /// Writes this router's allocations to the log.
    void Log(uint64_t nowUs) const;

    const perhop::policy::exact_router& GetRouter() const
    {
        return m_router;
    }

  private:
    ExactFlow* FlowOf(const perhop::shim::flow_key& key) const;
    void Lower(
        uint64_t nowUs, perhop::wire::path_header& header, const ExactRider& rider, const IpView& ip, const perhop::shim::next_hop& hop);
    void SetTimer(uint64_t nowUs);
    void OnTimer();

    uint32_t m_node;
    uint32_t m_address;
    ExactLog& m_log;
    std::function<void(Ptr<Packet>)> m_sendHello;
    perhop::policy::exact_router m_router;
    std::vector<ExactFlow*> m_flows;
    EventId m_timer;
    uint64_t m_timerUs;
};

} // namespace ns3
