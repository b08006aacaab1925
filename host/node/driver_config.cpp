// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/driver_config.hpp"

#include <utility>

#include "host/drivers/air_driver.hpp"
#include "host/drivers/pcap_tap.hpp"
#include "host/node/json_fields.hpp"

namespace perhop::node {

namespace {

using nlohmann::json;

drivers::loopback_config read_loopback(const json& object) {
  refuse_unknown(object, "driver",
                 {"kind", "socket", "peer", "mac", "profile", "data_rate_index", "rts_threshold_bytes", "faults", "capture"});
  drivers::loopback_config config{.socket = read_socket(object, "socket"), .peer = read_socket(object, "peer"), .mac = {}};
  const auto profile = read<std::string>(object, "profile", "dsss_long");
  config.mac.profile = find_profile(profile);
  if (config.mac.profile == nullptr) throw config_error("profile: there is no timing profile '" + profile + "'");
  config.mac.address = parse_mac(read<std::string>(object, "mac", ""));
  config.mac.data_rate_index = static_cast<std::uint8_t>(read_count(object, "data_rate_index", 0, 0, config.mac.profile->rates.size() - 1));
  config.mac.rts_threshold_bytes = static_cast<std::uint32_t>(read_count(object, "rts_threshold_bytes", 4095, 0, 4095));
  config.mac.send_credits = 4;
  return config;
}

air_config read_air(const json& object) {
  refuse_unknown(object, "driver", {"kind", "socket", "node", "faults", "capture"});
  return {.socket = read_socket(object, "socket"), .node = static_cast<std::uint16_t>(read_count(object, "node", 0, 0, 0xfffe))};
}

radio_config read_radio(const json& object) {
  refuse_unknown(object, "driver",
                 {"kind",
                  "args",
                  "block",
                  "radio",
                  "channel",
                  "frequency_hz",
                  "tx_gain_db",
                  "rx_gain_db",
                  "tx_antenna",
                  "rx_antenna",
                  "mac",
                  "profile",
                  "data_rate_index",
                  "rts_threshold_bytes",
                  "seed",
                  "tx_delay_clocks",
                  "rx_delay_clocks",
                  "tx_gain_256",
                  "energy_threshold_dbm",
                  "rssi_base_dbm",
                  "faults",
                  "capture"});
  if (!drivers::has_uhd()) {
    throw config_error(
        "driver.kind: rfnoc needs UHD, which this program was built without: install libuhd-dev, remove out/build, build again");
  }
  radio_config config;
  config.device.args = read<std::string>(object, "args", "");
  if (config.device.args.empty())
    throw config_error("driver.args: is missing: which device, as UHD says it: addr=192.168.10.2,master_clock_rate=22e6");
  config.device.block = read<std::string>(object, "block", config.device.block);
  config.device.radio = read<std::string>(object, "radio", config.device.radio);
  config.device.channel = static_cast<std::uint32_t>(read_count(object, "channel", 0, 0, 7));
  config.device.frequency_hz = read<double>(object, "frequency_hz", 0);
  if (!(config.device.frequency_hz > 0)) throw config_error("driver.frequency_hz: is missing: the centre of a channel that you may use");
  config.device.tx_gain_db = read<double>(object, "tx_gain_db", 0);
  config.device.rx_gain_db = read<double>(object, "rx_gain_db", 0);
  config.device.tx_antenna = read<std::string>(object, "tx_antenna", config.device.tx_antenna);
  config.device.rx_antenna = read<std::string>(object, "rx_antenna", config.device.rx_antenna);
  drivers::radio_setup& setup = config.mac.setup;
  const auto profile = read<std::string>(object, "profile", "dsss_long");
  setup.profile = find_profile(profile);
  if (setup.profile == nullptr || !profile.starts_with("dsss_")) {
    throw config_error("driver.profile: the modem cannot keep '" + profile + "'; use dsss_long or dsss_short");
  }
  setup.address = parse_mac(read<std::string>(object, "mac", ""));
  setup.seed = read_count(object, "seed", setup.address, 0, ~std::uint64_t{0});
  for (const auto& [name, value] :
       {std::pair("tx_delay_clocks", &setup.tx_delay_clocks), std::pair("rx_delay_clocks", &setup.rx_delay_clocks)}) {
    if (!object.contains(name))
      throw config_error(std::string("driver.") + name + ": is missing: hw/bringup/bringup.py calibrate measures it");
    *value = static_cast<std::uint16_t>(read_count(object, name, 0, 0, 65535));
  }
  setup.rts_threshold_bytes = static_cast<std::uint32_t>(read_count(object, "rts_threshold_bytes", setup.rts_threshold_bytes, 0, 4095));
  setup.tx_gain_256 = static_cast<std::uint16_t>(read_count(object, "tx_gain_256", setup.tx_gain_256, 0, 256));
  setup.energy_threshold_dbm =
      static_cast<std::int8_t>(read_integer(object, "energy_threshold_dbm", setup.energy_threshold_dbm, -128, 127));
  setup.rssi_base_dbm = static_cast<std::int16_t>(read_integer(object, "rssi_base_dbm", setup.rssi_base_dbm, -256, 255));
  config.mac.data_rate_index = static_cast<std::uint8_t>(read_count(object, "data_rate_index", 1, 0, 1));
  return config;
}

drivers::fault_config read_faults(const json& object) {
  refuse_unknown(object, "driver.faults", {"seed", "drop", "duplicate", "corrupt", "delayed", "delay_us", "reorder"});
  drivers::fault_config config;
  config.seed = read_count(object, "seed", config.seed, 0, ~std::uint64_t{0});
  config.drop = read_share(object, "drop", 0);
  config.duplicate = read_share(object, "duplicate", 0);
  config.corrupt = read_share(object, "corrupt", 0);
  config.delayed = read_share(object, "delayed", 0);
  config.delay_us = static_cast<std::uint32_t>(read_count(object, "delay_us", config.delay_us, 1, 60'000'000));
  config.reorder = read_share(object, "reorder", 0);
  return config;
}

capture_config read_capture(const json& object) {
  refuse_unknown(object, "driver.capture", {"file", "most_bytes"});
  capture_config config;
  config.file = read<std::string>(object, "file", "");
  if (config.file.empty()) throw config_error("driver.capture.file: is missing");
  config.most_bytes = read_count(object, "most_bytes", config.most_bytes, 1, ~std::uint64_t{0});
  return config;
}

}  // namespace

driver_config read_driver(const json& object) {
  if (!object.is_object()) throw config_error("driver: must be an object {...}");
  enum class driver_kind : std::uint8_t { air, loopback, rfnoc };
  const auto kind = read_word<driver_kind>(object, "kind",
                                           {{"air", driver_kind::air}, {"loopback", driver_kind::loopback}, {"rfnoc", driver_kind::rfnoc}});
  driver_config config;
  if (kind == driver_kind::air) {
    config.mac = read_air(object);
  } else if (kind == driver_kind::rfnoc) {
    config.mac = read_radio(object);
  } else {
    config.mac = read_loopback(object);
  }
  if (const auto faults = object.find("faults"); faults != object.end()) config.faults = read_faults(*faults);
  if (const auto capture = object.find("capture"); capture != object.end()) config.capture = read_capture(*capture);
  return config;
}

std::unique_ptr<drivers::driver> make_driver(const driver_config& config) {
  std::unique_ptr<drivers::driver> made;
  if (const auto* air = std::get_if<air_config>(&config.mac)) {
    made = std::make_unique<drivers::air_driver>(air->socket, air->node);
  } else if (const auto* radio = std::get_if<radio_config>(&config.mac)) {
    made = std::make_unique<drivers::rfnoc_driver>([device = radio->device] { return drivers::make_uhd_link(device); }, radio->mac);
  } else {
    made = std::make_unique<drivers::loopback_driver>(std::get<drivers::loopback_config>(config.mac));
  }
  if (config.faults) made = std::make_unique<drivers::fault_injector>(std::move(made), *config.faults);
  if (config.capture) made = std::make_unique<drivers::pcap_tap>(std::move(made), config.capture->file, config.capture->most_bytes);
  return made;
}

}  // namespace perhop::node
