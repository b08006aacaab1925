// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/run/run_config.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "sim/air/samples/samples_air.hpp"
#include "sim/run/air_fields.hpp"
#include "sim/run/json_section.hpp"
#include "sim/run/table_fields.hpp"

namespace perhop::run {

using air::warp_mode;
using nlohmann::json;

namespace {

/// A list of nodes of this name.
std::vector<node_id> read_nodes(json_section& section, const char* key, std::size_t nodes) {
  std::vector<node_id> found;
  if (!section.has(key)) return found;
  const json& list = section.list(key);
  for (std::size_t index = 0; index < list.size(); ++index) {
    const std::string name = std::string(key) + "[" + std::to_string(index) + "]";
    found.push_back(static_cast<node_id>(section.integer(name, list[index], 0, nodes - 1)));
  }
  return found;
}

output_config read_outputs(json_section outputs, std::size_t radios) {
  output_config config;
  config.directory = outputs.text("directory");
  if (config.directory.empty()) outputs.fail("directory", "is empty; name a directory");
  config.pcapng = outputs.boolean("pcapng");
  config.pcapng_nodes = read_nodes(outputs, "pcapng_nodes", radios);
  config.trace = outputs.boolean("trace");
  config.completions = outputs.boolean("completions");
  config.interval_s = outputs.number("interval_s", 1e-3, 1e9);
  outputs.finish();
  return config;
}

std::pair<node_id, node_id> way_of(const route_config& route) { return {route.node, route.destination}; }

std::vector<route_config> read_routes(json_section& run, std::size_t nodes) {
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

std::vector<air::link_rate> read_links(json_section& run, std::size_t nodes, std::size_t rates) {
  std::vector<air::link_rate> links;
  std::set<std::pair<node_id, node_id>> known;
  for (std::size_t index = 0; index < run.list("links").size(); ++index) {
    json_section link = run.element("links", index);
    const auto node = [&](const char* key) { return static_cast<node_id>(link.integer(key, 0, nodes - 1)); };
    const node_id from = node("from"), to = node("to");
    if (from == to) link.fail("to", "is from itself; name another node");
    if (!known.emplace(from, to).second) {
      run.fail("links[" + std::to_string(index) + "]", "gives the rate from node " + std::to_string(from) + " to node " +
                                                           std::to_string(to) + " a second time; remove one of the two");
    }
    links.push_back({from, to, static_cast<std::uint8_t>(link.integer("data_rate_index", 0, rates - 1))});
    link.finish();
  }
  return links;
}

/// Who has no radio is reached over wires alone.
bool can_cross(const run_config& config, node_id here, node_id there) {
  return std::max(here, there) < config.air.nodes.size() || config.wired(here, there);
}

std::string no_wire(node_id here, node_id there) {
  return "leads from node " + std::to_string(here) + " to node " + std::to_string(there) +
         ", of which one has no radio, and no wire joins the two; add it to wires";
}

std::vector<event_config> read_events(json_section& run, const run_config& config) {
  std::vector<event_config> events;
  for (std::size_t index = 0; index < run.list("events").size(); ++index) {
    events.push_back(read_event(run.element("events", index), config.air.nodes.size(), config.node_count()));
    const std::vector<node_id>& path = events.back().path;
    for (std::size_t hop = 1; hop < path.size(); ++hop) {
      if (!can_cross(config, path[hop - 1], path[hop])) {
        run.fail("events[" + std::to_string(index) + "].path", no_wire(path[hop - 1], path[hop]));
      }
    }
    if (index > 0 && events[index].at_s < events[index - 1].at_s) {
      run.fail("events[" + std::to_string(index) + "].at_s", "is earlier than that of the event before; list events in order of time");
    }
  }
  return events;
}

std::vector<program_config> read_programs(json_section& run, std::size_t radios, double duration_s) {
  std::vector<program_config> programs;
  for (std::size_t index = 0; index < run.list("programs").size(); ++index) {
    json_section program = run.element("programs", index);
    program_config config{.node = static_cast<node_id>(program.integer("node", 0, radios - 1)),
                          .start_s = program.number("start_s", 0, duration_s),
                          .command = program.text("command"),
                          .initramfs = program.text("initramfs")};
    if (config.command.empty()) program.fail("command", "is empty; name a program of the initramfs");
    if (config.command.find('\n') != std::string::npos) program.fail("command", "must be one line");
    program.optional("traced", config.traced, [&](const char* key) { return program.boolean(key); });
    program.finish();
    programs.push_back(std::move(config));
  }
  return programs;
}

exact_config read_exact(json_section object, std::size_t nodes) {
  exact_config config;
  table_fields fields(std::move(object));
  policy::read_exact_settings(fields, config.router);
  config.packets = fields.flag("packets", false);
  json_section& exact = fields.section();
  config.silent_routers = read_nodes(exact, "silent_routers", nodes);
  fields.finish();
  return config;
}

policy::swan_settings read_swan(json_section object) {
  policy::swan_settings settings;
  table_fields fields(std::move(object));
  policy::read_swan_settings(fields, settings);
  fields.finish();
  return settings;
}

}  // namespace

bool run_config::wired(node_id a, node_id b) const {
  return std::ranges::any_of(wires, [a, b](const wire_config& wire) { return wire.joins(a, b); });
}

std::optional<node_id> run_config::next_hop(node_id node, node_id destination) const {
  const std::pair way(node, destination);
  const auto found = std::ranges::lower_bound(routes, way, {}, way_of);
  return found != routes.end() && way_of(*found) == way ? std::optional(found->next_hop) : std::nullopt;
}

std::vector<node_id> run_config::path(node_id src, node_id dst) const {
  std::vector<node_id> nodes = {src};
  while (nodes.back() != dst) {
    const auto next = next_hop(nodes.back(), dst);
    if (!next || nodes.size() > node_count()) return {};
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

  json_section run(document, name, "");
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

  const std::size_t radios = run.list("nodes").size();
  if (radios == 0) run.fail("nodes", "is empty; give at least one");
  for (std::size_t index = 0; index < radios; ++index) {
    json_section node = run.element("nodes", index);
    config.air.nodes.push_back({node.number("x_m", -1e7, 1e7), node.number("y_m", -1e7, 1e7)});
    node.finish();
  }
  if (run.has("servers")) config.servers = run.integer("servers", 0, most_servers);
  const std::size_t nodes = config.node_count();
  config.wires = read_wires(run, nodes, radios);
  if (run.has("links")) config.air.mac.link_rates = read_links(run, radios, config.air.mac.profile->rates.size());
  config.routes = read_routes(run, nodes);
  for (std::size_t index = 0; index < config.routes.size(); ++index) {
    const route_config& route = config.routes[index];
    if (!can_cross(config, route.node, route.next_hop)) {
      run.fail("routes[" + std::to_string(index) + "]", no_wire(route.node, route.next_hop));
    }
  }
  // For next_hop(). Of two for the same way the first in the file stays the first.
  std::ranges::stable_sort(config.routes, {}, way_of);
  if (run.has("routing")) {
    config.routing = run.one_of<routing_kind>(
        "routing", "routing protocol",
        {{"static", routing_kind::fixed}, {"aodv", routing_kind::aodv}, {"dsr", routing_kind::dsr}, {"gpsr", routing_kind::gpsr}});
  }
  if (run.has("link_failure")) {
    config.link_failure = run.one_of<link_failure_kind>("link_failure", "answer to a failed link",
                                                        {{"ignore", link_failure_kind::ignore}, {"purge", link_failure_kind::purge}});
  }
  if (run.has("local_repair")) {
    config.local_repair = run.one_of<local_repair_kind>(
        "local_repair", "kind of local repair",
        {{"ns2", local_repair_kind::as_ns2}, {"rfc3561", local_repair_kind::by_rfc}, {"off", local_repair_kind::off}});
    if (config.routing != routing_kind::aodv) run.fail("local_repair", "is for routing aodv; leave it out");
  }
  if (!config.wires.empty() && (config.routing == routing_kind::dsr || config.routing == routing_kind::gpsr)) {
    const std::string protocol = config.routing == routing_kind::dsr ? "dsr" : "gpsr";
    run.fail("routing", "is " + protocol + ", which crosses no wire; give static or aodv, or leave wires out");
  }
  if (run.has("events")) config.events = read_events(run, config);
  const std::size_t flows = run.list("flows").size();
  for (std::size_t index = 0; index < flows; ++index) {
    config.flows.push_back(read_flow(run.element("flows", index), nodes));
    const flow_config& flow = config.flows.back();
    const bool measures = flow.policy != shim::no_policy;
    if (!config.air.mac.path_header && (flow.kind == flow_kind::exact || measures)) {
      run.fail("flows[" + std::to_string(index) + "]", "has a policy, which needs the path header; set mac.path_header to true");
    }
    const bool unreachable = config.path(flow.src, flow.dst).empty() || (answers(flow.kind) && config.path(flow.dst, flow.src).empty());
    if (!config.wires.empty() && (!has_ip(flow.kind) || flow.kind == flow_kind::exact)) {
      run.fail("flows[" + std::to_string(index) + "].kind", "crosses no wire; use kind tcp, cbr or tfrc, or leave wires out");
    }
    if (has_ip(flow.kind) && unreachable && config.routing == routing_kind::fixed) {
      run.fail("flows[" + std::to_string(index) + "].dst", "routes do not lead from node " + std::to_string(flow.src) + " to node " +
                                                               std::to_string(flow.dst) + " and back; add them to routes");
    }
  }
  if (run.has("programs")) config.programs = read_programs(run, radios, config.duration_s);
  if (run.has("exact")) config.exact = read_exact(run.object("exact"), nodes);
  if (run.has("swan")) config.swan = read_swan(run.object("swan"));
  config.outputs = read_outputs(run.object("outputs"), radios);
  if (config.air.mac.fidelity == mac_fidelity::samples) {
    const std::string complaint = air::samples::samples_complaint(config.air);
    if (!complaint.empty()) throw config_error(name + ": field " + complaint);
    for (std::size_t index = 0; index < config.events.size(); ++index) {
      const std::string event = "events[" + std::to_string(index) + "]";
      if (config.events[index].kind == event_config::event_kind::loss) {
        run.fail(event + ".kind",
                 "at fidelity samples no frame is lost but by its waveform; leave the event out, or set mac.fidelity to core or bytes");
      }
      if (config.events[index].speed_mps != air::no_time_mps) {
        run.fail(event + ".speed_mps",
                 "at fidelity samples nodes are elsewhere at once; leave it out, or set mac.fidelity to core or bytes");
      }
    }
  }
  config.air.tell_losses = config.outputs.pcapng;
  config.air.tell_overheard = config.routing == routing_kind::dsr;
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

void load_own_policies(const run_config& config) {
  for (std::size_t index = 0; index < config.flows.size(); ++index) {
    load_own_policy(config.flows[index].policy, "run.json: field flows[" + std::to_string(index) + "].policy");
  }
}

}  // namespace perhop::run
