// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a sender under the project's combined policy finds out about its path beyond what the path header tells: how many packets a TCP
// ACK may stand for (airtime_window.hpp), whether it has the path for itself (path_share.hpp), and how fast the path takes packets.
//
//   up to 3 hops    not paced, and nothing to try
//   4 hops          S/2; S/4 on a shared path. Only the first and the last hop can be in use at once, so there is nothing to try: a pace
//                   at which a window leaves almost as one burst costs nothing under any reception rule, while an unpaced burst loses a
//                   tenth where interference adds up
//   5 hops or more  what trials find (pace_trials.hpp). None are made on a shared path: flows would see each other's
//
// A path with another number of hops is another path. Nothing is told of a path with a wired part, whose deliveries say little of the
// wireless one.
//
// Source: none; ours.

#pragma once

#include <cstdint>

#include "host/core/policy/pace_trials.hpp"
#include "host/core/policy/path_measurement.hpp"
#include "host/core/policy/path_share.hpp"
#include "host/core/policy/time.hpp"

namespace perhop::policy {

class path_tuner {
public:
  /// The sender sent a full packet.
  void on_sent(const idle_exchange& idle) { idle_ = idle; }

  /// A TCP ACK was the first to acknowledge so many bytes. @param path as measured with it, `tuning` as told last
  void on_tcp_ack(time_us now, std::uint32_t bytes, std::uint32_t segment_bytes, const path_measurement& path);

  /// What was found holds no more; what packets cost does.
  void forget_path() { start(0, 0); }

  path_tuning tuning() const;

private:
  void start(time_us now, std::uint32_t hops);

  idle_exchange idle_;
  time_us last_tcp_ack_ = 0;
  std::uint32_t hops_ = 0;  // 0: nothing found
  path_share share_;
  pace_trials trials_;
};

}  // namespace perhop::policy
