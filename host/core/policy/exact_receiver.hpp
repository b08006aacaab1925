// SPDX-License-Identifier: GPL-2.0-or-later
//
// EXACT receiver: sees what rate the data packets of one flow arrived with, and says when to tell the sender.
//
//   at once   the rate fell or rose by more than 5 %, the hop count changed, or it is the flow's first or
//             last packet
//   else      when `every_packets` have come and half a round trip is over, at the latest after 200 ms
//   again     once, when the flow stops for longer than it used to: the report may have been lost, and the sender wait for it with
//             a full window
//
// Source: K. Chen, K. Nahrstedt, "Limitations of equation-based congestion control in mobile ad hoc networks", section VI.B:
// the bottleneck rate returns in a feedback packet; when, is left open. The rules are ours; the number of packets is the
// one that delayed TCP ACKs use, so that feedback does not bring back the contention of an ACK for each packet. Half a round
// trip is taken to be the sum of the hops' delays, which the packets bring along.

#pragma once

#include <cstdint>
#include <optional>

#include "host/core/wire/exact_header.hpp"
#include "host/core/wire/path_header.hpp"

namespace perhop::policy {

struct exact_receiver_config {
  std::uint32_t every_packets = 4;
  std::uint32_t max_interval_us = 200'000;
  double fall = 0.05;                       ///< a larger relative fall of the rate is told at once
  double rise = 0.05;                       ///< and so is a larger rise, as after a re-route
  std::uint32_t repeat_after_us = 100'000;  ///< of silence, and four times the usual gap between packets; 0: never
};

struct exact_receiver_counters {
  std::uint64_t packets = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t too_old = 0;  ///< arrived after 32 later ones: not in any report
  std::uint64_t reports = 0;
  std::uint64_t immediate_reports = 0;  ///< due because the path changed
  std::uint64_t repeated_reports = 0;
  std::uint64_t silent_routers = 0;  ///< packets that met a router without the header
};

class exact_receiver {
public:
  explicit exact_receiver(const exact_receiver_config& config = {}) : config_(config) {}

  /// A data packet arrived. @param ttl_hops hops by the IP header's TTL, all media; 0: unknown. When it differs from the
  /// header's, a router on the way is silent (the test of RFC 4782, section 3.1; not made when a hop was wired)
  /// @return true when a report is to be sent now
  bool on_data(std::uint64_t now_us, const wire::path_header& path, const wire::exact_header& exact, std::uint32_t ttl_hops = 0);

  /// When a report is due if no packet comes before; nothing when there is nothing new to tell.
  std::optional<std::uint64_t> deadline() const;

  /// The report to send now. Whoever sends one, for whatever reason, takes it from here.
  wire::exact_report take_report(std::uint64_t now_us);

  const exact_receiver_counters& counters() const { return counters_; }

private:
  exact_receiver_config config_;
  exact_receiver_counters counters_;
  wire::exact_report report_;
  bool heard_ = false;
  bool ended_ = false;
  std::uint64_t highest_arrived_us_ = 0;
  std::uint64_t usual_gap_us_ = 0;  // running average
  bool repeated_ = false;           // since the last packet
  std::uint32_t packets_since_report_ = 0;
  std::uint64_t first_since_report_us_ = 0;
  std::uint64_t reported_us_ = 0;
  std::uint64_t reported_rate_bps_ = 0;
  std::uint8_t reported_hops_ = 0;
};

}  // namespace perhop::policy
