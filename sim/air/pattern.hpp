// SPDX-License-Identifier: GPL-2.0-or-later
/// Bytes without meaning, but never the same in two packets: of a frame that gets mixed up with another the bytes tell.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/air/mix.hpp"

namespace perhop::air {

/// Appends `bytes` bytes that depend on the packet's cookie alone.
inline void append_pattern(std::vector<std::uint8_t>& to, std::size_t bytes, std::uint64_t packet) {
  std::uint64_t state = packet;
  for (std::size_t index = 0; index < bytes; ++index) {
    if (index % 8 == 0) state = splitmix64(state);
    to.push_back(static_cast<std::uint8_t>(state >> (8 * (index % 8))));
  }
}

}  // namespace perhop::air
