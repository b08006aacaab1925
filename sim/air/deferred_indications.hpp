// SPDX-License-Identifier: GPL-2.0-or-later
/// What the medium has told about a node that its MAC core has not been shown yet, because it cannot change what the core does next;
/// and the summary that brings the core to where all of it would have brought it, in the clock of its next ticks.
///
/// A contending core counts what its packet waits for: reserved medium, busy carrier, idle time; and its back-off counts slots. It is told
/// the sums: what each microsecond is, is said by tick_shares_pkg.sv and backoff_counter.sv, and `pass` says the same. That a core
/// that is told is where one is that was shown, is proved (gateware/formal/summary_top.sv).
///
/// A core that does not contend counts nothing. Only how long the medium stays reserved, since when it has been idle, and whether
/// the last frame was understood matter to it later.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/air/medium_summary.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

/// What the core knows of the medium.
struct known_medium {
  bool carrier = false;     ///< busy
  bool bad_end = false;     ///< the last frame that ended was not understood: it will wait EIFS
  tick idle_from = 0;       ///< the carrier's last end
  tick reserved_until = 0;  ///< NAV and own transmission; `never` while it is about to send
  bool nav_stands = true;   ///< no reset may end the NAV earlier: reserved_until has it
};

/// What a core waits for on an idle medium. Without DCF the first two are 0.
struct idle_waits {
  std::uint32_t difs_us = 0;
  std::uint32_t eifs_us = 0;
  std::uint32_t slot_us = 1;
};

class deferred_indications {
public:
  bool any() const { return any_; }
  void clear() { any_ = false; }
  /// The level after all that is held. As the next four, only if there is any.
  bool carrier() const { return carrier_; }
  /// The carrier's last end.
  tick idle_from() const { return idle_from_; }
  /// From when on the core does not know how the medium stands. What it knows to be reserved comes before.
  tick told_from() const { return base_; }
  /// Whether the core will wait EIFS.
  bool bad_end() const { return bad_end_; }

  /// When a back-off is over of which `slots` were left at told_from(), if the carrier is idle and nothing more is heard.
  tick access_at(const idle_waits& waits, std::uint32_t slots) const {
    const std::uint32_t idle_us = idle_us_at(seen_), space_us = bad_end_ ? waits.eifs_us : waits.difs_us;
    const std::uint32_t ifs_us = space_us > idle_us ? space_us - idle_us : 0;
    const std::uint32_t slots_us = (slots - std::min(slots, slots_)) * waits.slot_us;
    return std::max(seen_, nav_end_) + ifs_us + (ifs_us == 0 && slots_us != 0 ? slots_us - phase_us_ : slots_us);
  }

  /// The carrier has changed. @param contends the core does
  void hold_edge(const known_medium& known, bool contends, const idle_waits& waits, tick now, bool busy) {
    open(known, contends, now);
    pass(waits, now);
    set_carrier(now, busy);
  }

  /// A frame for somebody else is over. @param nav_end until when it reserves the medium, if after `now`
  void hold_end(const known_medium& known, bool contends, const idle_waits& waits, tick now, bool bad, tick nav_end, bool busy) {
    open(known, contends, now);
    pass(waits, now);
    if (nav_end > now && nav_end > nav_end_) {
      nav_end_ = nav_end;
      raised_ = true;
    }
    heard_ = true;
    bad_end_ = bad;
    if (busy != carrier_) set_carrier(now, busy);
  }

  /// What to tell the core in a clock that ends at `now`, not before the last that is held.
  medium_summary summary(const idle_waits& waits, tick now, std::uint32_t ticks) {
    pass(waits, now);
    const bool idle = !carrier_ || busy_from_ == now;  // an edge of this very tick comes with its end
    return {.us = now > base_ ? static_cast<std::uint32_t>(std::min<tick>(now - base_, ticks)) : 0,
            .nav_us = nav_us_,
            .cca_us = cca_us_,
            .ifs_us = ifs_us_,
            .slots = static_cast<std::uint16_t>(std::min(slots_, most_slots)),
            .phase_us = static_cast<std::uint16_t>(phase_us_),
            .spaced = spaced_,
            .idle_us = static_cast<std::uint16_t>(idle ? std::min(idle_us_at(now), most_idle_us) : 0),
            .nav_left_us = static_cast<std::uint16_t>(raised_ && nav_end_ > now ? nav_end_ - now : 0),
            .heard = heard_,
            .bad = bad_end_};
  }

private:
  // What the core's registers hold.
  static constexpr std::uint32_t most_slots = 0x3ff, most_idle_us = 0xffff;

  void open(const known_medium& known, bool contends, tick now) {
    if (any_) return;
    any_ = true;
    counts_ = contends;
    carrier_ = known.carrier;
    bad_end_ = known.bad_end;
    raised_ = heard_ = spaced_ = false;
    nav_end_ = known.reserved_until;
    base_ = seen_ = std::max(now, nav_end_);
    idle_from_ = known.idle_from;
    busy_from_ = 0;
    nav_us_ = cca_us_ = ifs_us_ = slots_ = phase_us_ = 0;
  }

  /// If no carrier is there.
  std::uint32_t idle_us_at(tick now) const {
    const tick free_from = std::max(nav_end_, idle_from_);
    return now > free_from ? static_cast<std::uint32_t>(std::min<tick>(now - free_from, ~std::uint32_t{0})) : 0;
  }

  void pass(const idle_waits& waits, tick now) {
    if (!counts_ || now <= seen_) return;
    const auto reserved_us = static_cast<std::uint32_t>(nav_end_ > seen_ ? std::min(now, nav_end_) - seen_ : 0);
    const std::uint32_t free_us = static_cast<std::uint32_t>(now - seen_) - reserved_us;
    nav_us_ += reserved_us;
    if (carrier_) {
      cca_us_ += free_us;
      phase_us_ = 0;
    } else {
      const std::uint32_t before_us = idle_us_at(seen_), space_us = bad_end_ ? waits.eifs_us : waits.difs_us;
      const std::uint32_t ifs_us = std::min(free_us, space_us > before_us ? space_us - before_us : 0);
      ifs_us_ += ifs_us;
      if (free_us == ifs_us || ifs_us != 0 || reserved_us != 0) phase_us_ = 0;
      phase_us_ += free_us - ifs_us;
      slots_ += phase_us_ / waits.slot_us;
      phase_us_ %= waits.slot_us;
      spaced_ = spaced_ || before_us + free_us >= space_us;
    }
    seen_ = now;
  }

  void set_carrier(tick now, bool busy) {
    carrier_ = busy;
    (busy ? busy_from_ : idle_from_) = now;
  }

  bool any_ = false;
  bool counts_ = false;  // the core contends
  bool carrier_ = false;
  bool raised_ = false;  // a frame reserves the medium for longer than the core knows
  bool heard_ = false;   // a frame was heard
  bool bad_end_ = false;
  bool spaced_ = false;
  tick nav_end_ = 0;                    // until when the medium is reserved by all that is known and held
  tick idle_from_ = 0, busy_from_ = 0;  // the last edges
  tick base_ = 0, seen_ = 0;            // from the first to the second is counted in
  std::uint32_t nav_us_ = 0, cca_us_ = 0, ifs_us_ = 0, slots_ = 0, phase_us_ = 0;
};

}  // namespace perhop::air
