// SPDX-License-Identifier: GPL-2.0-or-later
/// One run as `perhop run` resolves it: run.json, read by perhop-air and perhop-sim.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/air/air_config.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

enum class flow_kind {
  tcp,            ///< perhop-sim only
  cbr,            ///< UDP at a constant rate; perhop-sim only
  exact,          ///< UDP at the rate that EXACT's routers allow; perhop-sim only
  mac_saturated,  ///< the MAC queue of src is never empty; one hop
  mac_poisson,    ///< exponential gaps, drop-tail interface queue; one hop
};

/// Whether flows of this kind cross several hops with IP (perhop-sim).
inline bool has_ip(flow_kind kind) { return kind == flow_kind::tcp || kind == flow_kind::cbr || kind == flow_kind::exact; }
/// Whether the far end sends something back to the source.
inline bool answers(flow_kind kind) { return kind == flow_kind::tcp || kind == flow_kind::exact; }

enum class exact_application {
  greedy,  ///< sends at the allowed rate, up to demand_bps
  audio,   ///< raises its rate only to what the signal sustained for diid_s (DIID), in steps of bit rate
};
enum class exact_mode { m1, m2 };
enum class exact_fairness { rate, airtime };

enum class cwl_policy { none, fixed, hop, delay, pipeline };
enum class cwl_rounding { half_up, floor };
enum class tcp_ack_policy { every, dca, daa };
enum class tcp_ack_rule { hop, delay, hop_and_delay, airtime };  ///< what DCA's window follows
enum class pacing_policy { none, window, adaptive, path };

struct flow_config {
  flow_kind kind = flow_kind::tcp;
  node_id src = 0;
  node_id dst = 0;

  // tcp
  std::string variant = "newreno";
  bool sack = false;
  std::uint32_t segment_bytes = 1460;
  double start_s = 0;
  std::optional<double> stop_s;
  std::uint32_t tcp_ack_every = 1;
  std::uint32_t min_rto_ms = 1000;       ///< least retransmission timeout; RFC 6298 says 1000, Linux and ns-2.35 use 200
  std::uint32_t max_window_packets = 0;  ///< 0: not limited
  cwl_policy cwl = cwl_policy::none;
  std::uint32_t cwl_packets = 0;  ///< cwl_policy::fixed only
  cwl_rounding round = cwl_rounding::half_up;
  tcp_ack_policy tcp_ack = tcp_ack_policy::every;  ///< beside `every`, tcp_ack_every must be 1
  std::uint32_t tcp_ack_window = 0;                ///< dca: packets; 0: by tcp_ack_rule
  bool tcp_ack_whole_window = false;               ///< dca: all packets in flight
  tcp_ack_rule tcp_ack_window_by = tcp_ack_rule::hop;
  bool tcp_ack_retransmission = true;  ///< dca: the timer that repeats a TCP ACK
  pacing_policy pacing = pacing_policy::none;

  // cbr, exact
  std::uint32_t payload_bytes = 1000;  ///< UDP payload of each packet
  double rate_bps = 0;                 ///< cbr only: of the payload
  std::uint32_t burst_packets = 1;     ///< cbr only: so many at once, less often
  exact_application application = exact_application::greedy;
  double demand_bps = 0;  ///< what the application would send at most, IP bytes; 0: without limit
  double diid_s = 5;
  double weight = 1;  ///< share among the flows of a router

  // mac_saturated, mac_poisson
  std::uint32_t ip_bytes = 1500;
  bool path_header = true;
  double rate_packets_per_s = 0;  ///< mac_poisson only
};

struct route_config {
  node_id node;
  node_id destination;
  node_id next_hop;
};

/// EXACT in every node of the run.
struct exact_config {
  exact_mode mode = exact_mode::m2;
  exact_fairness fairness = exact_fairness::rate;
  double eta = 0.9;                       ///< share of the channel time that may be given out
  std::uint32_t interval_ms = 100;        ///< between allocations
  std::uint32_t hello_interval_ms = 500;  ///< m2: between HELLO broadcasts of a node
  std::vector<node_id> silent_routers;    ///< nodes without EXACT, and without a shim on what they pass on
  bool packets = false;                   ///< record every data packet at every router
};

enum class routing_kind {
  fixed,  ///< `routes`, as events change them
  aodv,   ///< ns-3's AODV; `routes` only say which hops the results list first
};

/// What else becomes of packets when the MAC gives one up.
enum class link_failure_kind {
  ignore,
  purge,  ///< those that wait in the interface queue for the same neighbour are dropped, as ns-2's routing agents do
};

/// Something that happens to the network at a time of the run.
struct event_config {
  enum class event_kind {
    route,      ///< packets for the last node of `path` follow it; with both_ways also those for the first node, back
    link_down,  ///< nothing passes between a and b, neither frames nor energy
    link_up,    ///< it does again
    node_down,  ///< node a is dead: no frame of it passes, nor one to it
    node_up,    ///< it is back
    move,       ///< node a is at `position`
    loss,       ///< DATA frames are lost at random at `frame_error_rate`
  };
  double at_s = 0;
  event_kind kind = event_kind::route;
  std::vector<node_id> path;
  bool both_ways = true;
  node_id a = 0, b = 0;
  node_position position{};
  double frame_error_rate = 0;

  tick at() const { return static_cast<tick>(std::llround(at_s * ticks_per_second)); }
};

struct output_config {
  std::filesystem::path directory;
  bool pcapng = false;
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
  std::vector<route_config> routes;
  routing_kind routing = routing_kind::fixed;
  link_failure_kind link_failure = link_failure_kind::ignore;
  std::vector<event_config> events;  ///< in order of time
  std::vector<flow_config> flows;
  exact_config exact;
  output_config outputs;

  /// First node after `node` on the way to `destination`, if a route says so.
  std::optional<node_id> next_hop(node_id node, node_id destination) const;
  /// The nodes from src to dst, both included; empty if the routes do not lead there.
  std::vector<node_id> path(node_id src, node_id dst) const;
};

/// run.json is wrong. what() names the file, the field and the remedy: `run.json: field mac.profile: unknown profile 'x'; one of ...`.
class config_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Exit status of both binaries after a config_error.
inline constexpr int exit_bad_config = 2;
/// ... and after SIGINT.
inline constexpr int exit_interrupted = 130;

/// Every key must be known, present (unless documented as optional in sim/air/README.md) and in range.
/// @param name what the messages call the text, normally the file's name
/// @throws config_error
run_config parse_run_config(const std::string& text, const std::string& name);

/// @throws config_error also when the file cannot be read
run_config load_run_config(const std::filesystem::path& file);

}  // namespace perhop::air
