// SPDX-License-Identifier: GPL-2.0-or-later
/// The front end of a radio: set, and read back. A radio that is not as its configuration says it is refused, whatever made it so: a
/// value that the device cannot have (UHD takes the nearest one, silently), an oscillator that has not locked, another clock.
#pragma once

#include <string>
#include <uhd/rfnoc/mb_controller.hpp>
#include <uhd/rfnoc/radio_control.hpp>

#include "host/drivers/make_uhd_link.hpp"

namespace perhop::drivers {

void set_front_end(::uhd::rfnoc::radio_control& radio, ::uhd::rfnoc::mb_controller& motherboard, const uhd_config& wanted);

/// @param rate_hz of the samples that perhop's block in the image takes
/// @throws link_error the first thing that is another one than it should be
void check_front_end(::uhd::rfnoc::radio_control& radio, ::uhd::rfnoc::mb_controller& motherboard, const uhd_config& wanted,
                     double rate_hz);

/// What is wrong with the device's reference clock now; empty: nothing that it could tell.
std::string reference_trouble(::uhd::rfnoc::mb_controller& motherboard, const uhd_config& wanted);

}  // namespace perhop::drivers
