// SPDX-License-Identifier: GPL-2.0-or-later
/// Congestion marks by service time: which packets a node marks as having met congestion (CE of RFC 3168), so that a TCP that knows ECN
/// lowers its window before a queue is long.
///
/// What a packet has met is the service time of the hops so far, as the MACs measured it (contention, exchange, attempts: the path
/// header carries the sum), this hop included, and of those packets that wait before it here, but for one. It is marked where that exceeds
/// a target times the hops.
///
/// Sources: K. Nichols and V. Jacobson, "Controlling Queue Delay", ACM Queue 2012 (CoDel, RFC 8289): time in place of bytes, and one
/// target for all rates; B. Briscoe and others, RFC 9332 section 2.4 (L4S): marks by a step, at once, so that the sender smooths; M.
/// Alizadeh and others, "Data Center TCP", SIGCOMM 2010: marks on arrival by what is there.
/// Ours differs from the sources:
///  - a queue's sojourn on a wire is known when a packet leaves it; here it is what the MAC's averages say of the packets before it, so
///    that the mark can be made on arrival, when the packet's bytes are;
///  - the medium is a queue shared by the hops near each other, in which packets wait at other nodes: the hops before count, too;
///  - the target grows with the hops, because the least service time does;
///  - there is no interval: CoDel waits one for a burst to pass, and a window of few packets has none.
#pragma once

#include <cstdint>

#include "host/core/policy/generated/policies.hpp"

namespace perhop::policy {

/// What to mark. Fields that the kind does not use are ignored.
struct ecn_config {
  ecn_kind kind = ecn_kind::none;
  std::uint32_t target_ms = 20;  ///< for `service`

  friend bool operator==(const ecn_config&, const ecn_config&) = default;
};

/// What a packet has met when a node queues it.
struct met_on_the_way {
  std::uint32_t hops = 0;       ///< radio hops, the one to come included
  std::uint32_t total_us = 0;   ///< of their service times
  std::uint32_t here_us = 0;    ///< of that: the hop to come
  std::uint32_t before_it = 0;  ///< packets that this node sends first
};

bool is_congested(const ecn_config& config, const met_on_the_way& met);

}  // namespace perhop::policy
