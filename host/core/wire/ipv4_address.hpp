// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

namespace perhop::wire {

using ipv4_address = std::uint32_t;  ///< 10.0.0.1 is 0x0a000001

inline constexpr ipv4_address everybody = 0xffff'ffff;

}  // namespace perhop::wire
