// SPDX-License-Identifier: GPL-2.0-or-later
//
// A router and a packet for tests of EXACT.

#pragma once

#include "host/core/policy/exact_router.hpp"

namespace perhop::policy {

inline exact_router_config config_of(exact_mode mode) {
  exact_router_config config;
  config.profile = find_profile("dsss_long");
  config.mode = mode;
  config.neighbourhood.node = 1;
  return config;
}

inline exact_packet packet_of(std::uint64_t flow, std::uint64_t current_bps = 1'000'000) {
  return {.flow = flow,
          .rate_index = 1,
          .ip_bytes = 1500,
          .mpdu_bytes = 1554,
          .explicit_rate_bps = 11'000'000,
          .current_rate_bps = current_bps};
}

}  // namespace perhop::policy
