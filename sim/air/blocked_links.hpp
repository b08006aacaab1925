// SPDX-License-Identifier: GPL-2.0-or-later
/// Pairs between which nothing passes, neither frames nor energy, in the configuration of an air.
#pragma once

#include <algorithm>
#include <utility>

#include "sim/air/air_config.hpp"

namespace perhop::air {

inline bool is_blocked(const air_config& config, node_id one, node_id other) {
  return std::any_of(config.blocked.begin(), config.blocked.end(),
                     [&](const auto& pair) { return pair == std::pair(one, other) || pair == std::pair(other, one); }) ||
         std::any_of(config.silent.begin(), config.silent.end(), [&](node_id node) { return node == one || node == other; });
}

inline void change_blocked(air_config& config, node_id one, node_id other, bool blocked) {
  std::erase_if(config.blocked, [&](const auto& pair) { return pair == std::pair(one, other) || pair == std::pair(other, one); });
  if (blocked) config.blocked.emplace_back(one, other);
}

inline void change_silent(air_config& config, node_id node, bool silent) {
  std::erase(config.silent, node);
  if (silent) config.silent.push_back(node);
}

}  // namespace perhop::air
