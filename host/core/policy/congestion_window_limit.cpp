// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/congestion_window_limit.hpp"

#include <type_traits>

namespace perhop::policy {

congestion_window_limit::congestion_window_limit(const cwl_config& config) {
  switch (config.kind) {
    case cwl_kind::none:
      break;
    case cwl_kind::fixed:
      policy_.emplace<congestion_window_limit_fixed>(config.fixed_packets);
      break;
    case cwl_kind::hop:
      policy_.emplace<congestion_window_limit_hop>(config.ceiling_packets);
      break;
    case cwl_kind::delay:
      policy_.emplace<congestion_window_limit_delay>(config.rounding, config.ceiling_packets);
      break;
    case cwl_kind::pipeline:
      policy_.emplace<congestion_window_limit_pipeline>(config.ceiling_packets);
      break;
  }
}

void congestion_window_limit::on_path(const path_measurement& path) {
  std::visit(
      [&path](auto& policy) {
        if constexpr (!std::is_same_v<std::remove_reference_t<decltype(policy)>, std::monostate>) policy.on_path(path);
      },
      policy_);
}

std::optional<std::uint32_t> congestion_window_limit::limit_packets() const {
  return std::visit(
      [](const auto& policy) -> std::optional<std::uint32_t> {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(policy)>, std::monostate>) {
          return std::nullopt;
        } else {
          return policy.limit_packets();
        }
      },
      policy_);
}

}  // namespace perhop::policy
