// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/congestion_window_limit.hpp"

#include <type_traits>

namespace perhop::policy {

void congestion_window_limit::on_path(const path_measurement& path) {
  std::visit(
      [&path](auto& policy) {
        if constexpr (!std::is_same_v<std::remove_reference_t<decltype(policy)>, std::monostate>) policy.on_path(path);
      },
      policy_);
}

void congestion_window_limit::on_marks(const path_marks& marks) {
  if (auto* abc = std::get_if<congestion_window_limit_abc>(&policy_)) abc->on_marks(marks);
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

std::uint32_t congestion_window_limit::tcp_ack_packets() const {
  const auto* pipeline = std::get_if<congestion_window_limit_pipeline>(&policy_);
  return pipeline != nullptr ? pipeline->tcp_ack_packets() : 0;
}

}  // namespace perhop::policy
