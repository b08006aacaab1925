// SPDX-License-Identifier: GPL-2.0-or-later
/// The registers of a radio_top for a node of a run: the MAC's settings as the other fidelities have them, and the modem's.
#pragma once

#include <vector>

#include "sim/air/air_config.hpp"
#include "sim/air/register_setting.hpp"

namespace perhop::air::samples {

/// In any order: write_settings bears it.
std::vector<register_setting> radio_settings(const air_config& config, node_id node);

/// The level at which energy alone makes the medium busy: what arrives over medium.cs_range_m, in whole dBm.
int energy_threshold_dbm(const medium_config& medium);

}  // namespace perhop::air::samples
