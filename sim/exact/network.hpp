// SPDX-License-Identifier: GPL-2.0-or-later
//
// A small network of nodes with EXACT routers, senders and receivers, over a deterministic model of the medium. For studies
// of the algorithm: no contention by chance, no collision, no MAC frame. What the MAC and the air add is sim/ns3's to show.
// A packet's way through a node is that of all nodes (host/core/hop).
//
// The medium: a packet takes the time that it takes on an idle medium (DIFS, mean backoff, the whole exchange). Links that
// exclude each other (topology.hpp) take turns: whoever has waited longest at the head of its queue goes first. A hello excludes
// whatever is within interference range of its sender, takes its bytes at the lowest basic rate, and reaches all neighbours. The service
// time that a router hears of is therefore the waiting for others plus the exchange, as the MAC's averages tell it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <vector>

#include "sim/exact/study_node.hpp"
#include "sim/exact/topology.hpp"

namespace perhop::exact_study {

inline constexpr time_us us_per_s = 1'000'000;

struct network_config {
  policy::exact_router_config router{};
  std::uint8_t rate_index = 1;  ///< 2 Mb/s in the default profile
  std::size_t queue_packets = 50;
  bool positions_known = true;   ///< the routers know where they stand
  bool exclusive_medium = true;  ///< false: links do not wait for each other; for rates without any queue in them
  double report_loss = 0;        ///< share of reports that never arrive
  std::uint64_t seed = 1;
};

struct flow_config {
  std::vector<std::uint32_t> path;  ///< both ends included
  std::uint32_t ip_bytes = 1500;
  time_us start_us = 0;
  time_us stop_us = std::numeric_limits<time_us>::max();
  std::uint64_t application_bps = wire::unlimited_rate_bps;
  double weight = 1;
  bool says_goodbye = true;       ///< its last packet says so; else it falls silent
  std::uint64_t claimed_bps = 0;  ///< what it says it uses, whatever it does; 0: the truth
};

/// What became of a flow.
struct flow_outcome {
  std::uint64_t sent_packets = 0;
  std::uint64_t delivered_packets = 0;
  std::uint64_t reports_sent = 0;
  std::uint64_t reports_lost = 0;
  std::uint64_t window_violations = 0;  ///< sends with as many packets under way as the safety window allows, or more
};

class network : private study_network {
public:
  network(topology nodes, const network_config& config);

  std::size_t add_flow(const flow_config& flow);

  /// All links between two nodes use another rate.
  void set_rate(std::uint32_t from, std::uint32_t to, std::uint8_t rate_index);

  /// A node that passes packets on without looking at them.
  void silence(std::uint32_t node) { nodes_[node]->node.silent = true; }

  /// From now on the flow's packets take this path.
  void reroute(std::size_t flow, std::vector<std::uint32_t> path);

  void set_application_rate(std::size_t flow, std::uint64_t rate_bps);

  /// Runs `action` at that time.
  void at(time_us when, std::function<void()> action);

  /// Called after every event.
  void watch(std::function<void()> watcher) { watcher_ = std::move(watcher); }

  void run_until(time_us end);

  time_us now() const { return now_us_; }
  const topology& nodes() const { return topology_; }
  shim::shim& node(std::uint32_t node) { return nodes_[node]->node.path.shim(); }
  policy::exact_router& router(std::uint32_t node) { return *nodes_[node]->node.path.shim().exact(); }
  const policy::exact_sender& sender(std::size_t flow) const { return source(flow).sender; }
  /// Requires that a packet of the flow has arrived.
  const policy::exact_receiver& receiver(std::size_t flow) const {
    return *nodes_[path(flow).back()]->node.ends.receiver_of(flows_[flow].key);
  }
  const flow_outcome& outcome(std::size_t flow) const { return flows_[flow].outcome; }
  const std::vector<std::uint32_t>& path(std::size_t flow) const { return flows_[flow].config.path; }
  std::uint64_t identity(std::size_t flow) const { return shim::shim::flow_identity(flows_[flow].key); }
  std::size_t largest_hello_bytes() const { return largest_hello_bytes_; }

  /// Time for which hellos were on the air so far, at the station that senses most of them.
  time_us most_hello_us() const;
  std::size_t flows() const { return flows_.size(); }

  /// The smallest allocation that the routers of the flow's path have for it now; nothing when one does not know it.
  std::optional<double> path_allocation_bps(std::size_t flow);

  /// The optimum for the flows that run now: max-min over sets of links that exclude each other, by linear programs.
  /// Rates that the applications limit are limits. Data and reports count, at what they cost on an idle medium.
  std::vector<double> optimum_bps();

private:
  struct node_state {
    node_state(network& all, std::uint32_t index, const hop::exact_ends_config& of_flows)
        : node(all, index, all.config_.queue_packets, of_flows) {}

    study_node node;
    bool sending = false;
    time_us hello_us = 0;  // that its hellos were on the air so far
    std::array<policy::neighbour_averages, neighbour_slots> averages{};
    std::array<bool, neighbour_slots> measured{};
    std::optional<time_us> woken_at_us{};
  };
  struct flow_state {
    flow_config config;
    shim::flow_key key;
    std::uint32_t from = 0;  // where it begins, however it is routed
    flow_outcome outcome{};
  };
  struct event {
    time_us at_us;
    std::uint64_t number;
    std::function<void()> action;
    bool operator>(const event& other) const { return at_us != other.at_us ? at_us > other.at_us : number > other.number; }
  };

  // What nodes ask (study_network)
  std::uint8_t rate_of(std::uint32_t from, std::uint32_t to) const override;
  void send_data(std::uint32_t node, study_ends::sent&& data) override;
  void send_report(std::uint32_t node, study_ends::due_report&& due) override;
  void on_submitted(std::uint32_t node) override;

  double idle_delay_us(std::uint32_t from, std::uint32_t to, std::uint32_t ip_bytes, std::uint32_t more_bytes) const;
  const study_ends::source& source(std::size_t flow) const { return *nodes_[flows_[flow].from]->node.ends.find(flows_[flow].key); }
  study_ends::source& source(std::size_t flow) { return *nodes_[flows_[flow].from]->node.ends.find(flows_[flow].key); }
  void pass(std::uint32_t node, study_packet&& p, const shim::exact_view& exact);
  link link_of(std::uint32_t node) const;
  void broadcast(std::uint32_t node, std::vector<std::uint8_t> hello);
  void start_transmissions();
  void finish(std::uint32_t node);
  void arrive(std::uint32_t node, study_packet p);
  void serve(std::uint32_t node);
  void wake(std::uint32_t node);

  topology topology_;
  network_config config_;
  policy::delay_estimator idle_;
  std::vector<std::unique_ptr<node_state>> nodes_;
  std::vector<flow_state> flows_;
  std::vector<std::pair<link, std::uint8_t>> rates_;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::uint64_t event_number_ = 0;
  std::function<void()> watcher_;
  std::mt19937_64 random_;
  time_us now_us_ = 0;
  std::size_t largest_hello_bytes_ = 0;
};

}  // namespace perhop::exact_study
