// SPDX-License-Identifier: GPL-2.0-or-later
/// An element of `flows` of run.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "host/core/policy/tfrc_equation.hpp"
#include "host/core/shim/flow_policy.hpp"
#include "sim/run/air_names.hpp"

namespace perhop::run {

class json_section;

enum class flow_kind {
  tcp,            ///< perhop-sim only
  cbr,            ///< UDP at a constant rate; perhop-sim only
  exact,          ///< UDP at the rate that EXACT's routers allow; perhop-sim only
  tfrc,           ///< UDP at the rate of TCP's equation; perhop-sim only
  mac_saturated,  ///< the MAC queue of src is never empty; one hop
  mac_poisson,    ///< exponential gaps, drop-tail interface queue; one hop
};

/// Whether flows of this kind cross several hops with IP (perhop-sim).
inline bool has_ip(flow_kind kind) { return kind != flow_kind::mac_saturated && kind != flow_kind::mac_poisson; }
/// Whether they are UDP's.
inline bool is_udp(flow_kind kind) { return has_ip(kind) && kind != flow_kind::tcp; }
/// Whether the far end sends something back to the source.
inline bool answers(flow_kind kind) { return has_ip(kind) && kind != flow_kind::cbr; }

constexpr std::uint32_t longest_rto_ms = 60000;

enum class exact_application {
  greedy,  ///< sends at the allowed rate, up to demand_bps
  audio,   ///< raises its rate only to what the signal sustained for diid_s (DIID), in steps of bit rate
};

struct flow_config {
  flow_kind kind = flow_kind::tcp;
  node_id src = 0;
  node_id dst = 0;

  // tcp
  std::string variant = "newreno";
  bool sack = false;
  bool ecn = false;  ///< whatever the policy says; see uses_ecn()
  std::uint32_t segment_bytes = 1460;
  double start_s = 0;
  std::optional<double> stop_s;
  std::uint32_t tcp_ack_every = 1;
  std::uint32_t min_rto_ms = 1000;             ///< least retransmission timeout; RFC 6298 says 1000, Linux and ns-2.35 use 200
  std::uint32_t max_rto_ms = longest_rto_ms;   ///< largest one, at least min_rto_ms; paper 000's mobile nodes have 2000
  std::uint32_t max_window_packets = 0;        ///< 0: not limited
  std::uint64_t transfer_bytes = 0;            ///< what the application sends in all; 0: without end
  double tcp_rate_bps = 0;                     ///< at which it does; 0: as fast as TCP takes it
  shim::flow_policy policy = shim::no_policy;  ///< where it thins TCP ACKs, tcp_ack_every must be 1

  // cbr, exact, tfrc
  std::uint32_t payload_bytes = 1000;  ///< UDP payload of each packet
  double rate_bps = 0;                 ///< cbr only: of the payload
  std::uint32_t burst_packets = 1;     ///< cbr only: so many at once, less often
  bool expedited = false;              ///< cbr only: marked as Expedited Forwarding, which SWAN takes for real-time
  exact_application application = exact_application::greedy;
  double demand_bps = 0;  ///< what the application would send at most, IP bytes; 0: without limit
  double diid_s = 5;
  double weight = 1;  ///< share among the flows of a router
  policy::tfrc_profile profile = policy::tfrc_profile::paper;
  std::uint32_t loss_intervals = 8;  ///< tfrc only: L, over so many the loss event rate is averaged
  bool avoid_oscillation = true;     ///< tfrc only: slower while the round trip is above its mean (RFC 5348, 4.5)

  // mac_saturated, mac_poisson
  std::uint32_t ip_bytes = 1500;
  bool path_header = true;
  double rate_packets_per_s = 0;  ///< mac_poisson only

  /// Its TCP knows ECN: where nodes mark its packets, too.
  bool uses_ecn() const { return ecn || policy.marks(); }
};

/// @param nodes how many there are
flow_config read_flow(json_section flow, std::size_t nodes);

/// Runs the file of a policy of one's own, if the policy names one. Whoever reads run.json for other things than packets does not.
/// @param field where the policy stands, for messages
/// @throws config_error
void load_own_policy(const shim::flow_policy& policy, const std::string& field);

}  // namespace perhop::run
