// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the shim wants to know about an IP packet. ip_packet.hpp reads it from the packet's bytes; the shim never sees them.

#pragma once

#include <compare>
#include <cstdint>
#include <optional>

namespace perhop::shim {

/// An IPv6 address, or an IPv4 address mapped into it (::ffff:a.b.c.d). `high` holds the first eight bytes.
struct ip_address {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// @param address 10.0.0.1 is 0x0a000001
  static constexpr ip_address from_ipv4(std::uint32_t address) { return {0, 0xffff'0000'0000U | address}; }

  constexpr bool is_ipv4() const { return high == 0 && low >> 32 == 0xffff; }
  /// Requires is_ipv4().
  constexpr std::uint32_t ipv4() const { return static_cast<std::uint32_t>(low); }

  friend auto operator<=>(const ip_address&, const ip_address&) = default;
};

inline constexpr std::uint8_t ip_protocol_tcp = 6;
inline constexpr std::uint8_t ip_protocol_udp = 17;
inline constexpr std::uint8_t expedited_forwarding = 46;  ///< DSCP of real-time packets (RFC 3246)

/// One direction of a connection. Ports are 0 where the protocol has none.
struct flow_key {
  ip_address source;
  ip_address destination;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint8_t protocol = ip_protocol_tcp;

  constexpr flow_key reversed() const { return {destination, source, destination_port, source_port, protocol}; }

  friend auto operator<=>(const flow_key&, const flow_key&) = default;
};

/// The part of a TCP header that the shim reads. All zero for other protocols.
struct tcp_view {
  bool syn = false;
  bool has_tcp_ack = false;  ///< the ACK flag
  bool fin = false;
  bool rst = false;
  bool sack_blocks = false;  ///< carries a SACK option with blocks
  bool is_signed = false;    ///< carries a digest of itself: TCP-MD5 (RFC 2385) or TCP-AO (RFC 5925)
  std::uint32_t sequence = 0;
  std::uint32_t tcp_ack = 0;       ///< valid with the ACK flag
  std::uint32_t window_bytes = 0;  ///< as advertised: the window field, times 2^scale where scaling is in use
  std::uint32_t payload_bytes = 0;
  std::uint16_t mss_option_bytes = 0;  ///< MSS option of a SYN, 0 when absent
  bool timestamps = false;             ///< timestamps option of a SYN; read from a SYN only
  /// Payload of a full segment of this connection where the caller knows what was negotiated; 0 when it does not.
  std::uint16_t segment_bytes = 0;
  /// Congestion window of the sender, of a packet that this node originates; 0 when the caller cannot tell: it is told from the
  /// segments then.
  std::uint32_t congestion_window_packets = 0;
  std::uint16_t told_window_packets = 0;           ///< of the sender, in an option of its own (told_window.hpp); 0: not told there
  std::optional<std::uint32_t> timestamp_value{};  ///< TSval of the timestamps option
  std::optional<std::uint32_t> timestamp_echo{};   ///< TSecr

  /// Nothing but an acknowledgement.
  constexpr bool is_bare_tcp_ack() const { return has_tcp_ack && payload_bytes == 0 && !syn && !fin && !rst; }
};

/// What the EXACT sender of a packet says of its flow; read when this node originates the packet.
struct exact_view {
  std::uint64_t wanted_rate_bps = 0;   ///< what the flow would like
  std::uint64_t current_rate_bps = 0;  ///< what it uses; 0: no EXACT data
  bool follows = false;                ///< an exact_header or exact_report stands behind the path header
};

/// The ECN field of an IP header (RFC 3168, 5).
enum class ecn_field : std::uint8_t {
  not_capable = 0,
  capable_1 = 1,  ///< ECT(1)
  capable_0 = 2,  ///< ECT(0)
  congested = 3,  ///< CE
};

struct ip_packet_view {
  flow_key flow{};
  std::uint32_t ip_bytes = 0;  ///< IP header and all that follows
  std::uint8_t ttl = 0;        ///< as in the packet (hop limit for IPv6); 0 when the caller cannot tell
  tcp_view tcp{};              ///< read when flow.protocol is TCP
  exact_view exact{};
  bool expedited = false;  ///< marked as Expedited Forwarding (RFC 3246): real-time
  ecn_field ecn = ecn_field::not_capable;

  constexpr bool is_tcp() const { return flow.protocol == ip_protocol_tcp; }
};

/// Hops that a packet has made, from its TTL and the initial values in use (64, 128, 255). 0: unknown.
constexpr std::uint8_t hops_from_ttl(std::uint8_t ttl) {
  if (ttl == 0) return 0;
  const int initial = ttl <= 64 ? 64 : ttl <= 128 ? 128 : 255;
  return static_cast<std::uint8_t>(initial - ttl + 1);
}

enum class hop_medium : std::uint8_t { wireless, wired };

/// Where a packet goes next, and how.
struct next_hop {
  std::uint8_t peer = 0;  ///< slot of the MAC's neighbour table
  std::uint8_t rate_index = 0;
  std::uint32_t mpdu_bytes = 0;  ///< the whole MPDU as it will be sent: MAC header, LLC/SNAP, path header, IP, FCS
  hop_medium medium = hop_medium::wireless;
};

}  // namespace perhop::shim
