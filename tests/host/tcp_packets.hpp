// SPDX-License-Identifier: GPL-2.0-or-later
/// \file
/// Packets of one TCP flow as a shim sees them: segments in order, and TCP ACKs for them.
#pragma once

#include <cstdint>

#include "host/core/shim/shim.hpp"

namespace perhop::tcp_packets {

inline constexpr std::uint32_t segment_bytes = 1448;
inline const shim::flow_key flow{.source = shim::ip_address::from_ipv4(0x0a000001),
                                 .destination = shim::ip_address::from_ipv4(0x0a000003),
                                 .source_port = 40000,
                                 .destination_port = 5001};
inline constexpr shim::next_hop hop{.peer = 0, .rate_index = 1, .mpdu_bytes = 1554};

/// The segment with that number, from 0 on.
inline shim::ip_packet_view data_of(std::uint32_t number, const shim::flow_key& of = flow) {
  return {.flow = of,
          .ip_bytes = segment_bytes + 40,
          .ttl = 64,
          .tcp = {.has_tcp_ack = true,
                  .sequence = 1 + number * segment_bytes,
                  .window_bytes = 65535,
                  .payload_bytes = segment_bytes,
                  .segment_bytes = segment_bytes}};
}

/// For the first `packets` segments.
inline shim::ip_packet_view tcp_ack_of(std::uint32_t packets) {
  return {.flow = flow.reversed(),
          .ip_bytes = 40,
          .ttl = 64,
          .tcp = {.has_tcp_ack = true, .tcp_ack = 1 + packets * segment_bytes, .window_bytes = 65535, .segment_bytes = segment_bytes}};
}

}  // namespace perhop::tcp_packets
