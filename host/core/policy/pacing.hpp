// SPDX-License-Identifier: GPL-2.0-or-later
//
// When a sender may release its next packet. One object of this class belongs to one direction of one connection.
//
//   window    a window of packets spread over the round trip     pacing_window.hpp
//   adaptive  TCP-AP                                             tcp_adaptive_pacing.hpp
//   path      one packet a period of the path's slowest stretch  pacing_path.hpp
//   own       what a policy of one's own says                    pacing_own.hpp
//   exact     nothing: the host tells the sender's TCP a rate    exact_sender.hpp
//
// `exact` gives TCP the rate that the routers of EXACT allow the flow, as the most that it may send at: Linux' SO_MAX_PACING_RATE (E.
// Dumazet, "net: introduce SO_MAX_PACING_RATE", Linux 3.13, 2013). EXACT itself is for UDP (K. Chen, K. Nahrstedt, "Limitations of
// equation-based congestion control in mobile ad hoc networks"); that TCP is paced by it is ours.
//
// Credit does not add up: after a pause the first packet goes at once and the next one an interval later. As long as the
// policy knows no interval, packets go at once. An interval is never longer than 1 s, whatever a header claims.

#pragma once

#include <cstdint>
#include <memory>
#include <variant>

#include "host/core/policy/generated/policies.hpp"
#include "host/core/policy/pacing_own.hpp"
#include "host/core/policy/pacing_path.hpp"
#include "host/core/policy/pacing_window.hpp"
#include "host/core/policy/path_measurement.hpp"
#include "host/core/policy/tcp_adaptive_pacing.hpp"
#include "host/core/policy/time.hpp"

namespace perhop::policy {

/// What to build. Fields that the kind does not use are ignored.
struct pacing_config {
  pacing_kind kind = pacing_kind::none;
  std::uint32_t interval_percent = 100;  ///< of the interval that the policy says
  adaptive_pacing_config adaptive{};     ///< for `adaptive`

  friend bool operator==(const pacing_config&, const pacing_config&) = default;
};

class pacer {
public:
  static constexpr time_us max_interval_us = 1'000'000;

  pacer() = default;  ///< kind `none`
  /// @param own of kind `own`; outlives this
  explicit pacer(const pacing_config& config, own_policy* own = nullptr);

  /// A round trip of the path was measured. @param packets_per_tcp_ack data packets that one TCP ACK stands for, at least 1
  void on_path(const path_measurement& path, std::uint32_t packets_per_tcp_ack = 1);

  void on_rtt(std::uint32_t rtt_us);

  /// What may be in flight now. 0: unknown
  void on_window(std::uint32_t packets);

  /// When this packet may go, now or later; the time is then taken. Packets of a flow go in the order of the calls.
  /// @param bytes payload; a packet shorter than the longest so far takes less of `window`'s interval
  time_us release_time(time_us now, std::uint32_t bytes);

  /// When a packet that takes no time of its own (a FIN) may go, so that it does not overtake others.
  time_us earliest(time_us now) const { return now > next_release_ ? now : next_release_; }

  /// Time from a full packet to the next; 0: not paced, or not known yet.
  time_us interval_us() const;

  bool paces() const { return !std::holds_alternative<std::monostate>(policy_); }

private:
  // The samples of `adaptive` are nine tenths of a pacer: flows without it need not carry them.
  std::variant<std::monostate, pacing_window, std::unique_ptr<tcp_adaptive_pacing>, pacing_path, pacing_own> policy_;
  std::uint32_t interval_percent_ = 100;
  std::uint32_t longest_bytes_ = 1;
  time_us next_release_ = 0;
};

}  // namespace perhop::policy
