// SPDX-License-Identifier: GPL-2.0-or-later
/// \file
/// A word for a register of the gateware, and how a host writes many of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace perhop::air {

struct register_setting {
  std::uint32_t address;  ///< bytes
  std::uint32_t word;
};

/// Writes settings again and again until all are taken: where a rule joins two, either may be refused until the other is there.
/// @param takes writes a setting; whether the register took it
/// @return a setting that is refused whatever else is there; nothing if all are taken
template <typename Takes>
std::optional<register_setting> write_settings(std::vector<register_setting> waiting, Takes&& takes) {
  while (!waiting.empty()) {
    if (std::erase_if(waiting, takes) == 0) return waiting.front();
  }
  return std::nullopt;
}

}  // namespace perhop::air
