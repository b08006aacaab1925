// SPDX-License-Identifier: GPL-2.0-or-later
//
// Delay-based congestion window limit: Corollary 2,
//
//   CWL = (sum of d_i + sum of d'_i) / (4 * d_max),   i = 1..n forward hops, 1..m return hops,
//
// where d_i is the time hop i takes for a data packet (head of line to MAC ACK, contention and retries included,
// queueing excluded), d'_i the same for the packets really sent back (TCP ACKs), and d_max the largest d_i.
//
// Source: paper named in congestion_window_limit.hpp, section 4. Ours differs from the source, or fills a gap:
//  - the printed sums start at i = 0; there is no hop 0;
//  - rounding is not stated: half up by default (4.65 at N = 30 gives Table 1's 5), floor as ns-2's integer window
//  does;
//  - at least 1 packet, as the paper says, and at most a ceiling;
//  - a wired part of the path holds many packets at once, so the factor 4 of radio interference does not apply to it:
//    CWL = wireless part / (4 * d_max) + wired round trip / d_max;
//  - without delays (a router or the far end does not take part) the hop table decides when the hops are known.

#pragma once

#include <cstdint>
#include <optional>

#include "host/core/policy/congestion_window_limit_hop.hpp"
#include "host/core/policy/generated/policies.hpp"
#include "host/core/policy/path_measurement.hpp"

namespace perhop::policy {

/// Corollary 2 before rounding and limits. @return nothing when the path has no forward delay to divide by
std::optional<double> delay_bound_packets(const path_measurement& path);

class congestion_window_limit_delay {
public:
  explicit congestion_window_limit_delay(cwl_rounding rounding = cwl_rounding::half_up,
                                         std::uint32_t ceiling_packets = default_ceiling_packets);

  void on_path(const path_measurement& path);
  std::optional<std::uint32_t> limit_packets() const { return limit_packets_; }

private:
  cwl_rounding rounding_;
  std::uint32_t ceiling_packets_;
  std::optional<std::uint32_t> limit_packets_;
};

}  // namespace perhop::policy
