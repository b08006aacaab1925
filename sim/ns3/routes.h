// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which routes the nodes of a run begin with.
#pragma once

#include "sim/ns3/air-net-device.h"
#include "sim/run/run_config.hpp"

#include <vector>

namespace ns3
{

/// Those of the run file; with routing on demand, each node has one to every other, and the device below decides which way.
void SetRoutes(const perhop::run::run_config& config, const std::vector<Ptr<AirNetDevice>>& devices);

} // namespace ns3
