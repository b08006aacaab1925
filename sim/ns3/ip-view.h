// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reads the first bytes of an ns-3 packet into the shim's view of it, without making header objects of them.
#pragma once

#include "host/core/shim/ip_packet.hpp"

#include "ns3/packet.h"

#include <array>
#include <optional>

namespace ns3
{

/// @param packet from the IPv4 header on. TCP's options are read
/// @return nothing when it is no whole IPv4 packet
inline std::optional<perhop::shim::ip_packet_view>
ReadIpView(const Ptr<const Packet>& packet)
{
    std::array<uint8_t, perhop::shim::most_header_bytes> head;
    const std::size_t size = packet->CopyData(head.data(), head.size());
    const auto ip = perhop::shim::read_ip(std::span(head).first(size), packet->GetSize());
    return ip && !ip->ipv6 ? std::optional(ip->view) : std::nullopt;
}

} // namespace ns3
