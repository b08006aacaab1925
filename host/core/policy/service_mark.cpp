// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/policy/service_mark.hpp"

#include <algorithm>

namespace perhop::policy {

namespace {

// A packet behind this one is no queue: two arrive together when a TCP ACK lets two go. CoDel does not act on one packet either.
constexpr std::uint32_t packets_of_no_queue = 1;

}  // namespace

bool is_congested(const ecn_config& config, const met_on_the_way& met) {
  if (config.kind != ecn_kind::service) return false;
  const std::uint64_t queue_packets = std::max(met.before_it, packets_of_no_queue) - packets_of_no_queue;
  return met.total_us + queue_packets * met.here_us > std::uint64_t{config.target_ms} * 1000 * met.hops;
}

}  // namespace perhop::policy
