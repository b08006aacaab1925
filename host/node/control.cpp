// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/control.hpp"

#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "host/node/log.hpp"
#include "host/node/rate_server.hpp"
#include "host/sockets/json_message.hpp"

namespace perhop::node {

namespace {

using nlohmann::json;

constexpr std::size_t most_flows_told = 128;

const char* text_of(shim::no_effect why) {
  switch (why) {
    case shim::no_effect::none:
      break;
    case shim::no_effect::path_unknown:
      return "no path header of the other end has told of the path";
    case shim::no_effect::round_trip_unknown:
      return "no round trip has been measured";
    case shim::no_effect::window_unknown:
      return "there is no congestion window to pace by";
    case shim::no_effect::one_medium:
      return "a path of up to 3 hops is not paced by its path";
    case shim::no_effect::signed_segments:
      return "segments are signed (TCP-MD5 or TCP-AO), which covers the window; `enforce: ebpf` limits them";
    case shim::no_effect::own_failed:
      return "the policy of one's own has failed; the log says how";
  }
  return "";
}

std::string text_of(const shim::ip_address& address) {
  std::array<std::uint8_t, 16> bytes;
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::uint8_t>(address.high >> 8 * (7 - i));
    bytes[i + 8] = static_cast<std::uint8_t>(address.low >> 8 * (7 - i));
  }
  const bool ipv4 = address.is_ipv4();
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(ipv4 ? AF_INET : AF_INET6, ipv4 ? &bytes[12] : bytes.data(), text.data(), text.size());
  return text.data();
}

double cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

json flow_of(const packet_path::flow_report& flow) {
  json object{{"source", text_of(flow.key.source)},           {"source_port", flow.key.source_port},
              {"destination", text_of(flow.key.destination)}, {"destination_port", flow.key.destination_port},
              {"packets_in_flight", flow.packets_in_flight},  {"most_in_flight", flow.most_in_flight}};
  if (flow.cwl_packets) object["cwl_packets"] = *flow.cwl_packets;
  if (flow.pacing_interval_us != 0) object["pacing_interval_us"] = flow.pacing_interval_us;
  if (const auto parts = parts_without_effect({flow}); !parts.empty()) object["without_effect"] = parts;
  if (flow.path) {
    object["path"] = {{"forward_hops", flow.path->forward_hops},         {"return_hops", flow.path->return_hops},
                      {"forward_total_us", flow.path->forward_total_us}, {"forward_max_us", flow.path->forward_max_us},
                      {"return_total_us", flow.path->return_total_us},   {"wired_round_trip_us", flow.path->wired_round_trip_us}};
  }
  return object;
}

std::string identity_text(std::uint64_t flow) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(flow));
  return text.data();
}

json exact_of(const packet_path& path, const exact_flows& exact) {
  const hop::exact_ends_counters& c = exact.counters();
  json object{{"sent", c.sent},
              {"refused", exact.refused()},
              {"reports_sent", c.reports_sent},
              {"reports", c.reports},
              {"unknown_reports", c.unknown_reports},
              {"restarts", c.restarts},
              {"sinks", exact.sinks()},
              {"hellos_sent", path.counters().hellos_sent},
              {"hellos", path.counters().hellos},
              {"peers_lost", path.counters().peers_lost}};
  object["sources"] = json::array();
  for (const auto& [key, known] : exact.sources()) {
    json source = json::parse(text_of(exact_flows::state_of(known)));
    source["flow"] = identity_text(shim::shim::flow_identity(key));
    source["source"] = text_of(key.source);
    source["source_port"] = key.source_port;
    source["destination"] = text_of(key.destination);
    source["destination_port"] = key.destination_port;
    object["sources"].push_back(std::move(source));
  }
  if (const policy::exact_router* router = path.shim() != nullptr ? path.shim()->exact() : nullptr) {
    object["mode"] = router->config().mode == policy::exact_mode::m1 ? "m1" : "m2";
    object["load"] = router->load();
    object["usable_share"] = router->usable_share();
    object["other_share"] = router->other_share();
    object["nodes_known"] = router->neighbourhood().nodes();
    object["links"] = json::array();
    router->neighbourhood().for_each_link([&object](std::uint32_t from, std::uint32_t to, std::uint32_t flows, double busy) {
      object["links"].push_back({{"from", from}, {"to", to}, {"flows", flows}, {"busy", busy}});
    });
    object["allocations"] = json::array();
    router->for_each_flow([&object](std::uint64_t flow, std::uint8_t, double allocation_bps) {
      object["allocations"].push_back({{"flow", identity_text(flow)}, {"allocation_bps", allocation_bps}});
    });
  }
  return object;
}

