// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/node_config.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <span>
#include <vector>

#include "host/core/shim/flow_policy_fields.hpp"
#include "host/node/json_fields.hpp"
#include "host/node/too_big.hpp"
#include "host/own/load_policy.hpp"
#include "host/sockets/json_message.hpp"

namespace perhop::node {

namespace {

using nlohmann::json;

constexpr std::uint64_t most_data_rate_index = 7;  // that a descriptor of the MAC can name
constexpr std::uint64_t most_slow_down = 10'000;

void read_cwl(const json& object, node_config& config) {
  refuse_unknown(object, "cwl", {"enforce", "cgroup"});
  config.cwl_enforce =
      read_word<cwl_enforcement>(object, "enforce", {{"window", cwl_enforcement::window}, {"ebpf", cwl_enforcement::ebpf}});
  config.cwl_cgroup = read<std::string>(object, "cgroup", "/sys/fs/cgroup");
}

/// An object as the readers that follow from policies.yaml ask for it (host/core/shim/flow_policy_fields.hpp).
class table_fields {
public:
  table_fields(const json& object, const char* name) : object_(object), name_(name) {
    if (!object.is_object()) throw config_error(name_ + ": must be an object {...}");
  }

  template <typename choice>
  choice word(const char* key, std::string_view, std::span<const std::pair<std::string_view, choice>> words, choice otherwise) {
    return read_word(object_, note(key), words, otherwise);
  }
  std::uint32_t count(const char* key, std::uint32_t otherwise, std::uint32_t most, std::uint32_t least = 0) {
    return static_cast<std::uint32_t>(read_count(object_, note(key), otherwise, least, most));
  }
  double number(const char* key, double otherwise, double most, double least) {
    return read_number(object_, note(key), otherwise, least, most);
  }
  bool flag(const char* key, bool otherwise) { return read(object_, note(key), otherwise); }
  const policy::own_policy_source* own(const char* key) {
    const json& named = object_.value(note(key), json());
    refuse_unknown(named, name_ + "." + key, {"file", "name", "sha256"});
    return &own::policy_in(read<std::string>(named, "file", ""), read<std::string>(named, "name", ""),
                           [](const std::string& problem) { log("policy_failed", {{"problem", problem}}); });
  }
  [[noreturn]] void refuse(const char* key, const std::string& problem) { throw config_error(std::string(key) + ": " + problem); }
  void finish() {
    for (const auto& [key, value] : object_.items()) {
      if (std::ranges::find(known_, key) == known_.end()) throw config_error(name_ + "." + key + ": unknown field");
    }
  }

private:
  const char* note(const char* key) {
    known_.emplace_back(key);
    return key;
  }

  const json& object_;
  std::string name_;
  std::vector<std::string_view> known_;
};

void read_exact(const json& object, node_config& config) {
  constexpr std::pair<std::string_view, bool> which[] = {{"asked", false}, {"all", true}};
  table_fields fields(object, "exact");
  policy::read_exact_settings(fields, config.exact.emplace());
  config.exact_flows.all_udp = fields.word<bool>("udp", "choice of UDP flows", which, false);
  config.exact_flows.queue_packets = fields.count("queue_packets", static_cast<std::uint32_t>(config.exact_flows.queue_packets), 4096, 2);
  fields.finish();
}

void read_swan(const json& object, node_config& config) {
  table_fields fields(object, "swan");
  policy::read_swan_settings(fields, config.swan.emplace());
  fields.finish();
}

json parse_json(const std::string& text) {
  json object = sockets::parse_message(text);
  if (object.is_discarded()) throw config_error("is no valid JSON");
  return object;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw config_error(file.string() + ": cannot be read");
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void read_policy_file(const std::filesystem::path& file, node_config& config) {
  const std::string text = read_text(file);
  try {
    const json object = parse_json(text);
    refuse_unknown(object, "policy_file", {"label", "policy"});
    if (!object.contains("policy")) throw config_error("policy: is missing");
    set_policy(object.at("policy"), config);
  } catch (const config_error& error) {
    throw config_error(file.string() + ": " + error.what());
  }
}

}  // namespace

shim::ip_address parse_address(const std::string& text) {
  std::array<std::uint8_t, 16> bytes{};
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    return shim::ip_address::from_ipv4(std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
                                       bytes[3]);
  }
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) throw config_error("'" + text + "' is no address");
  shim::ip_address address;
  for (std::size_t i = 0; i < 8; ++i) {
    address.high = address.high << 8 | bytes[i];
    address.low = address.low << 8 | bytes[i + 8];
  }
  return address;
}

