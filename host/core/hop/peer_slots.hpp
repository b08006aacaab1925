// SPDX-License-Identifier: GPL-2.0-or-later
/// Who has which slot of the MAC's neighbour table: the slots are the host's to give out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "host/core/wire/generated/protocol.hpp"

namespace perhop::hop {

class peer_slots {
public:
  struct slot {
    std::uint8_t index = 0;
    bool is_new = false;    ///< it has just been given to this neighbour
    bool replaced = false;  ///< ... and was another neighbour's before, whose averages the MAC goes on from
  };

  /// The slot of the neighbour with this MAC address; the one given out longest ago makes room.
  slot of(std::uint64_t address) {
    for (std::size_t index = 0; index < addresses_.size(); ++index) {
      if (addresses_[index] == address) return {.index = static_cast<std::uint8_t>(index)};
      if (addresses_[index] == 0) {
        addresses_[index] = address;
        return {.index = static_cast<std::uint8_t>(index), .is_new = true};
      }
    }
    const auto index = static_cast<std::uint8_t>(next_);
    next_ = (next_ + 1) % addresses_.size();
    addresses_[index] = address;
    return {.index = index, .is_new = true, .replaced = true};
  }

  bool is_of(std::uint8_t index, std::uint64_t address) const { return index < addresses_.size() && addresses_[index] == address; }

  /// By slot; 0: free.
  const std::array<std::uint64_t, neighbour_slots>& addresses() const { return addresses_; }

private:
  std::array<std::uint64_t, neighbour_slots> addresses_{};
  std::size_t next_ = 0;
};

}  // namespace perhop::hop
