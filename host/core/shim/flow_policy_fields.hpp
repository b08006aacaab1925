// SPDX-License-Identifier: GPL-2.0-or-later
//
// The object `policy` of run.json and of a daemon's configuration, field by field: names, ranges and what they configure.
// Whoever reads one brings the reader of its own format, and the words in which that refuses:
//
//   word(key, what, words, otherwise)   one of `words`      count(key, otherwise, most)   a whole number up to `most`
//   flag(key, otherwise)                true or false       refuse(key, problem)          does not come back
//   finish()                            refuses what was not asked for

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "host/core/shim/flow_policy.hpp"

namespace perhop::shim {

/// More is taken for a slip: no path of radios holds so many.
inline constexpr std::uint32_t most_cwl_packets = 1024;
/// A path header counts up to so many packets in flight.
inline constexpr std::uint32_t most_tcp_ack_window_packets = 255;

/// What only one kind has may be there for others too, at its default.
template <typename fields>
flow_policy read_flow_policy(fields& from) {
  const auto word = [&from]<typename choice, std::size_t many>(const char* key, std::string_view what,
                                                               const policy::words<choice, many>& words, choice otherwise) {
    return from.word(key, what, std::span<const std::pair<std::string_view, choice>>(words), otherwise);
  };
  flow_policy found = no_policy;
  found.cwl.kind = word("cwl", "policy", policy::cwl_words, policy::cwl_kind::none);
  const std::uint32_t cwl_packets = from.count("cwl_packets", 0, most_cwl_packets);
  if (found.cwl.kind == policy::cwl_kind::fixed) {
    if (cwl_packets == 0) from.refuse("cwl_packets", "must be at least 1 with cwl fixed");
    found.cwl.fixed_packets = cwl_packets;
  }
  found.cwl.rounding = word("round", "rounding", policy::cwl_rounding_words, policy::cwl_rounding::half_up);

  found.tcp_ack.kind = word("tcp_ack", "TCP ACK policy", policy::tcp_ack_words, policy::tcp_ack_kind::every);
  found.tcp_ack.fixed_window_packets = from.count("tcp_ack_window", 0, most_tcp_ack_window_packets);
  found.tcp_ack.whole_window = from.flag("tcp_ack_whole_window", false);
  found.tcp_ack.rule = word("tcp_ack_rule", "rule", policy::dca_window_rule_words, policy::dca_window_rule::hop);
  found.tcp_ack.tcp_ack_retransmission = from.flag("tcp_ack_retransmission", true);
  const auto only_dca = [&](const char* key, bool set) {
    if (set && found.tcp_ack.kind != policy::tcp_ack_kind::dca) from.refuse(key, "has a meaning with tcp_ack dca only; leave it out");
  };
  only_dca("tcp_ack_window", found.tcp_ack.fixed_window_packets != 0);
  only_dca("tcp_ack_whole_window", found.tcp_ack.whole_window);
  only_dca("tcp_ack_retransmission", !found.tcp_ack.tcp_ack_retransmission);
  only_dca("tcp_ack_rule", found.tcp_ack.rule != policy::dca_window_rule::hop);
  if (found.tcp_ack.fixed_window_packets != 0 && found.tcp_ack.whole_window) {
    from.refuse("tcp_ack_window", "must be 0 with tcp_ack_whole_window");
  }

  found.pacing.kind = word("pacing", "pacing", policy::pacing_words, policy::pacing_kind::none);
  from.finish();
  return found;
}

}  // namespace perhop::shim
