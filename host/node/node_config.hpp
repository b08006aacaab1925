// SPDX-License-Identifier: GPL-2.0-or-later
/// The daemon's configuration: JSON, as `perhop` writes it from what a person writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/core/shim/shim.hpp"
#include "host/core/shim/told_window.hpp"
#include "host/node/driver_config.hpp"
#include "host/node/exact_flows.hpp"
#include "host/node/log.hpp"

namespace perhop::node {

struct neighbour_address {
  shim::ip_address address;
  std::uint64_t mac = 0;
  std::optional<std::uint8_t> data_rate_index{};  ///< of DATA frames to it; nothing: the MAC's
};

/// By what a TCP sender of this host is held to its limit.
enum class cwl_enforcement : std::uint8_t {
  window,  ///< the window that it receives is lowered
  ebpf,    ///< its congestion window is clamped (host/bpf)
};

struct node_config {
  std::string name;
  std::string interface = "radio0";  ///< the TUN interface
  driver_config driver;
  std::string control_socket;  ///< made by the daemon; empty: none
  log_format log = log_format::text;
  std::size_t queue_packets = default_queue_packets;
  std::uint32_t mtu_bytes = 1500;  ///< of the TUN interface
  shim::window_telling tell_window = shim::window_telling::path_header;
  shim::flow_policy policy{};      ///< of all flows; set_policy() sets it
  std::string policy_json = "{}";  ///< as it was told
  cwl_enforcement cwl_enforce = cwl_enforcement::window;
  std::string cwl_cgroup;                            ///< with ebpf: the folder of a cgroup that holds the senders
  std::optional<policy::swan_settings> swan;         ///< nothing: best effort goes when the MAC has room
  std::optional<policy::exact_router_config> exact;  ///< nothing: EXACT's rates pass as they are
  exact_flows_config exact_flows{};
  std::uint32_t slow_down = 1;  ///< how many times slower than the clock everything goes: a virtual radio's simulation
  std::string rates_socket;     ///< made by the daemon, for applications; empty: none
  std::vector<neighbour_address> neighbours;
};

/// What() names the field and what it takes.
class config_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// An IPv4 or IPv6 address. @throws config_error
shim::ip_address parse_address(const std::string& text);

/// @throws config_error
node_config parse_node_config(const std::string& text);
node_config load_node_config(const std::filesystem::path& file);

/// The object `policy` of a run.json (sim/air/README.md).
/// @throws config_error
shim::flow_policy parse_policy(const nlohmann::json& policy);

/// Runs the file of a policy of one's own, if the policy names one: not before the process has given up its privileges.
/// @throws config_error
void load_own_policy(const shim::flow_policy& policy);

/// @throws config_error and changes nothing
void set_policy(const nlohmann::json& policy, node_config& config);

}  // namespace perhop::node
