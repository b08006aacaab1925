// SPDX-License-Identifier: GPL-2.0-or-later
//
// Plays the events of a run file: new routes, and what concerns the medium.
//
// A route holds for packets that reach a node from then on. What waits in an interface queue goes where it was queued for: its path header
// has counted that hop already. A node that a new route leaves out keeps its old one, so what is on its way there still arrives.
#pragma once

#include "sim/ns3/air-channel.h"
#include "sim/run/run_config.hpp"

#include <vector>

namespace ns3
{

/// Lets an event happen now, whatever its time. Not while the air calls back.
void PlayEvent(AirChannel& channel, const perhop::run::event_config& event);

/// `channel` and its devices must live as long as the run.
void ScheduleEvents(const std::vector<perhop::run::event_config>& events, AirChannel& channel);

} // namespace ns3
