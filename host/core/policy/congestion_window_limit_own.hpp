// SPDX-License-Identifier: GPL-2.0-or-later
//
// Congestion window limit by a policy of one's own (own/perhop_policy.h).

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "host/core/policy/own/own_policy.hpp"
#include "host/core/policy/path_measurement.hpp"

namespace perhop::policy {

class congestion_window_limit_own {
public:
  /// @param own null: there is no limit. It is told of paths by the shim, which knows more of them.
  congestion_window_limit_own(own_policy* own, std::uint32_t ceiling_packets)
      : own_(own), ceiling_packets_(std::max(ceiling_packets, 1U)) {}

  void on_path(const path_measurement&) {}
  std::optional<std::uint32_t> limit_packets() const {
    const std::uint32_t packets = own_ != nullptr ? own_->limit_packets() : 0;
    return packets != 0 ? std::optional(std::min(packets, ceiling_packets_)) : std::nullopt;
  }

private:
  own_policy* own_;
  std::uint32_t ceiling_packets_;
};

}  // namespace perhop::policy
