// SPDX-License-Identifier: GPL-2.0-or-later
/// What the registers of a radio hold for a station: from its configuration to words, and into the FPGA.
#pragma once

#include <cstdint>
#include <vector>

#include "host/core/wire/generated/frames.hpp"
#include "host/drivers/radio_link.hpp"

namespace perhop::drivers {

struct radio_setup {
  std::uint64_t address = 0;
  const timing_profile* profile = nullptr;  ///< DSSS: the modem's
  std::uint64_t seed = 0;                   ///< any number that no other station has
  std::uint32_t rts_threshold_bytes = 4095;
  std::uint8_t average_shift = default_average_shift;
  /// What modem, shell and front end take; the calibration measures it (hw/README.md).
  std::uint16_t tx_delay_clocks = 0, rx_delay_clocks = 0;
  std::uint16_t tx_gain_256 = 256;
  std::int8_t energy_threshold_dbm = -70;
  std::int8_t transmit_power_dbm = 17;  ///< conducted, at full gain: it limits the threshold (gateware/spec/reference.md)
  std::int16_t rssi_base_dbm = -120;
  std::uint16_t heartbeat_limit_ms = default_heartbeat_limit_ms;  ///< after which a silent host is gone; 0: never
};

struct register_word {
  std::uint32_t address;
  std::uint32_t word;
};

/// Every setting, in the order of addresses; `clocks_per_us` as the register `clock` says.
std::vector<register_word> settings_of(const radio_setup& setup, std::uint32_t clocks_per_us);

/// Disables the MAC, writes the settings in an order that the registers' rules allow, gives the modem the converter, enables the MAC.
/// @throws link_error no perhop is there, it is of another version, or it refuses a setting: the message names its address
void set_up(radio_link& link, const radio_setup& setup);

/// @throws link_error the identification of one of the three register maps is none, or of another version
void check_identity(radio_link& link);

/// Whether a write to a register behind `address` was refused since the last call; clears it.
bool was_refused(radio_link& link, std::uint32_t address);

}  // namespace perhop::drivers
