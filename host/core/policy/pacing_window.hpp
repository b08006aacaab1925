// SPDX-License-Identifier: GPL-2.0-or-later
//
// TCP pacing: the packets of a window are spread over the smoothed round trip, one every SRTT / cwnd.
//
// Source: paper named in congestion_window_limit.hpp, section 5.3; A. Aggarwal, S. Savage, T. Anderson, "Understanding
// the Performance of TCP Pacing", INFOCOM 2000. SRTT as in smoothed_round_trip.hpp. Ours adds: cwnd is what may really be
// in flight, so never above the congestion window limit; without a round trip or a window there is no pacing.

#pragma once

#include <cstdint>

#include "host/core/policy/path_measurement.hpp"
#include "host/core/policy/smoothed_round_trip.hpp"

namespace perhop::policy {

class pacing_window {
public:
  void on_path(const path_measurement&, std::uint32_t /*packets_per_tcp_ack*/) {}
  void on_rtt(std::uint32_t rtt_us) { round_trip_.on_sample(rtt_us); }

  /// What may be in flight. 0: unknown
  void on_window(std::uint32_t packets) { window_packets_ = packets; }

  /// Time between two full packets; 0: not known.
  std::uint64_t interval_us() const { return window_packets_ == 0 ? 0 : round_trip_.srtt_us().value_or(0) / window_packets_; }

private:
  smoothed_round_trip round_trip_;
  std::uint32_t window_packets_ = 0;
};

}  // namespace perhop::policy
