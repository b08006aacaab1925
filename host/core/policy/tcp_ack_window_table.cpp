// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/tcp_ack_window_table.hpp"

#include <algorithm>

#include "host/core/policy/airtime_window.hpp"

namespace perhop::policy {

std::uint32_t dca_hop_window_packets(std::uint32_t forward_hops) {
  constexpr std::uint32_t long_path_packets = 3;
  if (forward_hops == 0) return long_path_packets;
  if (forward_hops <= 3) return whole_window_packets;
  if (forward_hops <= 9) return middle_window_packets;
  return long_path_packets;
}

std::uint32_t dca_delay_window_packets(std::uint32_t min_rtt_us) {
  return min_rtt_us == 0 || min_rtt_us > long_round_trip_us ? middle_window_packets : whole_window_packets;
}

std::uint32_t dca_window_limit_packets(dca_window_rule rule, std::uint32_t forward_hops, std::uint32_t min_rtt_us) {
  switch (rule) {
    case dca_window_rule::hop:
      return dca_hop_window_packets(forward_hops);
    case dca_window_rule::delay:
      return dca_delay_window_packets(min_rtt_us);
    case dca_window_rule::airtime:
      return airtime_window_packets(forward_hops);
    case dca_window_rule::hop_and_delay:
      break;
  }
  // Without a round trip the hops decide alone.
  const std::uint32_t by_hops = dca_hop_window_packets(forward_hops);
  return min_rtt_us == 0 ? by_hops : std::min(by_hops, dca_delay_window_packets(min_rtt_us));
}

}  // namespace perhop::policy
