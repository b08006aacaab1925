// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/tfrc_equation.hpp"

#include <algorithm>
#include <cmath>

namespace perhop::policy {

namespace {

constexpr double least_loss_event_rate = 1e-8;
constexpr double least_round_trip_s = 1e-6;
constexpr double least_timeout_s = 1.0;

}  // namespace

double tfrc_rate(const tfrc_equation_input& input, tfrc_profile profile) {
  const double round_trip_s = std::max(input.round_trip_s, least_round_trip_s);
  const double p = std::clamp(input.loss_event_rate, least_loss_event_rate, 1.0);
  const double b = std::max(input.packets_per_tcp_ack, 1.0);
  const double timeout_s = profile == tfrc_profile::paper ? std::max(4 * round_trip_s, least_timeout_s) : 4 * round_trip_s;
  const double no_timeouts = round_trip_s * std::sqrt(2 * b * p / 3);
  const double timeouts = timeout_s * 3 * std::sqrt(3 * b * p / 8) * p * (1 + 32 * p * p);
  return input.packet_bytes / (no_timeouts + timeouts);
}

double tfrc_loss_event_rate(double bytes_per_s, const tfrc_equation_input& input, tfrc_profile profile) {
  // The rate falls as p rises; halved in p's logarithm, as p spans decades.
  double low = std::log(least_loss_event_rate);
  double high = 0;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    tfrc_equation_input tried = input;
    tried.loss_event_rate = std::exp(middle);
    (tfrc_rate(tried, profile) > bytes_per_s ? low : high) = middle;
  }
  return std::exp((low + high) / 2);
}

}  // namespace perhop::policy
