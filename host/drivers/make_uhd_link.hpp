// SPDX-License-Identifier: GPL-2.0-or-later
/// A link to a radio by UHD, where this program was built with it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "host/drivers/radio_link.hpp"

namespace perhop::drivers {

struct uhd_config {
  std::string args;                  ///< which device: "addr=192.168.10.2,master_clock_rate=22e6"
  std::string block = "0/perhop#0";  ///< perhop's
  std::string radio = "0/Radio#0";   ///< UHD's, for the front end
  std::uint32_t channel = 0;         ///< of the radio: the one that is perhop's in the image
  double frequency_hz = 0;
  double tx_gain_db = 0;
  double rx_gain_db = 0;
  std::string tx_antenna = "TX/RX";
  std::string rx_antenna = "TX/RX";
  /// Of the filters in front of the converters. None: that of a channel, where the device can have it. 0: as UHD leaves them.
  std::optional<double> bandwidth_hz;
  std::string clock_source = "internal";
  std::string time_source = "internal";
  double pulse_wait_s = 1.2;  ///< in which a pulse of the time source must come
};

/// Whether this program was built with UHD.
bool has_uhd();

/// Opens the device, finds the block, sets the front end and reads it back. It may take seconds.
/// @throws link_error with UHD's words: no such device, no such block; a front end that is not as it was set; or no UHD in this program
std::unique_ptr<radio_link> make_uhd_link(const uhd_config& config);

}  // namespace perhop::drivers
