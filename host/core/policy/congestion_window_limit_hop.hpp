// SPDX-License-Identifier: GPL-2.0-or-later
//
// Hop-based congestion window limit: a table over the round-trip hops N.
//
// Source: paper named in congestion_window_limit.hpp, Table 1 (optimal CWL found by simulation of chains of 1 to 15
// hops). Ours adds what the table leaves open:
//  - odd N (forward and return paths of different length): the table's ranges are read as they are printed, "4 < N <=
//  8",
//    so that odd N falls into the range that holds it;
//  - N > 30, where the table ends: N/6 rounded to the nearest, half up. N/6 meets Table 1 at every even N from 6 to 30
//    but 14 (2, where the table has 3).

#pragma once

#include <cstdint>
#include <optional>

#include "host/core/policy/path_measurement.hpp"

namespace perhop::policy {

/// The window that a 16-bit window field can advertise in segments of 1460 bytes.
inline constexpr std::uint32_t default_ceiling_packets = 65535 / 1460;

/// Table 1. @param round_trip_hops forward hops plus return hops, at least 1
std::uint32_t hop_table_limit_packets(std::uint32_t round_trip_hops);

class congestion_window_limit_hop {
public:
  explicit congestion_window_limit_hop(std::uint32_t ceiling_packets = default_ceiling_packets);

  /// Without both hop counts the limit stays as it was.
  void on_path(const path_measurement& path);
  std::optional<std::uint32_t> limit_packets() const { return limit_packets_; }

private:
  std::uint32_t ceiling_packets_;
  std::optional<std::uint32_t> limit_packets_;
};

}  // namespace perhop::policy
