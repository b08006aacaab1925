// SPDX-License-Identifier: GPL-2.0-or-later
/// What a run says in the words of the air that it runs in.
#pragma once

#include "sim/air/air.hpp"
#include "sim/air/air_config.hpp"
#include "sim/air/types.hpp"

namespace perhop::run {

using air::air_config;
using air::air_counters;
using air::byte_span;
using air::completion;
using air::fourth_address_bytes;
using air::listener;
using air::lost_frame;
using air::mac_address;
using air::mac_fidelity;
using air::never;
using air::node_id;
using air::node_position;
using air::phy_event;
using air::service_parts;
using air::tick;
using air::ticks_per_second;
using air::transmission;
using air::tx_request;

}  // namespace perhop::run
