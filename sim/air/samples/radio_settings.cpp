// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/samples/radio_settings.hpp"

#include <cmath>
#include <numbers>

#include "host/core/wire/generated/registers.hpp"
#include "sim/air/loss_model.hpp"
#include "sim/air/node_settings.hpp"
#include "sim/air/samples/converter.hpp"
#include "sim/air/samples/radio_node.hpp"

namespace perhop::air::samples {

namespace {

constexpr std::uint32_t full_gain = 256;

/// Two's complement in the low bits.
std::uint64_t bits_of(int level_dbm) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(level_dbm)); }

/// Power at which |I| + |Q| of the converter sum to 1 over 22 samples. Chips stand on the diagonals: |I| + |Q| is the amplitude times
/// the root of 2.
int rssi_base_dbm(const medium_config& medium) {
  constexpr double summed = 22 * std::numbers::sqrt2;
  return static_cast<int>(std::lround(medium.samples.full_scale_dbm - 20 * std::log10(full_scale_steps * summed)));
}

}  // namespace

int energy_threshold_dbm(const medium_config& medium) {
  return static_cast<int>(std::lround(10 * std::log10(1000 * make_loss_model(medium)->received_power_w(medium.cs_range_m))));
}

std::vector<register_setting> radio_settings(const air_config& config, node_id node) {
  using namespace registers;
  mac_settings settings = settings_of(config, node);
  // The response timeout is not longer by the delays of PHY and propagation: the slot that it includes is there for them (9.3.2.6).
  settings.phy_tx_delay_clocks = phy_tx_delay_clocks;
  settings.phy_rx_delay_clocks = phy_rx_delay_clocks;
  const timing_profile& profile = *config.mac.profile;
  std::vector<register_setting> list;
  const auto put = [&](std::uint32_t address, std::uint64_t word) { list.push_back({address, static_cast<std::uint32_t>(word)}); };
  for_each_setting_word(settings, put);
  put(radio::tx_gain::address, full_gain);
  put(radio::preamble::address, profile.rates[1].preamble_us < profile.rates[0].preamble_us);
  put(radio::rssi::address, radio::rssi::base_dbm.put(0, bits_of(rssi_base_dbm(config.medium))));
  std::uint64_t word = radio::clear_channel::energy_threshold_dbm.put(0, bits_of(energy_threshold_dbm(config.medium)));
  word = radio::clear_channel::energy_detect.put(word, 1);
  put(radio::clear_channel::address, radio::clear_channel::carrier_sense.put(word, 1));
  // The experiment says how far carrier sense reaches; the limit that the standard puts on it would be another one.
  put(radio::transmit_power::address, radio::transmit_power::limit_threshold.put(0, 0));
  return list;
}

}  // namespace perhop::air::samples
