// SPDX-License-Identifier: GPL-2.0-or-later
/// Which driver a daemon has, and what it is wrapped in: the object `driver` of the configuration.
///
///     {"kind": "air", "socket": PATH, "node": 3}
///     {"kind": "loopback", "socket": PATH, "peer": PATH, "mac": "02:00:00:00:00:01"}
///     with either: "faults": {"seed": 1, "drop": 0.01, ...}, "capture": {"file": PATH, "most_bytes": 100000000}
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>

#include "host/drivers/fault_injector.hpp"
#include "host/drivers/loopback_driver.hpp"

namespace perhop::node {

struct air_config {
  std::string socket;      ///< of the emulated medium
  std::uint16_t node = 0;  ///< which of its nodes this is
};

struct capture_config {
  std::string file;
  std::uint64_t most_bytes = 1'000'000'000;  ///< it does not grow beyond
};

struct driver_config {
  std::variant<air_config, drivers::loopback_config> mac;
  std::optional<drivers::fault_config> faults;
  std::optional<capture_config> capture;  ///< of what passes after the faults
};

/// @throws config_error
driver_config read_driver(const nlohmann::json& object);

/// @throws std::system_error
std::unique_ptr<drivers::driver> make_driver(const driver_config& config);

}  // namespace perhop::node
