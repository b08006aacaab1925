// SPDX-License-Identifier: GPL-2.0-or-later
/// Which driver a daemon has, and what it is wrapped in: the object `driver` of the configuration.
///
///     {"kind": "air", "socket": PATH, "node": 3}
///     {"kind": "loopback", "socket": PATH, "peer": PATH, "mac": "02:00:00:00:00:01"}
///     {"kind": "rfnoc", "args": "addr=192.168.10.2,master_clock_rate=22e6", "mac": "02:00:00:00:00:01", "frequency_hz": 2.412e9,
///      "tx_delay_clocks": 101, "rx_delay_clocks": 66, ...}                      a radio (hw/README.md)
///     with any: "faults": {"seed": 1, "drop": 0.01, ...}, "capture": {"file": PATH, "most_bytes": 100000000}
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>

#include "host/drivers/fault_injector.hpp"
#include "host/drivers/loopback_driver.hpp"
#include "host/drivers/make_uhd_link.hpp"
#include "host/drivers/rfnoc_driver.hpp"

namespace perhop::node {

struct air_config {
  std::string socket;      ///< of the emulated medium
  std::uint16_t node = 0;  ///< which of its nodes this is
};

struct radio_config {
  drivers::uhd_config device;
  drivers::rfnoc_config mac;
};

struct capture_config {
  std::string file;
  std::uint64_t most_bytes = 1'000'000'000;  ///< it does not grow beyond
};

struct driver_config {
  std::variant<air_config, drivers::loopback_config, radio_config> mac;
  std::optional<drivers::fault_config> faults;
  std::optional<capture_config> capture;  ///< of what passes after the faults
};

/// @throws config_error
driver_config read_driver(const nlohmann::json& object);

/// @throws std::system_error
std::unique_ptr<drivers::driver> make_driver(const driver_config& config);

}  // namespace perhop::node
