// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/run_config.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "sim/air/samples/samples_air.hpp"

namespace perhop::air {

namespace {

using nlohmann::json;

// Smallest SINR at which a frame is received: published receiver specifications of 802.11b cards, and the minimum
// sensitivities of IEEE 802.11-2012, table 18-14, relative to 5 dB at BPSK 1/2.
const std::vector<double> default_dsss_threshold_db = {4, 7, 11, 16};
const std::vector<double> default_ofdm_threshold_db = {5, 6, 8, 10, 13, 17, 21, 22};

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string number_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

/// One object of the file. Every read names its key; finish() refuses what was not read.
class section {
public:
  section(const json& object, std::string file, std::string path) : object_(object), file_(std::move(file)), path_(std::move(path)) {
    if (!object_.is_object()) fail("", "must be an object {...}");
  }

  [[noreturn]] void fail(std::string_view key, const std::string& problem) const {
    throw config_error(file_ + ": field " + name_of(key) + ": " + problem);
  }

  bool has(const char* key) {
    note(key);
    return object_.contains(key) && !object_[key].is_null();
  }

  section object(const char* key) { return section(required(key), file_, name_of(key)); }

  const json& list(const char* key) {
    const json& value = required(key);
    if (!value.is_array()) fail(key, "must be a list [...]");
    return value;
  }
  const json& raw(const char* key) { return required(key); }
  section element(const char* key, std::size_t index) const {
    return section(object_[key][index], file_, name_of(key) + "[" + std::to_string(index) + "]");
  }

  double number(const char* key, double least, double most) {
    const json& value = required(key);
    if (!value.is_number()) fail(key, "must be a number");
    const double result = value.get<double>();
    if (!(result >= least && result <= most)) {
      fail(key, number_text(result) + " is out of range; give a number from " + number_text(least) + " to " + number_text(most));
    }
    return result;
  }
  double positive(const char* key, double most) {
    const double result = number(key, 0, most);
    if (result == 0) fail(key, "must be above 0");
    return result;
  }
  std::uint64_t integer(const char* key, std::uint64_t least, std::uint64_t most) { return integer(key, required(key), least, most); }
  std::uint64_t integer(std::string_view key, const json& value, std::uint64_t least, std::uint64_t most) const {
    const bool whole = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
    if (!whole || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > most) {
      fail(key, value.dump() + " is not a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value.get<std::uint64_t>();
  }
  bool boolean(const char* key) {
    const json& value = required(key);
    if (!value.is_boolean()) fail(key, "must be true or false");
    return value.get<bool>();
  }
  std::string text(const char* key) {
    const json& value = required(key);
    if (!value.is_string()) fail(key, "must be a string");
    return value.get<std::string>();
  }
  template <typename choice>
  choice one_of(const char* key, std::string_view what, std::initializer_list<std::pair<std::string_view, choice>> choices) {
    const std::string name = text(key);
    std::string known;
    for (const auto& [candidate, value] : choices) {
      if (candidate == name) return value;
      known += (known.empty() ? "" : ", ") + std::string(candidate);
    }
    fail(key, "unknown " + std::string(what) + " " + in_quotes(name) + "; one of " + known);
  }
  template <typename value, typename read_function>
  void optional(const char* key, value& result, read_function&& read) {
    if (has(key)) result = read(key);
  }

  void finish() const {
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      std::string names;
      for (const std::string& name : known_) names += (names.empty() ? "" : ", ") + name;
      fail(key, "unknown field; known here: " + names);
    }
  }

private:
  std::string name_of(std::string_view key) const {
    if (path_.empty()) return key.empty() ? "(whole file)" : std::string(key);
    return key.empty() ? path_ : path_ + "." + std::string(key);
  }
  void note(const char* key) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  }
  const json& required(const char* key) {
    note(key);
    const auto found = object_.find(key);
    if (found == object_.end()) fail(key, "is missing; add it");
    return *found;
  }