json neighbour_of(time_us now, const packet_path& path, std::uint8_t slot, const neighbour_account& account) {
  json parts;
  for (std::size_t part = 0; part < service_time_parts.size(); ++part) parts[service_time_parts[part].name] = account.parts_us[part];
  json addresses = json::array();
  for (const shim::ip_address& address : path.known_neighbours().addresses_of(account.address)) addresses.push_back(text_of(address));
  json object{{"slot", slot},
              {"mac", text_of_mac(account.address)},
              {"addresses", addresses},
              {"data_rate", path.mac() ? json(path.data_rate_to(account.address)) : json()},
              {"packets", account.packets},
              {"drops", account.drops},
              {"bytes", account.bytes},
              {"rts_attempts", account.rts_attempts},
              {"data_attempts", account.data_attempts},
              {"retries", account.retries},
              {"sum_mismatches", account.sum_mismatches},
              {"given", account.given},
              {"host_queue_us", account.host_queue_us},
              {"queued_packets", path.queued_packets(slot)},
              {"service_us", account.service_us},
              {"longest_service_us", account.longest_service_us},
              {"histogram", account.histogram},
              {"parts_us", parts}};
  if (account.packets != 0) {
    const completion_record& last = account.last;
    const auto steps = [](std::uint32_t value, std::uint32_t unit) { return static_cast<double>(value) / static_cast<double>(unit); };
    object["average"] = {{"contention_us", steps(last.avg_contention_us16, neighbour_average_steps_per_us)},
                         {"overhead_us", steps(last.avg_overhead_us16, neighbour_average_steps_per_us)},
                         {"data_attempts", steps(last.avg_data_attempts_256, neighbour_attempt_steps)}};
    object["last"] = {{"bytes", last.bytes}, {"rate", last.rate}, {"cw", last.cw}, {"service_us", last.t_done_us - last.t_head_us}};
    object["idle_us"] = now - account.last_done;
  }
  return object;
}

json traffic_of(time_us now, const flow_account& account) {
  constexpr std::array<const char*, 3> roles{"originated", "forwarded", "received"};
  return {{"source", text_of(account.key.source)},
          {"source_port", account.key.source_port},
          {"destination", text_of(account.key.destination)},
          {"destination_port", account.key.destination_port},
          {"protocol", account.key.protocol},
          {"role", roles[static_cast<std::size_t>(account.role)]},
          {"packets", account.packets},
          {"bytes", account.bytes},
          {"idle_us", now - account.last_used}};
}

