// SPDX-License-Identifier: GPL-2.0-or-later
/// A row of AODV's route table (RFC 3561, 2 and 6.2), and the state of the search for its destination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>
#include <set>

#include "host/core/policy/time.hpp"
#include "host/core/wire/ipv4_address.hpp"

namespace perhop::routing {

using policy::time_us;
using wire::ipv4_address;

/// Sequence numbers go round (RFC 3561, 6.1).
inline bool is_newer(std::uint32_t one, std::uint32_t other) { return static_cast<std::int32_t>(one - other) > 0; }

struct aodv_route {
  enum class condition : std::uint8_t {
    down,
    up,
    in_repair,  ///< a link of it failed here; packets wait while this node looks for another way
  };

  condition is = condition::down;
  std::optional<std::uint32_t> sequence{};  ///< of the destination; nothing: never told
  std::uint8_t hops = 0;                    ///< unless it is down
  ipv4_address next_hop = 0;                ///< unless it is down
  time_us expires_us = 0;
  std::set<ipv4_address> precursors{};  ///< neighbours that send over it

  // The search for its destination.
  std::optional<time_us> search_ends_us{};  ///< no request before that; nothing: there has been none since the last answer
  unsigned searches = 0;                    ///< of the whole network, since the last answer
  std::uint8_t last_ttl = 0;                ///< of a request; after an answer, the hops that it told
  std::optional<std::uint8_t> lost_hops{};  ///< it had before it went down; nothing: it never did
  time_us asked_us = 0;
  std::deque<time_us> latencies{};  ///< a hop, of the last answers to this node

  /// Worth changing to what was told of its destination just now.
  bool is_worse_than(std::uint32_t told_sequence, std::uint8_t told_hops) const {
    if (!sequence || is_newer(told_sequence, *sequence)) return true;
    return told_sequence == *sequence && (is == condition::down || told_hops < hops);
  }

  void set(std::uint32_t told_sequence, std::uint8_t told_hops, ipv4_address neighbour, time_us until) {
    is = condition::up;
    sequence = told_sequence;
    hops = told_hops;
    next_hop = neighbour;
    expires_us = until;
  }

  void take_down() {
    if (is == condition::down) return;
    lost_hops = hops;
    is = condition::down;
  }

  /// So that nobody's older route replaces it.
  void outdate() {
    if (sequence) ++*sequence;
  }

  /// Somebody answered.
  void end_search() {
    searches = 0;
    search_ends_us.reset();
    last_ttl = hops;
  }

  /// There and back over one hop, for a request and its answer. @param otherwise when none has been answered
  time_us hop_latency(time_us otherwise) const {
    return latencies.empty() ? otherwise : std::accumulate(latencies.begin(), latencies.end(), time_us{0}) / latencies.size();
  }
};

}  // namespace perhop::routing
