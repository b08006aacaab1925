// SPDX-License-Identifier: GPL-2.0-or-later
//
// Time never goes back: host/core relies on it, so the bindings see to it.

#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "host/bindings/arguments.hpp"

namespace perhop::bindings {

/// The times that one object was told.
class monotonic_clock {
public:
  /// @return the time, after a check that it does not lie before the last one
  std::uint64_t operator()(const now_us& given) {
    const std::uint64_t now = given;
    if (now < last_us_) {
      refuse_value("now_us", given.given, "time never goes back, and the last call was at " + std::to_string(last_us_) + " us");
    }
    last_us_ = now;
    return now;
  }

private:
  std::uint64_t last_us_ = 0;
};

/// An object of host/core and the times that it was told.
template <typename core_type>
struct timed {
  core_type core;
  monotonic_clock clock{};
};

}  // namespace perhop::bindings
