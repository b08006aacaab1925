// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/congestion_window_limit_hop.hpp"

#include <algorithm>

namespace perhop::policy {

std::uint32_t hop_table_limit_packets(std::uint32_t round_trip_hops) {
  if (round_trip_hops <= 4) return 2;
  if (round_trip_hops <= 8) return 1;
  if (round_trip_hops <= 12) return 2;
  if (round_trip_hops <= 20) return 3;
  if (round_trip_hops <= 26) return 4;
  if (round_trip_hops <= 30) return 5;
  // N/6 rounded half up, written so that no N overflows.
  return round_trip_hops / 6 + (round_trip_hops % 6 >= 3 ? 1 : 0);
}

congestion_window_limit_hop::congestion_window_limit_hop(std::uint32_t ceiling_packets) : ceiling_packets_(std::max(ceiling_packets, 1U)) {}

void congestion_window_limit_hop::on_path(const path_measurement& path) {
  if (path.forward_hops == 0 || path.return_hops == 0) return;
  limit_packets_ = std::min(hop_table_limit_packets(path.forward_hops + path.return_hops), ceiling_packets_);
}

}  // namespace perhop::policy
