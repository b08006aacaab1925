// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/node_config.hpp"

#include <arpa/inet.h>

#include <array>
#include <fstream>
#include <iterator>

#include "host/node/json_fields.hpp"
#include "host/node/too_big.hpp"
#include "host/sockets/json_message.hpp"

namespace perhop::node {

namespace {

using nlohmann::json;

void read_exact(const json& object, node_config& config) {
  refuse_unknown(object, "exact", {"mode", "fairness", "eta", "interval_ms", "hello_interval_ms", "udp", "queue_packets"});
  policy::exact_router_config& router = config.exact.emplace();
  router.mode = read_word<policy::exact_mode>(object, "mode", {{"m2", policy::exact_mode::m2}, {"m1", policy::exact_mode::m1}});
  router.fairness = read_word<policy::exact_fairness>(
      object, "fairness", {{"rate", policy::exact_fairness::rate}, {"airtime", policy::exact_fairness::airtime}});
  router.eta = read<double>(object, "eta", router.eta);
  if (!(router.eta > 0 && router.eta <= 1)) throw config_error("eta: is " + std::to_string(router.eta) + "; give more than 0, at most 1");
  router.interval_us = static_cast<std::uint32_t>(1000 * read_count(object, "interval_ms", router.interval_us / 1000, 1, 60'000));
  router.hello_interval_us =
      static_cast<std::uint32_t>(1000 * read_count(object, "hello_interval_ms", router.hello_interval_us / 1000, 1, 60'000));
  config.exact_flows.all_udp = read_word<bool>(object, "udp", {{"asked", false}, {"all", true}});
  config.exact_flows.queue_packets = read_count(object, "queue_packets", config.exact_flows.queue_packets, 2, 4096);
}

void read_cwl(const json& object, node_config& config) {
  refuse_unknown(object, "cwl", {"enforce", "cgroup"});
  config.cwl_enforce =
      read_word<cwl_enforcement>(object, "enforce", {{"window", cwl_enforcement::window}, {"ebpf", cwl_enforcement::ebpf}});
  config.cwl_cgroup = read<std::string>(object, "cgroup", "/sys/fs/cgroup");
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
  refuse_unknown(object, "policy",
                 {"cwl", "cwl_packets", "round", "tcp_ack", "tcp_ack_window", "tcp_ack_whole_window", "tcp_ack_rule",
                  "tcp_ack_retransmission", "pacing"});
  using policy::cwl_kind;
  using policy::cwl_rounding;
  using policy::dca_window_rule;
  using policy::pacing_kind;
  using policy::tcp_ack_kind;
  shim::flow_policy found;
  found.cwl.kind = read_word<cwl_kind>(object, "cwl",
                                       {{"none", cwl_kind::none},
                                        {"fixed", cwl_kind::fixed},
                                        {"hop", cwl_kind::hop},
                                        {"delay", cwl_kind::delay},
                                        {"pipeline", cwl_kind::pipeline}});
  if (found.cwl.kind == cwl_kind::fixed) {
    found.cwl.fixed_packets = static_cast<std::uint32_t>(read_count(object, "cwl_packets", 0, 1, 1024));
    if (found.cwl.fixed_packets == 0) throw config_error("cwl_packets: is missing; a fixed limit needs it");
  }
  found.cwl.rounding = read_word<cwl_rounding>(object, "round", {{"half_up", cwl_rounding::half_up}, {"floor", cwl_rounding::floor}});
  found.tcp_ack.kind =
      read_word<tcp_ack_kind>(object, "tcp_ack", {{"every", tcp_ack_kind::every}, {"dca", tcp_ack_kind::dca}, {"daa", tcp_ack_kind::daa}});
  found.tcp_ack.fixed_window_packets = static_cast<std::uint32_t>(read_count(object, "tcp_ack_window", 0, 0, 255));
  found.tcp_ack.whole_window = read(object, "tcp_ack_whole_window", false);
  found.tcp_ack.rule = read_word<dca_window_rule>(object, "tcp_ack_rule",
                                                  {{"hop", dca_window_rule::hop},
                                                   {"delay", dca_window_rule::delay},
                                                   {"hop_and_delay", dca_window_rule::hop_and_delay},
                                                   {"airtime", dca_window_rule::airtime}});
  found.tcp_ack.tcp_ack_retransmission = read(object, "tcp_ack_retransmission", true);
  found.pacing.kind = read_word<pacing_kind>(
      object, "pacing",
      {{"none", pacing_kind::none}, {"window", pacing_kind::window}, {"adaptive", pacing_kind::adaptive}, {"path", pacing_kind::path}});
  return found;
}

void set_policy(const json& policy, node_config& config) {
  config.policy = parse_policy(policy);
  config.policy_json = policy.dump();
}

node_config parse_node_config(const std::string& text) {
  const json object = parse_json(text);
  refuse_unknown(object, "configuration",
                 {"name", "interface", "driver", "control_socket", "log", "queue_packets", "mtu_bytes", "policy", "policy_file", "cwl",
                  "neighbours", "exact", "rates_socket"});
  node_config config;
  config.name = read<std::string>(object, "name", "");
  config.interface = read<std::string>(object, "interface", config.interface);
  config.driver = read_driver(object.value("driver", json()));
  config.log = read_word<log_format>(object, "log", {{"text", log_format::text}, {"json", log_format::json}});
  config.control_socket = read<std::string>(object, "control_socket", "");
  config.queue_packets = read_count(object, "queue_packets", config.queue_packets, 1, 4096);
  config.mtu_bytes = static_cast<std::uint32_t>(read_count(object, "mtu_bytes", config.mtu_bytes, 576, most_ip_bytes));
  if (object.contains("policy_file")) {
    if (object.contains("policy")) throw config_error("policy: stands beside policy_file; give one of them");
    read_policy_file(read<std::string>(object, "policy_file", ""), config);
  } else {
    set_policy(object.value("policy", json::object()), config);
  }
  read_cwl(object.value("cwl", json::object()), config);
  config.rates_socket = read<std::string>(object, "rates_socket", "");
  if (object.contains("exact")) read_exact(object.at("exact"), config);
  for (const json& neighbour : object.value("neighbours", json::array())) {
    refuse_unknown(neighbour, "neighbours", {"address", "mac"});
    config.neighbours.push_back(
        {parse_address(read<std::string>(neighbour, "address", "")), parse_mac(read<std::string>(neighbour, "mac", ""))});
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
