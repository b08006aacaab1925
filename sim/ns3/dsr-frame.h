// SPDX-License-Identifier: GPL-2.0-or-later
//
// What DSR puts into a packet for one hop.
#pragma once

#include "host/core/routing/dsr_router.hpp"

#include <cstdint>
#include <vector>

namespace ns3
{

struct DsrFrame
{
    perhop::routing::dsr_packet packet;
    perhop::routing::ipv4_address nextHop = 0;
    std::vector<uint8_t> bytes; ///< of the header
};

} // namespace ns3
