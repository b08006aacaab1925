// SPDX-License-Identifier: GPL-2.0-or-later
/// The air at fidelity samples: a radio_top a node, and the channel between their antennas.
#pragma once

#include <memory>
#include <string>

#include "sim/air/air_impl.hpp"

namespace perhop::air::samples {

/// @throws std::invalid_argument a setting that cannot work, with its name
std::unique_ptr<air::impl> make_samples_air(const air_config& config, listener& listener);

/// Why the DSSS modem and its channel cannot do what the configuration asks for, with the field's name; empty if they can.
std::string samples_complaint(const air_config& config);

}  // namespace perhop::air::samples
