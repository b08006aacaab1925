// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reads the first bytes of an ns-3 packet into the shim's view of it, without making header objects of them.
#pragma once

#include "host/core/shim/packet_view.hpp"

#include "ns3/packet.h"

#include <optional>

namespace ns3
{

/// An IPv4 packet as the shim and the device need it.
struct IpView
{
    perhop::shim::ip_packet_view view;
    uint32_t source = 0;      ///< host byte order
    uint32_t destination = 0; ///< host byte order
    uint16_t ipHeaderBytes = 0;
};

/// @param packet from the IPv4 header on. TCP's options are read
/// @return nothing when it is no whole IPv4 header
std::optional<IpView> ReadIpView(const Ptr<const Packet>& packet);

} // namespace ns3
