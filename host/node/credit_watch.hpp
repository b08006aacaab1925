// SPDX-License-Identifier: GPL-2.0-or-later
/// Whether the MAC is done, in time, with what it was given. It takes packets in order, so what is watched is the one that it
/// got first: as long as that one changes, the MAC works, however long its queue.
///
/// Looked at once a second, and judged by the number of looks: a daemon that was stopped for a minute has not seen the MAC fail.
#pragma once

#include <cstdint>
#include <optional>

#include "host/core/policy/time.hpp"

namespace perhop::node {

class credit_watch {
public:
  static constexpr policy::time_us look_us = 1'000'000;
  /// Looks at the same packet, one after the other, that make an incident: 5 s.
  static constexpr unsigned patience_looks = 5;

  /// The packet that the MAC was given first is this one now; nothing: it has none.
  void on_first(policy::time_us now, std::optional<std::uint32_t> cookie) {
    if (cookie == watched_) return;
    watched_ = cookie;
    looks_ = 0;
    next_look_ = now + look_us;
  }

  /// A packet was completed: the MAC works.
  void on_completion() { failed_ = false; }

  /// When to look; nothing: there is nothing to see.
  std::optional<policy::time_us> next_look() const { return watched_ || failed_ ? std::optional(next_look_) : std::nullopt; }

  /// @return true: the MAC has kept a packet for too long. Let go of it and begin anew
  bool look(policy::time_us now) {
    if (!next_look() || now < next_look_) return false;
    next_look_ = now + look_us;
    if (++looks_ < patience_looks) return false;
    looks_ = 0;
    // Where nothing waits, nothing says that the MAC still fails.
    failed_ = watched_.has_value();
    return failed_;
  }

  /// From the incident until a packet is completed, or none has waited for as long.
  bool failed() const { return failed_; }

private:
  std::optional<std::uint32_t> watched_;
  unsigned looks_ = 0;
  policy::time_us next_look_ = 0;
  bool failed_ = false;
};

}  // namespace perhop::node
