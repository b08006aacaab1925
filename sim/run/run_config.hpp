// SPDX-License-Identifier: GPL-2.0-or-later
/// One run as `perhop run` resolves it: run.json, read by perhop-air and perhop-sim.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "host/core/policy/exact_router.hpp"
#include "sim/run/air_names.hpp"
#include "sim/run/config_error.hpp"
#include "sim/run/event_config.hpp"
#include "sim/run/flow_config.hpp"
#include "sim/run/wire_config.hpp"

namespace perhop::run {

struct route_config {
  node_id node;
  node_id destination;
  node_id next_hop;
};

enum class routing_kind {
  fixed,  ///< `routes`, as events change them
  aodv,   ///< RFC 3561; `routes` only say which hops the results list first
  dsr,    ///< host/core/routing; likewise
  gpsr,   ///< host/core/routing; likewise
};

/// What else becomes of packets when the MAC gives one up.
enum class link_failure_kind {
  ignore,
  purge,  ///< those that wait in the interface queue for the same neighbour are dropped, as ns-2's routing agents do
};

/// What an AODV router does that loses a link on the farther half of a packet's way.
enum class local_repair_kind {
  as_ns2,  ///< ns-2.35's local repair
  by_rfc,  ///< RFC 3561, 6.12
  off,
};

/// EXACT in every node of the run.
struct exact_config {
  policy::exact_router_config router;   ///< its settings (policies.yaml); what a node's router knows beside them is its own
  std::vector<node_id> silent_routers;  ///< nodes without EXACT, and without a shim on what they pass on
  bool packets = false;                 ///< record every data packet at every router
};

/// A program in the Linux kernel of a node, from an initramfs; perhop-kernel only.
struct program_config {
  node_id node = 0;
  double start_s = 0;
  std::string command;
  std::filesystem::path initramfs;  ///< its files: an archive of cpio, compressed by gzip or not
  bool traced = false;              ///< when it reads from and writes to its connections is told
};

struct output_config {
  std::filesystem::path directory;
  bool pcapng = false;
  std::vector<node_id> pcapng_nodes;  ///< of whose frames; empty: of all
  bool trace = false;
  bool completions = false;
  double interval_s = 1.0;
};

struct run_config {
  std::string label;
  std::uint64_t seed = 1;
  double duration_s = 0;
  double warmup_s = 0;
  air_config air;
  std::size_t servers = 0;  ///< nodes without a radio, numbered after those of the air
  std::vector<wire_config> wires;
  std::vector<route_config> routes;  ///< in order of node, then destination: next_hop() searches them
  routing_kind routing = routing_kind::fixed;
  link_failure_kind link_failure = link_failure_kind::ignore;
  local_repair_kind local_repair = local_repair_kind::as_ns2;
  std::vector<event_config> events;  ///< in order of time
  std::vector<flow_config> flows;
  std::vector<program_config> programs;
  exact_config exact;
  std::optional<policy::swan_settings> swan;  ///< in every node; nothing: best effort goes when the MAC has room
  output_config outputs;

  /// How many nodes there are, servers included.
  std::size_t node_count() const { return air.nodes.size() + servers; }
  /// A wire joins the two.
  bool wired(node_id a, node_id b) const;
  /// First node after `node` on the way to `destination`, if a route says so.
  std::optional<node_id> next_hop(node_id node, node_id destination) const;
  /// The nodes from src to dst, both included; empty if the routes do not lead there.
  std::vector<node_id> path(node_id src, node_id dst) const;
};

/// Every key must be known, present (unless documented as optional in sim/run/README.md) and in range.
/// @param name what the messages call the text, normally the file's name
/// @throws config_error
run_config parse_run_config(const std::string& text, const std::string& name);

/// @throws config_error also when the file cannot be read
run_config load_run_config(const std::filesystem::path& file);

/// Runs the files of policies of one's own. @throws config_error
void load_own_policies(const run_config& config);

}  // namespace perhop::run
