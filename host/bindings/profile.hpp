// SPDX-License-Identifier: GPL-2.0-or-later
//
// Timing profiles by name and rates by index, checked.

#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "host/core/wire/generated/protocol.hpp"

namespace perhop::bindings {

inline const timing_profile* profile_of(std::string_view field, const std::string& name) {
  if (const timing_profile* found = find_profile(name)) return found;
  std::string known;
  for (const timing_profile& profile : detail::all_profiles) known += " " + std::string(profile.name);
  throw nanobind::value_error((std::string(field) + " = '" + name + "': give one of" + known).c_str());
}

inline std::uint8_t rate_of(std::string_view field, std::uint8_t index, const timing_profile& profile) {
  if (index < profile.rates.size()) return index;
  throw nanobind::value_error((std::string(field) + " = " + std::to_string(index) + ": profile " + std::string(profile.name) +
                               " has rates 0 to " + std::to_string(profile.rates.size() - 1))
                                  .c_str());
}

}  // namespace perhop::bindings
