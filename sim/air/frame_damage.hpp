// SPDX-License-Identifier: GPL-2.0-or-later
/// What a receiver makes of a frame that it cannot receive: bytes that no FCS takes for good.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/air/types.hpp"

namespace perhop::air {

/// Damages a frame in place: a bit, a burst of 32 bits, all from a random byte on, or the same and the carrier ends there.
/// Which it is and where is a function of (seed, transmission, receiver) alone.
/// @return the carrier ended early, and psdu is shorter than its PLCP header told
bool damage_frame(std::vector<std::uint8_t>& psdu, std::uint64_t seed, std::uint64_t transmission_id, node_id receiver);

}  // namespace perhop::air
