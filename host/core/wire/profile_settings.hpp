// SPDX-License-Identifier: GPL-2.0-or-later
/// The settings of a MAC under a timing profile: for simulated nodes, benches and radios alike.
#pragma once

#include <algorithm>
#include <cstdint>

#include "host/core/wire/generated/mac_settings.hpp"
#include "host/core/wire/generated/protocol.hpp"

namespace perhop {

/// Times, windows, responses and airtimes are the profile's, for both queues and whatever group; what else there is stands
/// as it does after reset.
inline mac_settings profile_settings(const timing_profile& profile) {
  mac_settings settings;
  settings.slot_us = static_cast<std::uint16_t>(profile.slot_us);
  settings.sifs_us = static_cast<std::uint16_t>(profile.sifs_us);
  settings.difs_us = static_cast<std::uint16_t>(profile.difs_us);
  settings.eifs_us = static_cast<std::uint16_t>(profile.eifs_us);
  settings.response_timeout_us = static_cast<std::uint16_t>(profile.response_timeout_us);
  settings.nav_reset_us = static_cast<std::uint16_t>(profile.nav_reset_us);
  settings.phy_rx_start_delay_us = static_cast<std::uint16_t>(profile.phy_rx_start_delay_us);
  settings.rts_rate = static_cast<std::uint8_t>(profile.control_rate_index);
  settings.rts_airtime_us = static_cast<std::uint16_t>(airtime_us(profile, profile.control_rate_index, rts_bytes));
  settings.cw_min.fill(static_cast<std::uint16_t>(profile.cw_min));
  settings.cw_max.fill(static_cast<std::uint16_t>(profile.cw_max));
  for (unsigned rate = 0; rate < rate_slots; ++rate) {
    // A rate that the profile does not have is its last one.
    const unsigned known = std::min(rate, static_cast<unsigned>(profile.rates.size()) - 1);
    const unsigned response = profile.rates[known].control_rate_index;
    settings.response_rate[rate] = static_cast<std::uint8_t>(response);
    settings.response_airtime_us[rate] = static_cast<std::uint16_t>(airtime_us(profile, response, cts_bytes));
    const airtime_coefficients coefficients = coefficients_of(profile, known);
    settings.airtime_base_us[rate] = static_cast<std::uint16_t>(coefficients.base_us);
    settings.airtime_half_bits_per_unit[rate] = static_cast<std::uint16_t>(coefficients.half_bits_per_unit);
    settings.airtime_unit_shift[rate] = static_cast<std::uint8_t>(coefficients.unit_shift);
    settings.airtime_overhead_half_bits[rate] = static_cast<std::uint8_t>(coefficients.overhead_half_bits);
  }
  return settings;
}

}  // namespace perhop
