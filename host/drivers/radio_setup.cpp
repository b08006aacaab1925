// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/drivers/radio_setup.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include "host/core/wire/profile_settings.hpp"

namespace perhop::drivers {

namespace {

constexpr std::uint32_t every_error = 0xF;

std::string hex(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%03x", value);
  return text;
}

std::uint64_t bits_of(int level_dbm) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(level_dbm)); }

/// splitmix64 (G. Steele et al., OOPSLA 2014): the MAC wants 64 well mixed bits.
std::uint64_t mixed(std::uint64_t number) {
  number += 0x9E37'79B9'7F4A'7C15;
  number = (number ^ number >> 30) * 0xBF58'476D'1CE4'E5B9;
  number = (number ^ number >> 27) * 0x94D0'49BB'1331'11EB;
  return number ^ number >> 31;
}

void expect(radio_link& link, const char* what, std::uint32_t id_address, std::uint32_t id, std::uint32_t version_address,
            std::uint32_t version_major) {
  if (const std::uint32_t found = link.read(id_address); found != id) {
    throw link_error(std::string("register ") + hex(id_address) + " reads " + hex(found) + ": there is no " + what +
                     " of perhop there; load an image that holds it (hw/README.md)");
  }
  if (const std::uint32_t found = link.read(version_address) >> 16; found != version_major) {
    throw link_error(std::string("the registers of the ") + what + " have version " + std::to_string(found) + ", this program knows " +
                     std::to_string(version_major) + ": use the program that came with the image");
  }
}

}  // namespace

void check_identity(radio_link& link) {
  namespace reg = registers;
  expect(link, "MAC", reg::id::address, core_id, reg::version::address, core_version_major);
  expect(link, "modem", reg::radio::id::address, radio_id, reg::radio::version::address, radio_version_major);
  expect(link, "shell", reg::shell::id::address, shell_id, reg::shell::version::address, shell_version_major);
}

bool was_refused(radio_link& link, std::uint32_t address) {
  if (address >= shell_registers_base) return false;
  const std::uint32_t error = address < radio_registers_base ? registers::error::address : registers::radio::error::address;
  if ((link.read(error) & every_error) == 0) return false;
  link.write(error, every_error);
  return true;
}

std::vector<register_word> settings_of(const radio_setup& setup, std::uint32_t clocks_per_us) {
  using namespace registers;
  const timing_profile& profile = *setup.profile;
  const std::uint32_t delay_clocks = std::uint32_t{setup.tx_delay_clocks} + setup.rx_delay_clocks;
  mac_settings settings = profile_settings(profile);
  settings.address = setup.address;
  settings.bssid = node_address_base;
  settings.seed = mixed(setup.seed);
  // A response is heard that much later.
  settings.response_timeout_us =
      static_cast<std::uint16_t>(settings.response_timeout_us + (delay_clocks + clocks_per_us - 1) / clocks_per_us);
  settings.phy_tx_delay_clocks = setup.tx_delay_clocks;
  settings.phy_rx_delay_clocks = setup.rx_delay_clocks;
  settings.average_shift = setup.average_shift;
  settings.rts_threshold_bytes = setup.rts_threshold_bytes;
  settings.all_groups = true;
  // The second queue has the windows of IEEE 802.11-2012's voice category (8.4.2.31, table 8-105), as in perhop.registers.
  settings.cw_min[1] = static_cast<std::uint16_t>(std::max((profile.cw_min + 1) / 4 - 1, 1U));
  settings.cw_max[1] = std::max(static_cast<std::uint16_t>((profile.cw_min + 1) / 2 - 1), settings.cw_min[1]);
  std::vector<register_word> list;
  const auto put = [&](std::uint32_t address, std::uint64_t word) { list.push_back({address, static_cast<std::uint32_t>(word)}); };
  for_each_setting_word(settings, put);
  put(radio::tx_gain::address, setup.tx_gain_256);
  put(radio::preamble::address, profile.rates[1].preamble_us < profile.rates[0].preamble_us);
  put(radio::rssi::address, radio::rssi::base_dbm.put(0, bits_of(setup.rssi_base_dbm)));
  std::uint64_t word = radio::clear_channel::energy_threshold_dbm.put(0, bits_of(setup.energy_threshold_dbm));
  word = radio::clear_channel::energy_detect.put(word, 1);
  put(radio::clear_channel::address, radio::clear_channel::carrier_sense.put(word, 1));
  word = radio::transmit_power::dbm.put(0, bits_of(setup.transmit_power_dbm));
  put(radio::transmit_power::address, radio::transmit_power::limit_threshold.put(word, 1));
  return list;
}

void set_up(radio_link& link, const radio_setup& setup) {
  check_identity(link);
  link.write(registers::control::address, 0);
  was_refused(link, 0);
  was_refused(link, radio_registers_base);
  const auto per_us = static_cast<std::uint32_t>(registers::clock::per_us.get(link.read(registers::clock::address)));
  if (per_us == 0) throw link_error("the register clock says 0 clocks a microsecond: this is no MAC of perhop");
  // Rules join registers: what one refuses may be legal when others are written. What is refused twice never will be.
  std::vector<register_word> waiting = settings_of(setup, per_us), refused;
  while (!waiting.empty()) {
    refused.clear();
    for (const register_word& each : waiting) {
      link.write(each.address, each.word);
      if (was_refused(link, each.address)) refused.push_back(each);
    }
    if (refused.size() == waiting.size()) {
      throw link_error(
          "register " + hex(refused.front().address) + " refuses " + std::to_string(refused.front().word) +
          ": a setting of this station is not possible (gateware/spec/reference.md says why; delays that are too long for SIFS?)");
    }
    waiting.swap(refused);
  }
  // The time in which this host must be heard again runs from here.
  link.write(registers::shell::heartbeat::address, setup.heartbeat_limit_ms);
  link.write(registers::shell::route::address, static_cast<std::uint32_t>(registers::shell::route::own_converter.put(0, 1)));
  link.write(registers::control::address, static_cast<std::uint32_t>(registers::control::enable.put(0, 1)));
}

}  // namespace perhop::drivers