json status(time_us now, const node_config& config, const packet_path& path, const linux_kernel& kernel, const drivers::driver& driver,
            const bpf::window_clamp* clamp) {
  const path_counters& c = path.counters();
  json object{{"ok", true},
              {"name", config.name},
              {"interface", config.interface},
              {"policy", json::parse(config.policy_json)},
              {"mac_up", path.is_up()},
              {"mac_problem", path.mac_problem()},
              {"time_us", now},
              {"queued_packets", path.queued_packets()},
              {"mtu_bytes", config.mtu_bytes},
              {"queue_limit_packets", config.queue_packets},
              {"cpu_s", cpu_s()},
              {"driver",
               {{"ups", driver.counters().ups},
                {"malformed", driver.counters().malformed},
                {"lost", driver.counters().lost},
                {"refused", driver.counters().refused},
                {"overflows", driver.counters().overflows},
                {"late", driver.counters().late},
                {"sequence_errors", driver.counters().sequence_errors},
                {"rx_samples_lost", driver.counters().rx_samples_lost},
                {"tx_samples_late", driver.counters().tx_samples_late},
                {"times_lost", driver.counters().times_lost}}},
              {"radio_time", radio_time_of(driver)},
              {"routes", {{"lookups", kernel.table().lookups()}, {"changes", kernel.table().changes()}}},
              {"packets",
               {{"from_ip", c.from_ip},
                {"to_ip", c.to_ip},
                {"forwarded", c.forwarded},
                {"queue_drops", c.queue_drops},
                {"mac_drops", c.mac_drops},
                {"completions", c.completions},
                {"no_neighbour", c.no_neighbour},
                {"no_route", c.no_route},
                {"malformed", c.malformed},
                {"foreign", c.foreign},
                {"tcp_acks_held", c.tcp_acks_held},
                {"paced", c.paced},
                {"data_segments", c.data_segments},
                {"former_peers", c.former_peers},
                {"bare_tcp_acks", c.bare_tcp_acks},
                {"early_syns", c.early_syns},
                {"plain", c.plain},
                {"window_untold", c.window_untold},
                {"fragmented", c.fragmented},
                {"too_big", c.too_big},
                {"mac_refused", c.mac_refused},
                {"mac_lost", c.mac_lost},
                {"mac_stalls", c.mac_stalls},
                {"unknown_completions", c.unknown_completions},
                {"newcomers_refused", path.known_neighbours().newcomers_refused()},
                {"not_delivered", kernel.not_delivered()}}}};
  object["cwl"] = {{"enforce", clamp == nullptr ? "window" : "ebpf"}};
  if (clamp != nullptr) {
    const bpf::window_clamp::counters& counted = clamp->counted();
    object["cwl"].update({{"changes", counted.changes}, {"scans", counted.scans}, {"failed", counted.failed}});
  }
  if (path.mac()) {
    const drivers::mac_properties& mac = *path.mac();
    object["mac"] = {{"address", text_of_mac(mac.address)},
                     {"profile", std::string(mac.profile->name)},
                     {"data_rate", mac.data_rate_index},
                     {"data_rate_bps", mac.profile->rates[mac.data_rate_index].bps},
                     {"rts_threshold_bytes", mac.rts_threshold_bytes}};
  }
  if (const shim::shim* shim = path.shim()) {
    const shim::shim_counters& s = shim->counters();
    object["shim"] = {{"originated", s.originated},
                      {"forwarded", s.forwarded},
                      {"received", s.received},
                      {"windows_rewritten", s.windows_rewritten},
                      {"malformed", s.malformed()},
                      {"silent_router_seen", s.silent_router_seen},
                      {"unknown_flow", s.unknown_flow},
                      {"flows", shim->flows()},
                      {"late_syns", s.late_syns},
                      {"signed_segments", s.signed_segments},
                      {"stranger_flows", shim->stranger_flows()}};
  }
  if (const exact_flows* exact = path.exact()) object["exact"] = exact_of(path, *exact);
  // A message of a Unix socket has an end: the flows used last.
  std::vector<packet_path::flow_report> flows = path.flows();
  std::sort(flows.begin(), flows.end(), [](const auto& one, const auto& other) { return one.last_used > other.last_used; });
  if (flows.size() > most_flows_told) flows.resize(most_flows_told);
  object["without_effect"] = parts_without_effect(flows);
  object["flows"] = json::array();
  for (const packet_path::flow_report& flow : flows) object["flows"].push_back(flow_of(flow));
  object["traffic"] = json::array();
  for (const flow_account& account : path.flow_sums().latest(most_flows_told)) object["traffic"].push_back(traffic_of(now, account));
  object["neighbours"] = json::array();
  for (std::uint8_t slot = 0; slot < neighbour_slots; ++slot) {
    const neighbour_account& account = path.neighbour_sums().all()[slot];
    if (account.address != 0) object["neighbours"].push_back(neighbour_of(now, path, slot, account));
  }
  return object;
}

}  // namespace

json radio_time_of(const drivers::driver& driver) {
  const auto time = driver.time();
  if (!time) return nullptr;
  return {{"by_pulses", time->by_pulses},
          {"host_ahead_s", time->host_ahead_s},
          {"pulse_offset_us", time->pulse_offset_us},
          {"corrections", time->corrections}};
}

std::vector<std::string> parts_without_effect(const std::vector<packet_path::flow_report>& flows) {
  std::vector<std::string> sentences;
  const auto tell = [&sentences](const char* part, shim::no_effect why) {
    if (why == shim::no_effect::none) return;
    std::string sentence = std::string(part) + " has no effect: " + text_of(why);
    if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end()) sentences.push_back(std::move(sentence));
  };
  for (const packet_path::flow_report& flow : flows) {
    tell("the window limit", flow.limit_without_effect);
    tell("the pacing", flow.pacing_without_effect);
  }
  return sentences;
}

std::string answer(std::string_view asked, time_us now, node_config& config, packet_path& path, const linux_kernel& kernel,
                   const drivers::driver& driver, const bpf::window_clamp* clamp) {
  const json command = sockets::parse_message(asked);
  try {
    if (!command.is_object()) throw config_error("is no JSON object");
    const std::string name = command.at("command").get<std::string>();
    if (name == "status") return status(now, config, path, kernel, driver, clamp).dump();
    if (name == "policy") {
      load_own_policy(parse_policy(command.at("policy")));
      set_policy(command.at("policy"), config);
      path.set_policy(now, config.policy);
      log("policy", {{"policy", config.policy_json}});
      return R"({"ok": true})";
    }
    throw config_error("there is no command '" + name + "'");
  } catch (const std::exception& error) {
    return json{{"ok", false}, {"error", error.what()}}.dump(-1, ' ', false, json::error_handler_t::replace);
  }
}

}  // namespace perhop::node