  const json& object_;
  std::string file_;
  std::string path_;
  std::vector<std::string> known_;
};

mac_config read_mac(section mac) {
  mac_config config;
  const std::string profile = mac.text("profile");
  config.profile = find_profile(profile);
  if (config.profile == nullptr) {
    std::string known;
    for (const timing_profile& candidate : timing_profiles()) known += (known.empty() ? "" : ", ") + std::string(candidate.name);
    mac.fail("profile", "unknown profile " + in_quotes(profile) + "; one of " + known);
  }
  config.compatibility = mac.one_of<mac_compatibility>("compat", "compatibility",
                                                       {{"standard", mac_compatibility::standard}, {"ns2", mac_compatibility::ns2}});
  if (mac.has("fidelity")) {
    config.fidelity = mac.one_of<mac_fidelity>(
        "fidelity", "fidelity", {{"core", mac_fidelity::core}, {"bytes", mac_fidelity::bytes}, {"samples", mac_fidelity::samples}});
  }
  if (mac.has("access_mode")) {
    config.access = mac.one_of<access_mode>("access_mode", "access mode",
                                            {{"dcf", access_mode::dcf}, {"csma", access_mode::csma}, {"fama", access_mode::fama}});
  }
  const auto boolean = [&](const char* key) { return mac.boolean(key); };
  config.mac_ack = config.access == access_mode::dcf;
  mac.optional("mac_ack", config.mac_ack, boolean);
  mac.optional("vacation_us", config.vacation_us, [&](const char* key) { return static_cast<std::uint32_t>(mac.integer(key, 0, 65535)); });
  mac.optional("path_header", config.path_header, boolean);
  mac.optional("four_address", config.four_address, boolean);
  config.data_rate_index = static_cast<std::uint8_t>(mac.integer("data_rate_index", 0, config.profile->rates.size() - 1));
  config.rts_threshold_bytes = static_cast<std::uint32_t>(mac.integer("rts_threshold_bytes", 0, 4095));
  config.short_retry_limit = static_cast<std::uint8_t>(mac.integer("short_retry_limit", 1, 31));
  config.long_retry_limit = static_cast<std::uint8_t>(mac.integer("long_retry_limit", 1, 31));
  config.queue_packets = static_cast<std::uint32_t>(mac.integer("queue_packets", 1, 1'000'000));
  config.average_shift = static_cast<std::uint8_t>(mac.integer("average_shift", 0, 7));
  mac.finish();
  return config;
}

samples_config read_samples(section samples) {
  samples_config config;
  // One entry a node, repeated where there are fewer.
  const auto list_of = [&](const char* key, double most) {
    std::vector<double> values;
    for (const json& value : samples.list(key)) {
      if (!value.is_number() || std::abs(value.get<double>()) > most) {
        samples.fail(key, value.dump() + " is not a number from " + number_text(-most) + " to " + number_text(most));
      }
      values.push_back(value.get<double>());
    }
    return values;
  };
  samples.optional("carrier_offset_hz", config.carrier_offset_hz, [&](const char* key) { return list_of(key, 1e6); });
  samples.optional("clock_offset_ppm", config.clock_offset_ppm, [&](const char* key) { return list_of(key, 1000); });
  const auto decibels = [&](const char* key) { return samples.number(key, 0, 60); };
  samples.optional("noise_figure_db", config.noise_figure_db, decibels);
  // The modem's scale of levels ends a little above.
  const auto full_scale = [&](const char* key) { return samples.number(key, -100, 0); };
  samples.optional("full_scale_dbm", config.full_scale_dbm, full_scale);
  if (samples.has("taps")) {
    const std::size_t taps = samples.list("taps").size();
    if (taps == 0) samples.fail("taps", "is empty; give at least one path, or leave it out");
    for (std::size_t index = 0; index < taps; ++index) {
      section tap = samples.element("taps", index);
      multipath_tap& added = config.taps.emplace_back();
      added.delay_ns = tap.number("delay_ns", 0, 100'000);
      added.gain_db = tap.number("gain_db", -100, 20);
      tap.optional("phase_deg", added.phase_deg, [&](const char* key) { return tap.number(key, -360, 360); });
      tap.finish();
    }
  }
  samples.finish();
  return config;
}

medium_config read_medium(section medium, const timing_profile& profile) {
  medium_config config;
  config.reception =
      medium.one_of<reception_kind>("reception", "reception rule", {{"ns2", reception_kind::ns2}, {"sinr", reception_kind::sinr}});
  config.loss = medium.one_of<loss_kind>(
      "loss", "loss model", {{"range", loss_kind::range}, {"two_ray", loss_kind::two_ray}, {"log_distance", loss_kind::log_distance}});
  config.tx_range_m = medium.number("tx_range_m", 1, 1e6);
  config.cs_range_m = medium.number("cs_range_m", 1, 1e6);
  if (config.cs_range_m < config.tx_range_m) {
    medium.fail("cs_range_m", number_text(config.cs_range_m) + " is less than tx_range_m (" + number_text(config.tx_range_m) +
                                  "): frames could be received unheard; give at least tx_range_m");
  }
  config.capture_ratio_db = medium.number("capture_ratio_db", 0, 200);
  if (medium.has("propagation_us")) {
    const json& value = medium.raw("propagation_us");
    if (value != "auto") {
      if (value.is_string()) medium.fail("propagation_us", in_quotes(value.get<std::string>()) + " is neither auto nor a whole number");
      config.propagation_us = static_cast<std::uint32_t>(medium.integer("propagation_us", value, 1, 1000));
    }
  }
  config.frame_error_rate = medium.number("frame_error_rate", 0, 1);
  const auto exponent = [&](const char* key) { return medium.number(key, 1, 10); };
  medium.optional("loss_exponent", config.loss_exponent, exponent);
  const auto decibels = [&](const char* key) { return medium.number(key, -200, 200); };
  medium.optional("tx_power_dbm", config.tx_power_dbm, decibels);
  medium.optional("noise_dbm", config.noise_dbm, decibels);
  medium.optional("relock_ratio_db", config.relock_ratio_db, decibels);
  if (medium.has("samples")) config.samples = read_samples(medium.object("samples"));
  config.sinr_threshold_db = profile.symbol_us == 0 ? default_dsss_threshold_db : default_ofdm_threshold_db;
  if (medium.has("sinr_threshold_db")) {
    const json& values = medium.list("sinr_threshold_db");
    config.sinr_threshold_db.clear();
    for (const json& value : values) {
      if (!value.is_number()) medium.fail("sinr_threshold_db", value.dump() + " is not a number");
      config.sinr_threshold_db.push_back(value.get<double>());
    }
    if (config.sinr_threshold_db.size() != profile.rates.size()) {
      medium.fail("sinr_threshold_db", "has " + std::to_string(config.sinr_threshold_db.size()) + " values; profile " +
                                           std::string(profile.name) + " has " + std::to_string(profile.rates.size()) + " rates");
    }
  }
  medium.finish();
  return config;
}

void read_tcp_ack_policy(section& policy, flow_config& config) {
  if (policy.has("tcp_ack")) {
    config.tcp_ack = policy.one_of<tcp_ack_policy>(
        "tcp_ack", "TCP ACK policy", {{"every", tcp_ack_policy::every}, {"dca", tcp_ack_policy::dca}, {"daa", tcp_ack_policy::daa}});
  }
  const bool dca = config.tcp_ack == tcp_ack_policy::dca;
  // What only DCA has may be written for others too, at its default.
  const auto boolean = [&](const char* key) { return policy.boolean(key); };
  // A path header counts up to 255 packets in flight.
  policy.optional("tcp_ack_window", config.tcp_ack_window,
                  [&](const char* key) { return static_cast<std::uint32_t>(policy.integer(key, 0, 255)); });
  policy.optional("tcp_ack_whole_window", config.tcp_ack_whole_window, boolean);
  policy.optional("tcp_ack_retransmission", config.tcp_ack_retransmission, boolean);
  if (policy.has("tcp_ack_rule")) {
    config.tcp_ack_window_by = policy.one_of<tcp_ack_rule>("tcp_ack_rule", "rule",
                                                           {{"hop", tcp_ack_rule::hop},
                                                            {"delay", tcp_ack_rule::delay},
                                                            {"hop_and_delay", tcp_ack_rule::hop_and_delay},
                                                            {"airtime", tcp_ack_rule::airtime}});
  }
  const auto only_dca = [&](const char* key, bool set) {
    if (set && !dca) policy.fail(key, "has a meaning with tcp_ack dca only; leave it out");
  };
  only_dca("tcp_ack_window", config.tcp_ack_window != 0);
  only_dca("tcp_ack_whole_window", config.tcp_ack_whole_window);
  only_dca("tcp_ack_retransmission", !config.tcp_ack_retransmission);
  only_dca("tcp_ack_rule", config.tcp_ack_window_by != tcp_ack_rule::hop);
  if (config.tcp_ack_window != 0 && config.tcp_ack_whole_window) {
    policy.fail("tcp_ack_window", "must be 0 with tcp_ack_whole_window");
  }
}

// A packet of cbr begins with its number and the time it left; one of the largest MPDU leaves room for the headers.
constexpr std::uint64_t least_payload_bytes = 12;
constexpr std::uint64_t most_payload_bytes = 2200;

void read_exact_flow(section& flow, flow_config& config) {
  config.application = flow.one_of<exact_application>("application", "application",
                                                      {{"greedy", exact_application::greedy}, {"audio", exact_application::audio}});
  const auto rate = [&](const char* key) { return flow.number(key, 0, 1e9); };
  flow.optional("demand_bps", config.demand_bps, rate);
  const auto seconds = [&](const char* key) { return flow.number(key, 0, 1e6); };
  flow.optional("diid_s", config.diid_s, seconds);
  const auto weight = [&](const char* key) { return flow.number(key, 1e-3, 1e3); };
  flow.optional("weight", config.weight, weight);
}

exact_config read_exact(section exact, std::size_t nodes) {
  exact_config config;
  config.mode = exact.one_of<exact_mode>("mode", "mode", {{"m1", exact_mode::m1}, {"m2", exact_mode::m2}});
  config.fairness =
      exact.one_of<exact_fairness>("fairness", "fairness", {{"rate", exact_fairness::rate}, {"airtime", exact_fairness::airtime}});
  config.eta = exact.positive("eta", 1);
  config.interval_ms = static_cast<std::uint32_t>(exact.integer("interval_ms", 1, 60'000));
  const auto milliseconds = [&](const char* key) { return static_cast<std::uint32_t>(exact.integer(key, 1, 60'000)); };
  exact.optional("hello_interval_ms", config.hello_interval_ms, milliseconds);
  const auto yes_or_no = [&](const char* key) { return exact.boolean(key); };
  exact.optional("packets", config.packets, yes_or_no);
  if (exact.has("silent_routers")) {
    const json& list = exact.list("silent_routers");
    for (std::size_t index = 0; index < list.size(); ++index) {
      const std::string name = "silent_routers[" + std::to_string(index) + "]";
      config.silent_routers.push_back(static_cast<node_id>(exact.integer(name, list[index], 0, nodes - 1)));
    }
  }
  exact.finish();
  return config;
}

flow_config read_flow(section flow, std::size_t nodes) {
  flow_config config;
  config.kind = flow.one_of<flow_kind>("kind", "flow kind",
                                       {{"tcp", flow_kind::tcp},
                                        {"cbr", flow_kind::cbr},
                                        {"exact", flow_kind::exact},
                                        {"mac_saturated", flow_kind::mac_saturated},
                                        {"mac_poisson", flow_kind::mac_poisson}});
  config.src = static_cast<node_id>(flow.integer("src", 0, nodes - 1));
  config.dst = static_cast<node_id>(flow.integer("dst", 0, nodes - 1));
  if (config.src == config.dst) flow.fail("dst", "is src itself; name another node");
  const auto seconds = [&](const char* key) { return flow.number(key, 0, 1e9); };
  flow.optional("start_s", config.start_s, seconds);
  flow.optional("stop_s", config.stop_s, seconds);
  if (config.stop_s && *config.stop_s <= config.start_s) flow.fail("stop_s", "must be later than start_s");

  if (config.kind == flow_kind::cbr || config.kind == flow_kind::exact) {
    config.payload_bytes = static_cast<std::uint32_t>(flow.integer("payload_bytes", least_payload_bytes, most_payload_bytes));
    if (config.kind == flow_kind::cbr) {
      config.rate_bps = flow.positive("rate_bps", 1e9);
      const auto packets = [&](const char* key) { return static_cast<std::uint32_t>(flow.integer(key, 1, 1000)); };
      flow.optional("burst_packets", config.burst_packets, packets);
    } else {
      read_exact_flow(flow, config);
    }
    flow.finish();
    return config;
  }
  if (config.kind != flow_kind::tcp) {
    config.ip_bytes = static_cast<std::uint32_t>(flow.integer("ip_bytes", 1, 4000));
    config.path_header = flow.boolean("path_header");
    if (config.kind == flow_kind::mac_poisson) config.rate_packets_per_s = flow.positive("rate_packets_per_s", 1e6);
    flow.finish();
    return config;
  }
  config.variant = flow.text("variant");
  config.sack = flow.boolean("sack");
  config.segment_bytes = static_cast<std::uint32_t>(flow.integer("segment_bytes", 1, 4000));
  config.tcp_ack_every = static_cast<std::uint32_t>(flow.integer("tcp_ack_every", 1, 1000));
  const auto milliseconds = [&](const char* key) { return static_cast<std::uint32_t>(flow.integer(key, 1, 60000)); };
  flow.optional("min_rto_ms", config.min_rto_ms, milliseconds);
  config.max_window_packets = static_cast<std::uint32_t>(flow.integer("max_window_packets", 0, 1'000'000));
  section policy = flow.object("policy");
  config.cwl = policy.one_of<cwl_policy>("cwl", "policy",
                                         {{"none", cwl_policy::none},
                                          {"fixed", cwl_policy::fixed},
                                          {"hop", cwl_policy::hop},
                                          {"delay", cwl_policy::delay},
                                          {"pipeline", cwl_policy::pipeline}});
  const auto packets = [&](const char* key) { return static_cast<std::uint32_t>(policy.integer(key, 0, 1'000'000)); };
  policy.optional("cwl_packets", config.cwl_packets, packets);
  if (config.cwl == cwl_policy::fixed && config.cwl_packets == 0) policy.fail("cwl_packets", "must be at least 1 with cwl fixed");
  if (policy.has("round")) {
    config.round = policy.one_of<cwl_rounding>("round", "rounding", {{"half_up", cwl_rounding::half_up}, {"floor", cwl_rounding::floor}});
  }
  read_tcp_ack_policy(policy, config);
  if (config.tcp_ack != tcp_ack_policy::every && config.tcp_ack_every != 1) {
    flow.fail("tcp_ack_every", "must be 1 where policy.tcp_ack decides when TCP ACKs are sent");
  }
  if (policy.has("pacing")) {
    config.pacing = policy.one_of<pacing_policy>("pacing", "pacing",
                                                 {{"none", pacing_policy::none},
                                                  {"window", pacing_policy::window},
                                                  {"adaptive", pacing_policy::adaptive},
                                                  {"path", pacing_policy::path}});
  }
  policy.finish();
  flow.finish();
  return config;
}

output_config read_outputs(section outputs) {
  output_config config;
  config.directory = outputs.text("directory");
  if (config.directory.empty()) outputs.fail("directory", "is empty; name a directory");
  config.pcapng = outputs.boolean("pcapng");
  config.trace = outputs.boolean("trace");
  config.completions = outputs.boolean("completions");
  config.interval_s = outputs.number("interval_s", 1e-3, 1e9);
  outputs.finish();
  return config;
}

std::vector<route_config> read_routes(section& run, std::size_t nodes) {
  std::vector<route_config> routes;
  const json& list = run.list("routes");
  for (std::size_t index = 0; index < list.size(); ++index) {
    const std::string name = "routes[" + std::to_string(index) + "]";
    const json& route = list[index];
    if (!route.is_array() || route.size() != 3) run.fail(name, "must be [node, destination, next_hop]");
    const auto node = [&](std::size_t place) { return static_cast<node_id>(run.integer(name, route[place], 0, nodes - 1)); };
    routes.push_back({node(0), node(1), node(2)});
  }
  return routes;
}

event_config read_event(section event, std::size_t nodes) {
  using event_kind = event_config::event_kind;
  event_config config;
  config.at_s = event.number("at_s", 0, 1e9);
  config.kind = event.one_of<event_kind>("kind", "event",
                                         {{"route", event_kind::route},
                                          {"link_down", event_kind::link_down},
                                          {"link_up", event_kind::link_up},
                                          {"node_down", event_kind::node_down},
                                          {"node_up", event_kind::node_up},
                                          {"move", event_kind::move},
                                          {"loss", event_kind::loss}});
  const auto node = [&](const char* key) { return static_cast<node_id>(event.integer(key, 0, nodes - 1)); };
  switch (config.kind) {
    case event_kind::route: {
      const json& path = event.list("path");
      for (const json& place : path) config.path.push_back(static_cast<node_id>(event.integer("path", place, 0, nodes - 1)));
      if (config.path.size() < 2) event.fail("path", "must name at least two nodes");
      for (std::size_t first = 0; first < path.size(); ++first) {
        if (std::count(config.path.begin(), config.path.end(), config.path[first]) > 1) {
          event.fail("path", "visits node " + std::to_string(config.path[first]) + " twice");
        }
      }
      event.optional("both_ways", config.both_ways, [&](const char* key) { return event.boolean(key); });
      break;
    }
    case event_kind::link_down:
    case event_kind::link_up:
      config.a = node("a");
      config.b = node("b");
      if (config.a == config.b) event.fail("b", "is a itself; name two different nodes");
      break;
    case event_kind::node_down:
    case event_kind::node_up:
      config.a = node("node");
      break;
    case event_kind::loss:
      config.frame_error_rate = event.number("frame_error_rate", 0, 1);
      break;
    case event_kind::move:
      config.a = node("node");
      config.position = {event.number("x_m", -1e7, 1e7), event.number("y_m", -1e7, 1e7)};
      break;
  }
  event.finish();
  return config;
}

std::vector<event_config> read_events(section& run, std::size_t nodes) {
  std::vector<event_config> events;
  for (std::size_t index = 0; index < run.list("events").size(); ++index) {
    events.push_back(read_event(run.element("events", index), nodes));
    if (index > 0 && events[index].at_s < events[index - 1].at_s) {
      run.fail("events[" + std::to_string(index) + "].at_s", "is earlier than that of the event before; list events in order of time");
    }
  }
  return events;
}

}  // namespace

std::optional<node_id> run_config::next_hop(node_id node, node_id destination) const {
  for (const route_config& route : routes) {
    if (route.node == node && route.destination == destination) return route.next_hop;
  }
  return std::nullopt;
}

std::vector<node_id> run_config::path(node_id src, node_id dst) const {
  std::vector<node_id> nodes = {src};
  while (nodes.back() != dst) {
    const auto next = next_hop(nodes.back(), dst);
    if (!next || nodes.size() > air.nodes.size()) return {};
    nodes.push_back(*next);
  }
  return nodes;
}

run_config parse_run_config(const std::string& text, const std::string& name) {
  json document;
  try {
    document = json::parse(text);
  } catch (const json::parse_error& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    throw config_error(name + ": line " + std::to_string(1 + std::count(text.begin(), end, '\n')) + ": no valid JSON (" + error.what() +
                       ")");
  }

  section run(document, name, "");
  run_config config;
  run.integer("schema", 1, 1);
  config.label = run.text("label");
  config.seed = run.integer("seed", 0, ~std::uint64_t{0});
  config.duration_s = run.positive("duration_s", 1e9);
  config.warmup_s = run.number("warmup_s", 0, 1e9);
  if (config.warmup_s >= config.duration_s) run.fail("warmup_s", "leaves nothing to measure; give less than duration_s");
  config.air.seed = config.seed;
  config.air.mac = read_mac(run.object("mac"));
  config.air.medium = read_medium(run.object("medium"), *config.air.mac.profile);
  config.air.warp = run.one_of<warp_mode>(
      "warp", "warp mode", {{"on", warp_mode::on}, {"all_nodes", warp_mode::all_nodes}, {"every_tick", warp_mode::every_tick}});

  const std::size_t nodes = run.list("nodes").size();
  if (nodes == 0) run.fail("nodes", "is empty; give at least one");
  for (std::size_t index = 0; index < nodes; ++index) {
    section node = run.element("nodes", index);
    config.air.nodes.push_back({node.number("x_m", -1e7, 1e7), node.number("y_m", -1e7, 1e7)});
    node.finish();
  }
  config.routes = read_routes(run, nodes);
  if (run.has("routing")) {
    config.routing =
        run.one_of<routing_kind>("routing", "routing protocol", {{"static", routing_kind::fixed}, {"aodv", routing_kind::aodv}});
  }
  if (run.has("link_failure")) {
    config.link_failure = run.one_of<link_failure_kind>("link_failure", "answer to a failed link",
                                                        {{"ignore", link_failure_kind::ignore}, {"purge", link_failure_kind::purge}});
  }
  if (run.has("events")) config.events = read_events(run, nodes);
  const std::size_t flows = run.list("flows").size();
  for (std::size_t index = 0; index < flows; ++index) {
    config.flows.push_back(read_flow(run.element("flows", index), nodes));
    const flow_config& flow = config.flows.back();
    const bool measures = flow.cwl != cwl_policy::none || flow.tcp_ack != tcp_ack_policy::every || flow.pacing != pacing_policy::none;
    if (!config.air.mac.path_header && (flow.kind == flow_kind::exact || measures)) {
      run.fail("flows[" + std::to_string(index) + "]", "has a policy, which needs the path header; set mac.path_header to true");
    }
    const bool unreachable = config.path(flow.src, flow.dst).empty() || (answers(flow.kind) && config.path(flow.dst, flow.src).empty());
    if (has_ip(flow.kind) && unreachable) {
      run.fail("flows[" + std::to_string(index) + "].dst", "routes do not lead from node " + std::to_string(flow.src) + " to node " +
                                                               std::to_string(flow.dst) + " and back; add them to routes");
    }
  }
  if (run.has("exact")) config.exact = read_exact(run.object("exact"), nodes);
  config.outputs = read_outputs(run.object("outputs"));
  if (config.air.mac.fidelity == mac_fidelity::samples) {
    const std::string complaint = samples::samples_complaint(config.air);
    if (!complaint.empty()) throw config_error(name + ": field " + complaint);
    for (std::size_t index = 0; index < config.events.size(); ++index) {
      if (config.events[index].kind != event_config::event_kind::loss) continue;
      run.fail("events[" + std::to_string(index) + "].kind",
               "at fidelity samples no frame is lost but by its waveform; leave the event out, or set mac.fidelity to core or bytes");
    }
  }
  config.air.tell_losses = config.outputs.pcapng;
  if (config.outputs.pcapng && config.air.mac.four_address && config.air.mac.fidelity == mac_fidelity::core) {
    run.fail("outputs.pcapng", "of frames with four addresses needs the framer; set mac.fidelity to bytes, or mac.four_address to false");
  }
  run.finish();
  return config;
}

run_config load_run_config(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw config_error(file.string() + ": cannot be read; give the path of a run.json");
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  return parse_run_config(text, file.filename().string());
}

}  // namespace perhop::air
