// SPDX-License-Identifier: GPL-2.0-or-later
//
// The shim's marks: what a packet has met when this node queues it (ECN), and whether its flow is to be faster or slower (ABC).
#include <algorithm>

#include "host/core/policy/service_mark.hpp"
#include "host/core/shim/shim.hpp"
#include "host/core/wire/abc_echo.hpp"

namespace perhop::shim {

namespace {

constexpr std::uint32_t most_packets_before = UINT16_MAX;  // of no queue here; keeps products small

std::uint32_t as_count(std::size_t packets) { return static_cast<std::uint32_t>(std::min<std::size_t>(packets, most_packets_before)); }

}  // namespace

bool shim::congested(const ip_packet_view& packet, const wire::path_header& header, const next_hop& hop, std::size_t before_it) {
  if (packet.ecn != ecn_field::capable_0 && packet.ecn != ecn_field::capable_1) return false;
  const bool congested = policy::is_congested(policy_of(packet.flow).ecn, {.hops = header.hops,
                                                                           .total_us = header.total_delay_us,
                                                                           .here_us = hop_delay_us(hop),
                                                                           .before_it = static_cast<std::uint32_t>(before_it)});
  if (congested) ++counters_.congestion_marks;
  return congested;
}

void shim::brake(time_us now, wire::path_header& header, const ip_packet_view& packet, const next_hop& hop, std::size_t before_it) {
  if (!packet.is_tcp() || packet.tcp.payload_bytes == 0) return;
  const flow_policy& policy = policy_of(packet.flow);
  if (!policy.brakes()) return;
  const policy::abc_queue queue{
      .target_us = policy.cwl.abc_target_ms * 1000, .before_it = as_count(before_it), .expected_service_us = hop_delay_us(hop)};
  if (header.explicit_rate_bps == wire::brake_rate_bps) {
    abc_.on_brake(now, queue);
    ++counters_.brakes;
  } else if (abc_.accelerates(now, queue)) {
    ++counters_.accelerates;
  } else {
    header.explicit_rate_bps = wire::brake_rate_bps;
    ++counters_.brakes;
  }
}

/// The rate to echo of a flow of the other end: as it arrived, but under ABC what has been counted, this packet included.
std::uint64_t shim::counted_marks(const flow_state& state, const std::optional<wire::path_header>& header, const ip_packet_view& packet,
                                  std::uint64_t arrived_bps) const {
  if (packet.tcp.payload_bytes == 0 || !policy_of(packet.flow).brakes()) return arrived_bps;
  if (!header) return state.echo.rate_bps;
  wire::abc_echo counted = wire::abc_echo_of(state.echo.rate_bps).value_or(wire::abc_echo{});
  ++counted.arrived_packets;
  if (header->explicit_rate_bps != wire::brake_rate_bps) ++counted.accelerated_packets;
  return wire::rate_of(counted);
}

/// What the other end has counted. What it echoes before it has data is no count.
void shim::take_marks(flow_state& state, const wire::path_echo& echo) {
  const auto told = wire::abc_echo_of(echo.rate_bps);
  if (!told) return;
  const std::uint32_t in_flight_packets = std::min<std::uint32_t>(state.in_flight.window_packets(), UINT16_MAX);
  state.limit.on_marks({.arrived_packets = told->arrived_packets,
                        .accelerated_packets = told->accelerated_packets,
                        .in_flight_packets = static_cast<std::uint16_t>(in_flight_packets)});
}

}  // namespace perhop::shim
