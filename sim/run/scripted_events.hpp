// SPDX-License-Identifier: GPL-2.0-or-later
/// The events of a run that concern the medium: motion, links and nodes that go and come back, lost frames.
#pragma once

#include <cstddef>
#include <span>

#include "sim/run/air_names.hpp"
#include "sim/run/run_config.hpp"

namespace perhop::run {

/// Applies one event; a route is not the medium's business.
inline void apply(air::air& medium, const event_config& event) {
  using event_kind = event_config::event_kind;
  switch (event.kind) {
    case event_kind::move:
      medium.move(event.a, event.position, event.speed_mps);
      break;
    case event_kind::link_down:
    case event_kind::link_up:
      medium.set_blocked(event.a, event.b, event.kind == event_kind::link_down);
      break;
    case event_kind::node_down:
    case event_kind::node_up:
      medium.set_silent(event.a, event.kind == event_kind::node_down);
      break;
    case event_kind::loss:
      medium.set_frame_error_rate(event.frame_error_rate);
      break;
    case event_kind::route:
      break;
  }
}

/// Plays a list of events, which is in order of time and must outlive the player.
class scripted_events {
public:
  explicit scripted_events(std::span<const event_config> events) : events_(events) {}

  tick next_event() const { return next_ < events_.size() ? events_[next_].at() : never; }

  /// Applies everything that is due at `now` == medium.now().
  void act(tick now, air::air& medium) {
    while (next_event() <= now) apply(medium, events_[next_++]);
  }

private:
  std::span<const event_config> events_;
  std::size_t next_ = 0;
};

}  // namespace perhop::run
