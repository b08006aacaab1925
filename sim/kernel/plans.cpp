// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/plans.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "sim/kernel/addresses.hpp"
#include "sim/kernel/flow_plan.hpp"

namespace perhop::kernels {

namespace {

using run::config_error;
using run::flow_kind;

// Linux puts time stamps into every segment; its least largest segment is 48 and more.
constexpr std::uint32_t timestamp_bytes = 12, least_mss_bytes = 88;
constexpr std::uint32_t initial_window_packets = 1;

std::string field_of(std::size_t flow, const char* name) { return "field flows[" + std::to_string(flow) + "]." + name + ": "; }

/// What Linux calls the TCP of a flow: it has one Reno, with NewReno's recovery.
std::string linux_tcp(const std::string& variant) {
  static const std::set<std::string> same = {"reno", "cubic", "bbr", "dctcp", "vegas", "veno", "westwood"};
  if (variant == "newreno" || variant == "linuxreno") return "reno";
  return same.contains(variant) ? variant : "";
}

time_ns nanoseconds(double seconds) { return static_cast<time_ns>(std::llround(seconds * 1e9)); }

}  // namespace

void check(const run::run_config& config) {
  if (config.air.mac.fidelity == air::mac_fidelity::samples) {
    throw config_error("field mac.fidelity: samples needs perhop-air and its flows; give core or bytes");
  }
  if (config.servers != 0 || !config.wires.empty())
    throw config_error("field wires: kernels have no wires; leave them out, or use perhop-sim");
  if (config.routing != run::routing_kind::fixed) {
    throw config_error("field routing: kernels have static routes; leave it out, or use perhop-sim");
  }
  if (config.flows.size() > most_flows) {
    throw config_error("field flows: " + std::to_string(config.flows.size()) + " flows, but only " + std::to_string(most_flows) +
                       " have ports of their own; use fewer flows");
  }
  for (std::size_t flow = 0; flow < config.flows.size(); ++flow) {
    const run::flow_config& known = config.flows[flow];
    if (known.kind != flow_kind::tcp)
      throw config_error(field_of(flow, "kind") + "kernels have flows of tcp alone; use perhop-sim for others");
    if (linux_tcp(known.variant).empty()) {
      throw config_error(field_of(flow, "variant") + "Linux has no TCP '" + known.variant +
                         "'; one of newreno, reno, linuxreno, cubic, bbr, dctcp, vegas, veno, westwood");
    }
    if (known.transfer_bytes != 0 || known.tcp_rate_bps != 0) {
      throw config_error(field_of(flow, known.transfer_bytes != 0 ? "transfer_bytes" : "rate_bps") +
                         "a flow between kernels has data without end; leave it out, or use perhop-sim");
    }
    if (known.policy != config.flows.front().policy) {
      throw config_error(field_of(flow, "policy") + "all flows between kernels have one policy; give the same to all");
    }
    if (known.uses_ecn() != config.flows.front().uses_ecn()) {
      throw config_error(field_of(flow, "ecn") + "a kernel has it for all of its flows; give the same to all");
    }
    if (known.sack != config.flows.front().sack) {
      throw config_error(field_of(flow, "sack") + "a kernel has it for all of its flows; give the same to all");
    }
  }
}

std::map<air::node_id, std::string> make_plans(const run::run_config& config, const std::vector<time_ns>& edges) {
  std::map<air::node_id, std::ostringstream> plans;
  const bool told_rates = !config.flows.empty() && config.flows.front().policy.paces_by_exact();
  const auto begin_plan = [&](air::node_id node, bool sack, bool ecn) {
    if (plans.contains(node)) return;
    std::ostringstream& plan = plans[node];
    plan << "address " << text_of_ipv4(ipv4_of(node)) << "\nsysctl net/ipv4/tcp_sack " << (sack ? 1 : 0) << '\n';
    if (ecn) plan << "sysctl net/ipv4/tcp_ecn 1\n";
    if (told_rates) plan << "rates " << flow_plan::rate_port << '\n';
    for (const time_ns edge : edges) plan << "edge " << edge << '\n';
    plan << "measure_from " << begin_ns + nanoseconds(config.warmup_s) << '\n';
  };
  for (const run::flow_config& flow : config.flows) {
    for (const air::node_id node : {flow.src, flow.dst}) begin_plan(node, flow.sack, flow.uses_ecn());
  }
  const bool marks = !config.flows.empty() && config.flows.front().uses_ecn();
  for (const run::program_config& program : config.programs) begin_plan(program.node, true, marks);
  for (const run::program_config& program : config.programs) {
    for (const auto& [other, plan] : plans) {
      if (other == program.node) continue;
      plans[program.node] << "neighbour " << text_of_ipv4(ipv4_of(other)) << '\n';
      plans[other] << "neighbour " << text_of_ipv4(ipv4_of(program.node)) << '\n';
    }
  }
  for (const run::program_config& program : config.programs) {
    plans[program.node] << "program " << begin_ns + nanoseconds(program.start_s) << ' ' << (program.traced ? 1 : 0) << ' '
                        << program.command << '\n';
  }
  for (std::size_t index = 0; index < config.flows.size(); ++index) {
    const run::flow_config& flow = config.flows[index];
    const std::uint32_t mss_bytes = std::max(least_mss_bytes, flow.segment_bytes + timestamp_bytes);
    const std::uint64_t window_bytes = std::uint64_t{flow.max_window_packets} * flow.segment_bytes;
    for (const auto& [here, there] : {std::pair(flow.src, flow.dst), std::pair(flow.dst, flow.src)}) {
      plans[here] << "route " << text_of_ipv4(ipv4_of(there)) << ' ' << initial_window_packets << ' ' << window_bytes << ' '
                  << flow.min_rto_ms << ' ' << (flow.tcp_ack_every == 1 ? 1 : 0) << '\n';
    }
    plans[flow.src] << "send " << index << ' ' << first_source_port + index << ' ' << text_of_ipv4(ipv4_of(flow.dst)) << ' '
                    << first_sink_port + index << ' ' << begin_ns + nanoseconds(flow.start_s) << ' '
                    << begin_ns + nanoseconds(flow.stop_s.value_or(config.duration_s + 1)) << ' ' << mss_bytes << ' '
                    << linux_tcp(flow.variant) << '\n';
    plans[flow.dst] << "receive " << index << ' ' << first_sink_port + index << ' ' << mss_bytes << ' ' << window_bytes << ' '
                    << linux_tcp(flow.variant) << '\n';
  }
  std::map<air::node_id, std::string> texts;
  for (const auto& [node, plan] : plans) texts[node] = plan.str();
  return texts;
}

}  // namespace perhop::kernels