shim::flow_policy parse_policy(const json& object) {
  table_fields fields(object, "policy");
  return shim::read_flow_policy(fields);
}

void load_own_policy(const shim::flow_policy& policy) {
  try {
    own::load_own(policy);
  } catch (const own::policy_error& error) {
    throw config_error("policy.own: " + error.text());
  }
}

void set_policy(const json& policy, node_config& config) {
  config.policy = parse_policy(policy);
  config.policy_json = policy.dump();
}

node_config parse_node_config(const std::string& text) {
  const json object = parse_json(text);
  refuse_unknown(object, "configuration",
                 {"name", "interface", "driver", "control_socket", "log", "queue_packets", "mtu_bytes", "policy", "policy_file", "cwl",
                  "neighbours", "exact", "rates_socket", "swan", "tell_window", "slow_down"});
  node_config config;
  config.name = read<std::string>(object, "name", "");
  config.interface = read<std::string>(object, "interface", config.interface);
  config.driver = read_driver(object.value("driver", json()));
  config.log = read_word<log_format>(object, "log", {{"text", log_format::text}, {"json", log_format::json}});
  config.control_socket = read<std::string>(object, "control_socket", "");
  config.queue_packets = read_count(object, "queue_packets", config.queue_packets, 1, 4096);
  config.mtu_bytes = static_cast<std::uint32_t>(read_count(object, "mtu_bytes", config.mtu_bytes, 576, most_ip_bytes));
  using enum shim::window_telling;
  config.tell_window = read_word<shim::window_telling>(object, "tell_window",
                                                       {{"path_header", path_header}, {"option", option}, {"window_field", window_field}});
  if (object.contains("policy_file")) {
    if (object.contains("policy")) throw config_error("policy: stands beside policy_file; give one of them");
    read_policy_file(read<std::string>(object, "policy_file", ""), config);
  } else {
    set_policy(object.value("policy", json::object()), config);
  }
  config.slow_down = static_cast<std::uint32_t>(read_count(object, "slow_down", config.slow_down, 1, most_slow_down));
  read_cwl(object.value("cwl", json::object()), config);
  config.rates_socket = read<std::string>(object, "rates_socket", "");
  if (object.contains("exact")) read_exact(object.at("exact"), config);
  if (object.contains("swan")) read_swan(object.at("swan"), config);
  for (const json& neighbour : object.value("neighbours", json::array())) {
    refuse_unknown(neighbour, "neighbours", {"address", "mac", "data_rate_index"});
    neighbour_address& read_one = config.neighbours.emplace_back(
        neighbour_address{parse_address(read<std::string>(neighbour, "address", "")), parse_mac(read<std::string>(neighbour, "mac", ""))});
    if (!neighbour.contains("data_rate_index")) continue;
    read_one.data_rate_index = static_cast<std::uint8_t>(read_count(neighbour, "data_rate_index", 0, 0, most_data_rate_index));
    for (const neighbour_address& other : config.neighbours) {
      if (other.mac == read_one.mac && other.data_rate_index.value_or(*read_one.data_rate_index) != *read_one.data_rate_index) {
        throw config_error("neighbours.data_rate_index: differs between two addresses of one MAC; give both the same");
      }
    }
  }
  return config;
}

node_config load_node_config(const std::filesystem::path& file) {
  const std::string text = read_text(file);
  try {
    return parse_node_config(text);
  } catch (const config_error& error) {
    throw config_error(file.string() + ": " + error.what());
  }
}

}  // namespace perhop::node
