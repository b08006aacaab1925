// SPDX-License-Identifier: GPL-2.0-or-later
//
// What stands between the path header and the IP packet of an EXACT flow: a data packet's number, or the receiver's report.
#pragma once

#include "host/core/wire/exact_header.hpp"

#include <cstdint>
#include <variant>

namespace ns3
{

/// Nothing for packets of other flows.
using ExactRider = std::variant<std::monostate, perhop::wire::exact_header, perhop::wire::exact_report>;

inline uint32_t
RiderBytes(const ExactRider& rider)
{
    switch (rider.index())
    {
    case 1:
        return perhop::wire::exact_data::size_bytes;
    case 2:
        return perhop::wire::exact_feedback::size_bytes;
    default:
        return 0;
    }
}

} // namespace ns3
