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
  enum class driver_kind : std::uint8_t { air, loopback };
  const auto kind = read_word<driver_kind>(object, "kind", {{"air", driver_kind::air}, {"loopback", driver_kind::loopback}});
  driver_config config;
  if (kind == driver_kind::air) {
    config.mac = read_air(object);
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
  } else {
    made = std::make_unique<drivers::loopback_driver>(std::get<drivers::loopback_config>(config.mac));
  }
  if (config.faults) made = std::make_unique<drivers::fault_injector>(std::move(made), *config.faults);
  if (config.capture) made = std::make_unique<drivers::pcap_tap>(std::move(made), config.capture->file, config.capture->most_bytes);
  return made;
}

}  // namespace perhop::node
