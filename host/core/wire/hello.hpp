// SPDX-License-Identifier: GPL-2.0-or-later
//
// The EXACT hello: what a router broadcasts about its neighbours and flows, and passes on of what it heard from others.
// Behind LLC/SNAP with EtherType 0x88B6.
//
// Byte layout: gateware/spec/frames.yaml (exact_hello and the frames named after it). The idea that routers tell each
// other their channel time is that of S. Rangwala, A. Jindal, K.-Y. Jang, K. Psounis, R. Govindan, "Understanding
// congestion control in multi-hop wireless mesh networks", MobiCom 2008 (WCPCap); the message is ours.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/core/wire/path_header.hpp"

namespace perhop::wire {

/// A flow that the node sends to one of its neighbours.
struct hello_flow {
  std::uint8_t next = 0;                              ///< place in hello_node::neighbours
  std::uint32_t flow = 0;                             ///< lower half of the flow's identity
  double cost_s_per_bit = 0;                          ///< channel time of a bit on this hop, feedback included
  std::uint64_t rate_limit_bps = unlimited_rate_bps;  ///< the flow does not want more than this
  double weight = 1;

  friend bool operator==(const hello_flow&, const hello_flow&) = default;
};

/// Where a node stands, in metres from an origin that all share, such as that of a local map projection.
struct node_position {
  std::int16_t x_m = 0;
  std::int16_t y_m = 0;

  friend bool operator==(const node_position&, const node_position&) = default;
};

/// What one node says of itself.
struct hello_node {
  std::uint32_t node = 0;
  std::uint8_t hops = 0;  ///< from the sender of the hello; 0: it is the sender
  std::uint16_t sequence = 0;
  double usable = 1;                        ///< share of the channel time that the node finds EXACT flows can use
  double busy = 0;                          ///< share of time that it sends what belongs to no EXACT flow
  std::optional<node_position> position{};  ///< nothing: it does not know
  std::vector<std::uint32_t> neighbours{};
  std::vector<hello_flow> flows{};

  friend bool operator==(const hello_node&, const hello_node&) = default;
};

/// Where the node sends the packets of one of its flows; nothing where it names a neighbour that it does not list.
inline std::optional<std::uint32_t> next_node(const hello_node& node, const hello_flow& flow) {
  return flow.next < node.neighbours.size() ? std::optional(node.neighbours[flow.next]) : std::nullopt;
}

/// The sender's own node first.
struct hello {
  std::vector<hello_node> nodes{};

  friend bool operator==(const hello&, const hello&) = default;
};

/// Largest hello: it has to fit one frame.
inline constexpr std::size_t max_hello_bytes = 1400;

/// The message as it goes on the air. Nodes that do not fit are left out, the last ones of the list first; of the own node's
/// lists what does not fit is cut. @param left_out counts nodes and entries that were left out, when not null
std::vector<std::uint8_t> encode(const hello& message, std::size_t* left_out = nullptr);

/// @return nothing when the bytes are too few, too many, of another version, or name a neighbour that is not listed
std::optional<hello> decode_hello(std::span<const std::uint8_t> bytes);

}  // namespace perhop::wire
