// SPDX-License-Identifier: GPL-2.0-or-later
/// Holds SYNs that this host's TCP repeats too early for a radio whose time passes slower than the kernel's clock (slow_down).
///
/// TCP's time-out of data is held by a route (rto_min), but that of a SYN is a second of the kernel's clock: over a virtual radio 600 times
/// slower, a SYN would go out seven times before its answer could be there, each copy would be answered, and each answer acknowledged. Here
/// no copy leaves sooner behind the last one than TCP repeats data, in the radio's time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "host/core/policy/time.hpp"
#include "host/core/shim/packet_view.hpp"

namespace perhop::node {

class syn_pace {
public:
  static constexpr policy::time_us least_us = 200'000;  ///< TCP_RTO_MIN of Linux, as `perhop live` has it in routes
  static constexpr std::size_t most_syns = 1024;        ///< that are remembered; copies of older ones go

  /// @param holds false: the kernel's clock is the radio's
  explicit syn_pace(bool holds) : holds_(holds) {}

  /// A packet of this host's IP. @return true: it is a copy of a SYN, or of a SYN's answer, that has just gone
  bool is_early(policy::time_us now, const shim::ip_packet_view& view) {
    if (!holds_ || !view.tcp.syn) return false;
    while (!gone_.empty() && (now - gone_.front().at >= least_us || gone_.size() >= most_syns)) gone_.pop_front();
    const auto is_copy = [&view](const syn& each) { return each.flow == view.flow && each.sequence == view.tcp.sequence; };
    if (std::ranges::any_of(gone_, is_copy)) return true;
    gone_.push_back({.flow = view.flow, .sequence = view.tcp.sequence, .at = now});
    return false;
  }

private:
  struct syn {
    shim::flow_key flow;
    std::uint32_t sequence = 0;
    policy::time_us at = 0;
  };

  bool holds_;
  std::deque<syn> gone_;  ///< the oldest first
};

}  // namespace perhop::node
