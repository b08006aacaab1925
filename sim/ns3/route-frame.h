// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a routing agent has to do with a frame, from its queue to the end of its transmission.
#pragma once

#include <cstdint>
#include <vector>

namespace ns3
{

struct RouteFrame
{
    virtual ~RouteFrame() = default;

    std::vector<uint8_t> bytes; ///< between IP's header and what the packet carries; they cost airtime
    uint8_t protocol = 0;       ///< of these bytes, in IP's header
};

} // namespace ns3
