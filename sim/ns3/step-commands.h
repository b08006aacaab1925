// SPDX-License-Identifier: GPL-2.0-or-later
//
// Lets somebody on the other end of a pipe drive a run: a JSON object a line in, one a line out, in the same order.
//
//   {"command": "run_until", "us": N}              time passes until then, or to the end of the run
//   {"command": "look"}                            nodes and flows as they are now
//   {"command": "event", "event": {...}}           as an element of run.json's `events`, without at_s: it happens now
//   {"command": "policy", "flow": I, "policy": {...}}    as run.json's; from now on
//   {"command": "read", "node": I, "address": A}   a word of the MAC's registers (gateware/spec/registers.rdl)
//   {"command": "write", "node": I, "address": A, "value": V}
//
// Each answer has now_us, and what was asked for; or `error`, and nothing has happened. End of input ends the run.
#pragma once

#include "sim/ns3/scenario.h"
#include "sim/run/run_config.hpp"

#include <iosfwd>

namespace ns3
{

void ServeSteps(const perhop::run::run_config& config, ScenarioSteps& steps, std::istream& commands, std::ostream& answers);

} // namespace ns3
