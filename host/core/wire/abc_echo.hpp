// SPDX-License-Identifier: GPL-2.0-or-later
//
// How the path header carries the marks of ABC (policy/abc_router.hpp). No byte of it is ABC's own: a TCP flow has no explicit rate.
//
//  - a data packet's explicit rate: no limit stated is an accelerate, a rate of 0 a brake. A router lowers it and never raises it,
//    as the paper demands and as all explicit rates here;
//  - the rate that its receiver echoes: running counts of what arrived, in the mantissa of a float16 without exponent, which
//    comes through as it is.
//
// The paper has the accelerate in the ECN field and its echo in TCP's NS bit. Here both would be changes to the bytes of IP and TCP, ECN
// would be lost to flows with ABC, and a bit of each TCP ACK says nothing of those that are thinned out or lost.

#pragma once

#include <cstdint>
#include <optional>

#include "host/core/policy/path_measurement.hpp"
#include "host/core/wire/path_header.hpp"
#include "host/core/wire/raw_frames.hpp"

namespace perhop::wire {

inline constexpr std::uint64_t brake_rate_bps = 0;

/// As path_echo::rate_bps. Counts beyond their modulus are reduced by it.
inline std::uint64_t rate_of(const abc_echo& echo) {
  const auto bytes = bytes_of(echo);
  return decode_rate(static_cast<std::uint16_t>(bytes[0] << 8 | bytes[1]));
}

/// @return nothing when the echoed rate is a rate
inline std::optional<abc_echo> abc_echo_of(std::uint64_t rate_bps) {
  const std::uint16_t code = encode_rate(rate_bps);
  return abc_echo::decode(std::array{static_cast<std::uint8_t>(code >> 8), static_cast<std::uint8_t>(code)});
}

}  // namespace perhop::wire
