// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the shim tells a congestion window limit and a pacer about one round trip.

#pragma once

#include <cstdint>

namespace perhop::policy {

/// What a sender under the combined policy knows besides: path_tuner.hpp.
struct path_tuning {
  std::uint16_t pace_permille = 1000;  ///< of the period S, to pace by
  std::uint8_t tcp_ack_packets = 0;    ///< data packets for each TCP ACK by airtime, airtime_window.hpp; 0: unknown
  bool shared = false;                 ///< other traffic takes a part of the path

  friend bool operator==(const path_tuning&, const path_tuning&) = default;
};

/// What the routers of the path have told the flow's data packets under ABC, as its receiver counts it: since the connection began,
/// by these moduli.
struct path_marks {
  static constexpr std::uint32_t arrived_modulus = 64, accelerated_modulus = 32;

  std::uint8_t arrived_packets = 0;
  std::uint8_t accelerated_packets = 0;  ///< of these; the others brake
  std::uint16_t in_flight_packets = 0;   ///< at the sender, the most of this round and the last; 0: unknown

  friend bool operator==(const path_marks&, const path_marks&) = default;
};

/// One round trip as the path headers told it. Hops and delays are those of wireless hops, queueing excluded.
/// A value of 0 means unknown.
struct path_measurement {
  std::uint32_t forward_hops = 0;
  std::uint32_t return_hops = 0;
  std::uint32_t forward_total_us = 0;     ///< sum of d_i, of data-sized packets
  std::uint32_t forward_max_us = 0;       ///< largest d_i
  std::uint32_t return_total_us = 0;      ///< sum of d'_i, of the packets really sent back (TCP ACKs)
  std::uint32_t wired_round_trip_us = 0;  ///< propagation of the wired part of the path, both ways; 0: no wired part
  path_tuning tuning{};
};

}  // namespace perhop::policy
