// SPDX-License-Identifier: GPL-2.0-or-later
//
// Time and TCP sequence numbers as the policies compare them.

#pragma once

#include <cstdint>

namespace perhop::policy {

/// Microseconds since any fixed moment. Never goes back.
using time_us = std::uint64_t;
inline constexpr time_us us_per_s = 1'000'000;

/// True when TCP sequence number a does not lie after b (RFC 9293, 3.4: modulo 2^32).
constexpr bool not_after(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) <= 0; }

}  // namespace perhop::policy
