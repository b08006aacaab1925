// SPDX-License-Identifier: GPL-2.0-or-later
/// What the medium has told about a node that its MAC core has not been shown yet, because it cannot change what the core
/// does next; and the fewest indications that bring the core to where all of them would have brought it.
///
/// A contending core counts what its packet waits for: busy carrier, reserved medium, idle time. What is held for it is one
/// stretch without an idle tick, and such a stretch is shown as if all its carrier had come first and all its reservation
/// then, or the other way round: the counts are sums, and the back-off stands still either way. The next idle tick ends the stretch:
/// whoever holds shows it before the carrier's next edge.
///
/// A core that does not contend counts nothing. Only how long the medium stays reserved, since when it has been idle, and whether
/// the last frame was understood matter to it later.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/air/types.hpp"

namespace perhop::air {

/// Most microseconds that a Duration says.
inline constexpr tick longest_duration_us = 0x7fff;

/// What the core knows of the medium.
struct known_medium {
  bool carrier = false;     ///< busy
  bool bad_end = false;     ///< the last frame that ended was not understood: it will wait EIFS
  tick idle_from = 0;       ///< the carrier's last end
  tick reserved_until = 0;  ///< NAV and own transmission; `never` while it is about to send
  bool nav_stands = true;   ///< no reset may end the NAV earlier: reserved_until has it
};

/// An indication as it is shown.
struct showing {
  tick at = 0;
  bool carrier = false;
  bool end = false;  ///< a frame for somebody else is over, with
  bool good = false;
  std::uint16_t duration_us = 0;
};

/// In the order of time.
class showings {
public:
  void add(const showing& next) { showings_[count_++] = next; }
  const showing* begin() const { return showings_.data(); }
  const showing* end() const { return showings_.data() + count_; }

private:
  std::array<showing, 4> showings_;
  std::size_t count_ = 0;
};

class deferred_indications {
public:
  bool any() const { return any_; }
  void clear() { any_ = false; }
  /// The level after all that is held. As the next three, only if there is any.
  bool carrier() const { return carrier_; }
  /// From when on nothing keeps the medium, if the carrier is idle.
  tick free_from() const { return std::max(nav_end_, idle_from_); }
  /// From when on the back-off has stood still.
  tick stands_from() const { return base_; }
  /// The time of the first indication.
  tick first() const { return first_; }
  /// Whether the core will wait EIFS.
  bool bad_end(const known_medium& known) const { return has_end_ ? bad_end_ : known.bad_end; }

  /// The carrier has changed.
  void hold_edge(const known_medium& known, tick now, bool busy) {
    open(known, now);
    pass(now);
    set_carrier(now, busy);
  }

  /// A frame for somebody else is over. @param nav_end until when it reserves the medium, if after `now`
  void hold_end(const known_medium& known, tick now, bool bad, tick nav_end, bool busy) {
    open(known, now);
    pass(now);
    if (nav_end > now && nav_end > nav_end_) {
      nav_end_ = nav_end;
      raised_ = true;
    }
    has_end_ = true;
    bad_end_ = bad;
    if (busy != carrier_) set_carrier(now, busy);
  }

  /// What to show a contending core. @param now an edge of this very tick is not among them: it comes with the evaluation
  showings for_contending(const known_medium& known, tick now) const {
    showings shown;
    bool level = known.carrier, bad = known.bad_end;
    if (raised_ && nav_end_ >= seen_) {
      tick reserve_at = first_;
      if (busy_us_ != 0) {
        if (!level) shown.add({.at = first_, .carrier = true});
        reserve_at = base_ + busy_us_;
      }
      shown.add(reservation(reserve_at, carrier_, nav_end_));
      level = carrier_;
      bad = false;
    } else if (raised_) {
      // The carrier outlasted the reservation.
      shown.add(reservation(first_, true, base_ + reserved_us_));
      level = true;
      bad = false;
    } else if (busy_us_ != 0 && !level) {
      shown.add({.at = first_, .carrier = true});
      level = true;
    }
    if (has_end_ && bad_end_ != bad) {
      shown.add({.at = last_, .carrier = carrier_, .end = true, .good = !bad_end_});
    } else if (level != carrier_ && last_ != now) {
      shown.add({.at = last_, .carrier = carrier_});
    }
    return shown;
  }

  /// What to show a core that does not contend, before `now`, of since when the medium has been idle.
  /// @param spaced_us idle for so long, it has been idle for long enough
  showings for_idle(const known_medium& known, tick now, tick spaced_us) const {
    showings shown;
    if (nav_end_ > now) return shown;  // idle time will count from the reservation's end
    if (carrier_ && busy_from_ < now) {
      if (!known.carrier) shown.add({.at = busy_from_, .carrier = true});
      return shown;
    }
    const tick free = free_from();
    if (known.carrier) {
      if (free < now) shown.add({.at = free, .carrier = false});
    } else if (free > std::max(known.reserved_until, known.idle_from) && !(known.nav_stands && now - free >= spaced_us)) {
      shown.add({.at = free - 1, .carrier = true});
      if (free < now) shown.add({.at = free, .carrier = false});
    }
    return shown;
  }

  /// Likewise, the ends that it has to be told of now, in place of those at their own times.
  showings ends_for_idle(const known_medium& known, tick now) const {
    showings shown;
    bool bad = known.bad_end;
    if (raised_ && nav_end_ > now) {
      shown.add(reservation(now, carrier_, nav_end_));
      bad = false;
    }
    if (has_end_ && bad_end_ != bad) shown.add({.at = now, .carrier = carrier_, .end = true, .good = !bad_end_});
    return shown;
  }

private:
  static showing reservation(tick at, bool carrier, tick until) {
    return {.at = at, .carrier = carrier, .end = true, .good = true, .duration_us = static_cast<std::uint16_t>(until - at)};
  }

  void open(const known_medium& known, tick now) {
    last_ = now;
    if (any_) return;
    any_ = true;
    first_ = now;
    nav_end_ = known.reserved_until;
    base_ = seen_ = std::max(now, nav_end_);
    busy_us_ = reserved_us_ = 0;
    carrier_ = known.carrier;
    idle_from_ = known.idle_from;
    raised_ = has_end_ = bad_end_ = false;
  }

  void pass(tick now) {
    if (now <= seen_) return;
    const tick reserved_us = nav_end_ > seen_ ? std::min(now, nav_end_) - seen_ : 0;
    reserved_us_ += reserved_us;
    if (carrier_) busy_us_ += now - seen_ - reserved_us;
    seen_ = now;
  }

  void set_carrier(tick now, bool busy) {
    carrier_ = busy;
    (busy ? busy_from_ : idle_from_) = now;
  }

  bool any_ = false;
  bool carrier_ = false;
  bool raised_ = false;   // a frame reserves the medium for longer than the core knows
  bool has_end_ = false;  // a frame was heard, and the last one was
  bool bad_end_ = false;  // not understood
  tick first_ = 0, last_ = 0;
  tick nav_end_ = 0;                    // until when the medium is reserved by all that is known and held
  tick idle_from_ = 0, busy_from_ = 0;  // the last edges
  // From base_, which what the core knows to be reserved comes before, to seen_: carrier and reservation.
  tick base_ = 0, seen_ = 0;
  tick busy_us_ = 0, reserved_us_ = 0;
};

}  // namespace perhop::air
