// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the shim changes in a packet's bytes.
#pragma once

#include "sim/ns3/route-frame.h"

#include "host/core/shim/packet_view.hpp"

#include "ns3/packet.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ns3
{

/// A copy of an IPv4 packet with its time to live lowered by `ttlSpent` and, for TCP, another window; with right checksums where ns-3
/// computes them.
Ptr<Packet> Rewritten(const Packet& original, uint8_t ttlSpent, std::optional<uint16_t> windowBytes);

/// Writes another window into a TCP segment without IP's header, whose checksum nobody looks at.
void SetWindow(Packet& segment, uint16_t windowBytes);

/// The IPv4 packet of a TCP segment whose IP header stands in its view.
Ptr<Packet> WithIpHeader(const Packet& segment, const perhop::shim::ip_packet_view& view);

/// A copy of an IPv4 packet that is marked as having met congestion.
Ptr<Packet> Congested(const Packet& original);

/// Lowers the time to live in an IPv4 packet's bytes and mends the header's checksum.
/// @param ip at least the IPv4 header
void LowerTtl(std::span<uint8_t> ip, uint8_t ttlSpent);

/// Puts a routing protocol's header between an IPv4 header and what follows, and mends the IPv4 header.
/// @param ipAt where in `bytes` the packet begins, which reaches to their end
void InsertRouteHeader(std::vector<uint8_t>& bytes, std::size_t ipAt, const RouteFrame& route);

} // namespace ns3
