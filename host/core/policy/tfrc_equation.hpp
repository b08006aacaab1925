// SPDX-License-Identifier: GPL-2.0-or-later
//
// TCP's throughput as a function of loss, on which TFRC (TCP friendly rate control) rests:
//
//   X = s / (R sqrt(2 b p / 3) + t_RTO * 3 sqrt(3 b p / 8) * p * (1 + 32 p^2))    bytes per second
//
// Source: K. Chen, K. Nahrstedt, "Limitations of equation-based congestion control in mobile ad hoc networks", equation (1),
// with t_RTO = max(4 R, 1 s). RFC 5348, section 3.1, has t_RTO = max(4 R, ...) = 4 R: the other profile. Differences: p is
// held within [1e-8, 1], so that no loss gives a large rate and not infinity; a round trip of 0 counts as 1 us.

#pragma once

#include <cstdint>

namespace perhop::policy {

enum class tfrc_profile : std::uint8_t {
  paper,   ///< t_RTO = max(4 R, 1 s); no history discounting
  rfc5348  ///< t_RTO = 4 R; history discounting
};

struct tfrc_equation_input {
  double packet_bytes = 1000;
  double round_trip_s = 0.1;
  double loss_event_rate = 0;      ///< p
  double packets_per_tcp_ack = 1;  ///< b
};

/// @return bytes per second
double tfrc_rate(const tfrc_equation_input& input, tfrc_profile profile = tfrc_profile::paper);

/// The loss event rate at which the equation gives `rate`: for the first loss interval (RFC 5348, 6.3.1). By bisection.
double tfrc_loss_event_rate(double bytes_per_s, const tfrc_equation_input& input, tfrc_profile profile = tfrc_profile::paper);

}  // namespace perhop::policy
