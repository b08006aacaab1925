// SPDX-License-Identifier: GPL-2.0-or-later
//
// Delay window limit of TCP-DCA: how many data packets a receiver may wait for before it sends one TCP ACK.
//
// Source: J. Chen, Y. Z. Lee, M. Gerla, M. Y. Sanadidi, "TCP with Delayed Ack for Wireless Networks", Table I (by hops)
// and section V-B (by end-to-end delay, for paths that are partly wired). Ours differs from the source, or fills a gap:
//  - for 3 < h <= 9 the text says "4 or 5" and the table 5: 5;
//  - hops unknown: 3, "always a good choice since no packet loss occurs regardless of path length" (section IV-A);
//  - the delay rule standing alone: 5 above 80 ms, the whole window up to 80 ms ("a large delay window limit"),
//    5 while the delay is unknown;
//  - both rules together: the smaller of the two limits. The paper says "5 above 80 ms, else by hops", which would raise
//    the window of a long wireless path (more than 10 hops take more than 80 ms) from 3 to 5;
//  - the rule `airtime` is ours: airtime_window.hpp.

#pragma once

#include <cstdint>

#include "host/core/policy/generated/policies.hpp"

namespace perhop::policy {

/// The limit is the sender's whole window: all packets in flight.
inline constexpr std::uint32_t whole_window_packets = UINT32_MAX;

/// For paths of middle length, for long delays, and while it is unknown what the sender has in flight.
inline constexpr std::uint32_t middle_window_packets = 5;

/// The smallest round trip above which the delay rule limits the window.
inline constexpr std::uint32_t long_round_trip_us = 80'000;

/// Table I. @param forward_hops 0: unknown
std::uint32_t dca_hop_window_packets(std::uint32_t forward_hops);

/// Section V-B. @param min_rtt_us 0: unknown
std::uint32_t dca_delay_window_packets(std::uint32_t min_rtt_us);

/// What the rule says of this path; 0: unknown, for both values.
std::uint32_t dca_window_limit_packets(dca_window_rule rule, std::uint32_t forward_hops, std::uint32_t min_rtt_us);

}  // namespace perhop::policy
