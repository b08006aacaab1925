// SPDX-License-Identifier: GPL-2.0-or-later
/// What a daemon tells and takes over its control socket: one JSON object a message, one answer each.
///
///     {"command": "status"}                       counters, neighbours, flows with their limits
///     {"command": "registers", "accesses": [...]} of the MAC: register_desk.hpp
///     {"command": "policy", "policy": {...}}      the policy of all flows from now on
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "host/bpf/window_clamp.hpp"
#include "host/node/linux_kernel.hpp"
#include "host/node/node_config.hpp"
#include "host/node/packet_path.hpp"

namespace perhop::node {

/// @param config its policy is the one that holds
/// @param clamp null: windows are lowered
std::string answer(std::string_view asked, time_us now, node_config& config, packet_path& path, const linux_kernel& kernel,
                   const drivers::driver& driver, const bpf::window_clamp* clamp);

/// How the time of the driver's radio was set; null where it has none.
nlohmann::json radio_time_of(const drivers::driver& driver);

/// Sentences, each once: parts of the policy that do nothing for a connection whose data this host sends, and why.
std::vector<std::string> parts_without_effect(const std::vector<packet_path::flow_report>& flows);

}  // namespace perhop::node
