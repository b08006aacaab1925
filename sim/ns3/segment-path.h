// SPDX-License-Identifier: GPL-2.0-or-later
//
// The short way between a node's TCP and its hop path: segments without ns-3's IP. What IP's header would say stands in the packet's view,
// and becomes bytes only where somebody wants them: a wire, or ns3's IP when the packet cannot go on (packet-rewrite.h). TCP is ns-3's as
// ever: it sends into the callback that would lead to IP, and what arrives for a connection goes to its socket, as IP would hand it over.
//
// Segments that are not plain go through IP: those without a route, those longer than the device's MTU, those with a time to live of their
// own. Both ways give the same run to the bit; a test compares them.
#pragma once

#include "host/core/shim/packet_view.hpp"

#include "ns3/ip-l4-protocol.h"
#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/packet.h"
#include "ns3/tcp-l4-protocol.h"

#include <cstdint>
#include <optional>

namespace ns3
{

class AirNetDevice;

class SegmentPath
{
  public:
    /// The TCP of the device's node sends this way from now on. @param device has an interface of IP; outlives this
    SegmentPath(AirNetDevice& device, Ptr<Ipv4L3Protocol> ip);

    /// A segment for this node has arrived. @param windowBytes to write into its header, if any
    void Deliver(const perhop::shim::ip_packet_view& view, const Packet& segment, std::optional<uint16_t> windowBytes);

  private:
    /// What TCP calls in place of IP.
    void Send(Ptr<Packet> segment, Ipv4Address source, Ipv4Address destination, uint8_t protocol, Ptr<Ipv4Route> route);

    AirNetDevice& m_device;
    Ptr<TcpL4Protocol> m_tcp;
    Ptr<Ipv4Interface> m_interface;
    IpL4Protocol::DownTargetCallback m_ip; ///< where TCP would send to
    uint8_t m_ttl;                         ///< of a packet that IP makes
};

} // namespace ns3
