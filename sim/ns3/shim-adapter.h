// SPDX-License-Identifier: GPL-2.0-or-later
//
// One node's shim (host/core/shim) for ns-3 packets: turns packets into the shim's views and its verdicts into packets.
#pragma once

#include "host/core/shim/shim.hpp"
#include "sim/air/types.hpp"
#include "sim/ns3/ip-view.h"
#include "sim/ns3/tcp-flow.h"

#include "ns3/packet.h"

#include <cstdint>
#include <vector>

namespace ns3
{

class ShimAdapter
{
  public:
    /// @param address this node's IPv4 address in host byte order
    ShimAdapter(const perhop::shim::shim_config& config, uint32_t address);

    /// A flow whose sender is on this node: applies its policy and keeps its statistics. Does not own it.
    void AddFlow(TcpFlow& flow);

    /// IP sends a packet of this node, or passes on one that came here. Takes the header of a forwarded packet off it (PathHeaderTag).
    /// @return the header to send with it, this hop added
    perhop::wire::path_header OnSend(uint64_t nowUs, Packet& packet, const IpView& ip, const perhop::shim::next_hop& hop);

    /// The shim itself passes a packet on: adds this hop to its header.
    void OnForward(uint64_t nowUs, perhop::wire::path_header& header, const IpView& ip, const perhop::shim::next_hop& hop);

    /// A packet for this node arrived. @return the window to write into its TCP header before IP sees it, if any
    std::optional<uint16_t> OnReceive(uint64_t nowUs, const perhop::wire::path_header& header, const IpView& ip);

    void OnCompletion(const perhop::air::completion& record);

    void OnNeighbourReplaced(uint8_t peer)
    {
        m_shim.on_neighbour_replaced(peer);
    }

    const perhop::shim::shim& GetShim() const
    {
        return m_shim;
    }

  private:
    TcpFlow* FlowSentFromHere(const perhop::shim::flow_key& key) const;

    perhop::shim::shim m_shim;
    uint32_t m_address;
    std::vector<TcpFlow*> m_flows;
};

} // namespace ns3
