// SPDX-License-Identifier: GPL-2.0-or-later
/// Addresses and ports of a run's nodes and flows, those of ns-3's nodes (sim/ns3/node-address.h, flow.h) and of live ones.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "host/core/shim/packet_view.hpp"
#include "sim/air/types.hpp"

namespace perhop::kernels {

inline constexpr std::uint32_t nodes_per_block = 250;
inline constexpr std::uint32_t network_address = 0x0A00'0000;  // 10.0.0.0/8
inline constexpr std::uint32_t network_mask = 0xFF00'0000;
inline constexpr std::uint16_t first_source_port = 49152;
inline constexpr std::uint16_t first_sink_port = 60000;
inline constexpr std::size_t most_flows = 65536 - first_sink_port;

constexpr std::uint32_t ipv4_of(air::node_id node) { return network_address | node / nodes_per_block << 8 | (node % nodes_per_block + 1); }

/// Nothing: no node's address.
constexpr std::optional<air::node_id> node_of(const shim::ip_address& address) {
  if (!address.is_ipv4()) return std::nullopt;
  const std::uint32_t host = address.ipv4() & 0xFF;
  if ((address.ipv4() & network_mask) != network_address || host == 0 || host > nodes_per_block) return std::nullopt;
  return (address.ipv4() >> 8 & 0xFFFF) * nodes_per_block + host - 1;
}

inline std::string text_of_ipv4(std::uint32_t address) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%u.%u.%u.%u", address >> 24, address >> 16 & 0xFF, address >> 8 & 0xFF, address & 0xFF);
  return text.data();
}

/// Number of the flow that has these ports, in either direction, and whether this is the direction back.
struct flow_of_packet {
  std::size_t index = 0;
  bool answer = false;
};
constexpr std::optional<flow_of_packet> flow_of(const shim::flow_key& key) {
  const bool answer = key.source_port >= first_sink_port;
  const std::uint16_t source = answer ? key.destination_port : key.source_port, sink = answer ? key.source_port : key.destination_port;
  if (source < first_source_port || sink < first_sink_port || source - first_source_port != sink - first_sink_port) return std::nullopt;
  return flow_of_packet{static_cast<std::size_t>(source - first_source_port), answer};
}

}  // namespace perhop::kernels
