// SPDX-License-Identifier: GPL-2.0-or-later
/// Which driver a daemon has, and what it is wrapped in: the object `driver` of the configuration.
///
///     {"kind": "air", "socket": PATH, "node": 3}
///     {"kind": "loopback", "socket": PATH, "peer": PATH, "mac": "02:00:00:00:00:01"}
///     with any: "faults": {"seed": 1, "drop": 0.01, ...}, "capture": {"file": PATH, "most_bytes": 100000000}
///
/// Kinds and fields are those of host/drivers (driver_entry.hpp); docs/drivers.md lists them.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "host/drivers/driver_entry.hpp"
#include "host/drivers/fault_injector.hpp"

namespace perhop::node {

struct capture_config {
  std::string file;
  std::uint64_t most_bytes = 1'000'000'000;  ///< it does not grow beyond
};

struct driver_config {
  std::string kind;
  drivers::field_values given;  ///< of each field of its entry, but optional ones
  drivers::driver_maker make;
  std::optional<drivers::fault_config> faults;
  std::optional<capture_config> capture;  ///< of what passes after the faults
};

/// @throws config_error
driver_config read_driver(const nlohmann::json& object);

/// @throws std::system_error
std::unique_ptr<drivers::driver> make_driver(const driver_config& config);

/// The entries of all drivers, for `perhop-node --drivers`.
nlohmann::json describe_drivers();

}  // namespace perhop::node
