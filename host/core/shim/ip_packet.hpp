// SPDX-License-Identifier: GPL-2.0-or-later
/// Bytes of an IP packet: what the shim wants to know of them, and the few changes that it asks for.
///
/// IPv4 and IPv6, TCP and UDP. Never reads or writes past the end of the bytes; what makes no sense is left alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/core/shim/packet_view.hpp"

namespace perhop::shim {

struct ip_packet {
  ip_packet_view view{};
  bool ipv6 = false;
  bool group = false;            ///< to a multicast or broadcast address
  std::size_t payload_at = 0;    ///< where the headers of IP end; with an IPv6 fragment header at that one
  std::size_t transport_at = 0;  ///< where TCP or UDP begins; 0: neither is readable
};

/// What a packet of IPv4 with the longest headers of IP and TCP needs of itself for read_ip().
inline constexpr std::size_t most_header_bytes = 120;

/// @param head the packet, or its first most_header_bytes. Bytes behind it are allowed
/// @param packet_bytes how many there are of it. @return nothing when that is no IP packet, or not all of one
std::optional<ip_packet> read_ip(std::span<const std::uint8_t> head, std::size_t packet_bytes);
inline std::optional<ip_packet> read_ip(std::span<const std::uint8_t> packet) { return read_ip(packet, packet.size()); }

/// The same of a TCP segment whose IP header stands in the view alone: fills in the ports and TCP's part of the view.
/// @param head the segment, or its first bytes as far as TCP's header reaches; @param segment_bytes how many there are of it
/// @return whether the header is whole and makes sense
bool read_segment(std::span<const std::uint8_t> head, std::size_t segment_bytes, ip_packet_view& view);

/// An empty UDP packet of this flow: what carries an EXACT report.
std::vector<std::uint8_t> empty_udp(const flow_key& flow);

/// Takes one from the time to live (hop limit). Requires one above 0.
void lower_ttl(std::span<std::uint8_t> bytes, const ip_packet& packet);

/// Marks it as having met congestion: CE of RFC 3168.
void mark_congestion(std::span<std::uint8_t> bytes, const ip_packet& packet);

/// Writes the window field of a TCP header and mends the checksum. A window above 65535 becomes that.
void write_window(std::span<std::uint8_t> bytes, const ip_packet& packet, std::uint32_t window_bytes);

/// Replaces the window scaling option of a SYN by no-operations and mends the checksum.
void strip_window_scaling(std::span<std::uint8_t> bytes, const ip_packet& packet);

}  // namespace perhop::shim
