// SPDX-License-Identifier: GPL-2.0-or-later
/// Whether the MAC is done, in time, with what it was given. It takes packets in order, so what is watched is the one that it
/// got first: as long as that one changes, the MAC works, however long its queue.
///
/// Looked at once a second, and judged by the number of looks: a daemon that was stopped for a minute has not seen the MAC fail. Where
/// the MAC's own clock is known, as much of its time must have passed, too: virtual radios run a hundred times slower than real ones, and
/// a packet that nobody answers is with the MAC for some 30 ms.
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
  /// Of the MAC's own time: less by a second, as it is known by the driver's beats and not by the looks.
  static constexpr std::uint32_t patience_mac_us = (patience_looks - 1) * look_us;

  /// The packet that the MAC was given first is this one now; nothing: it has none.
  /// @param mac_us the MAC's own clock, the low half; nothing: it is this host's
  void on_first(policy::time_us now, std::optional<std::uint32_t> cookie, std::optional<std::uint32_t> mac_us) {
    if (cookie == watched_) return;
    watched_ = cookie;
    begin(now, mac_us);
  }

  /// A packet was completed: the MAC works.
  void on_completion() { failed_ = false; }

  /// When to look; nothing: there is nothing to see.
  std::optional<policy::time_us> next_look() const { return watched_ || failed_ ? std::optional(next_look_) : std::nullopt; }

  /// @return true: the MAC has kept a packet for too long. Let go of it and begin anew
  bool look(policy::time_us now, std::optional<std::uint32_t> mac_us) {
    if (!next_look() || now < next_look_) return false;
    next_look_ = now + look_us;
    if (++looks_ < patience_looks || (mac_us && since_mac_us_ && *mac_us - *since_mac_us_ < patience_mac_us)) return false;
    begin(now, mac_us);
    // Where nothing waits, nothing says that the MAC still fails.
    failed_ = watched_.has_value();
    return failed_;
  }

  /// From the incident until a packet is completed, or none has waited for as long.
  bool failed() const { return failed_; }

private:
  void begin(policy::time_us now, std::optional<std::uint32_t> mac_us) {
    looks_ = 0;
    since_mac_us_ = mac_us;
    next_look_ = now + look_us;
  }

  std::optional<std::uint32_t> watched_;
  std::optional<std::uint32_t> since_mac_us_;
  unsigned looks_ = 0;
  policy::time_us next_look_ = 0;
  bool failed_ = false;
};

}  // namespace perhop::node
