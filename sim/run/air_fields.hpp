// SPDX-License-Identifier: GPL-2.0-or-later
/// The objects `mac` and `medium` of run.json.
#pragma once

#include "sim/air/air_config.hpp"

namespace perhop::run {

class json_section;

air::mac_config read_mac(json_section mac);
air::medium_config read_medium(json_section medium, const timing_profile& profile);

}  // namespace perhop::run
