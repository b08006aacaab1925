// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/congestion_window_limit_delay.hpp"

#include <algorithm>

namespace perhop::policy {

namespace {

// Corollary 2 as a fraction of whole numbers, so that the same path always gives the same limit on every machine.
struct delay_bound {
  std::uint64_t numerator;
  std::uint64_t denominator;
};

delay_bound bound_of(const path_measurement& path) {
  // The sum of at most 255 hops of 32 bits, times 4, stays far below 64 bits.
  const std::uint64_t wireless_us = std::uint64_t{path.forward_total_us} + path.return_total_us;
  return {.numerator = wireless_us + 4 * std::uint64_t{path.wired_round_trip_us}, .denominator = 4 * std::uint64_t{path.forward_max_us}};
}

}  // namespace

std::optional<double> delay_bound_packets(const path_measurement& path) {
  if (path.forward_max_us == 0) return std::nullopt;
  const delay_bound bound = bound_of(path);
  return static_cast<double>(bound.numerator) / static_cast<double>(bound.denominator);
}

congestion_window_limit_delay::congestion_window_limit_delay(cwl_rounding rounding, std::uint32_t ceiling_packets)
    : rounding_(rounding), ceiling_packets_(std::max(ceiling_packets, 1U)) {}

void congestion_window_limit_delay::on_path(const path_measurement& path) {
  std::uint64_t packets = 0;
  if (path.forward_max_us != 0 && path.return_total_us != 0) {
    const delay_bound bound = bound_of(path);
    const std::uint64_t half = rounding_ == cwl_rounding::half_up ? bound.denominator / 2 : 0;
    packets = (bound.numerator + half) / bound.denominator;
  } else if (path.forward_hops != 0 && path.return_hops != 0) {
    packets = hop_table_limit_packets(path.forward_hops + path.return_hops);
  } else {
    return;
  }
  limit_packets_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(packets, 1, ceiling_packets_));
}

}  // namespace perhop::policy
