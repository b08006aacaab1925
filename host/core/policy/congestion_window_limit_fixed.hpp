// SPDX-License-Identifier: GPL-2.0-or-later
//
// A congestion window limit that never changes: the baseline of the literature (8 packets, or 1 to 2).

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "host/core/policy/path_measurement.hpp"

namespace perhop::policy {

class congestion_window_limit_fixed {
public:
  /// @param limit_packets 0 is raised to 1: a limit of nothing would stop the connection
  explicit congestion_window_limit_fixed(std::uint32_t limit_packets) : limit_packets_(std::max(limit_packets, 1U)) {}

  void on_path(const path_measurement&) {}
  std::optional<std::uint32_t> limit_packets() const { return limit_packets_; }

private:
  std::uint32_t limit_packets_;
};

}  // namespace perhop::policy
