// SPDX-License-Identifier: GPL-2.0-or-later
/// Bytes of IP headers and the Internet checksum (RFC 1071): what those who read and those who write packets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host/core/shim/packet_view.hpp"

namespace perhop::shim {

inline constexpr std::size_t ipv4_header_bytes = 20;
inline constexpr std::size_t ipv6_header_bytes = 40;
inline constexpr std::uint8_t ip_protocol_icmp = 1, ip_protocol_icmpv6 = 58;

inline std::uint16_t read16(const std::uint8_t* bytes) { return static_cast<std::uint16_t>(bytes[0] << 8 | bytes[1]); }
inline std::uint32_t read32(const std::uint8_t* bytes) { return std::uint32_t{read16(bytes)} << 16 | read16(bytes + 2); }
inline std::uint64_t read64(const std::uint8_t* bytes) { return std::uint64_t{read32(bytes)} << 32 | read32(bytes + 4); }
inline void write16(std::uint8_t* bytes, std::uint16_t value) {
  bytes[0] = static_cast<std::uint8_t>(value >> 8);
  bytes[1] = static_cast<std::uint8_t>(value);
}
inline void write32(std::uint8_t* bytes, std::uint32_t value) {
  write16(bytes, static_cast<std::uint16_t>(value >> 16));
  write16(bytes + 2, static_cast<std::uint16_t>(value));
}
inline void write64(std::uint8_t* bytes, std::uint64_t value) {
  write32(bytes, static_cast<std::uint32_t>(value >> 32));
  write32(bytes + 4, static_cast<std::uint32_t>(value));
}

// ---- The checksum

/// Sum of 16-bit words; a last odd byte is followed by a 0.
inline std::uint32_t sum_of(std::span<const std::uint8_t> bytes) {
  std::uint32_t sum = 0;
  for (; bytes.size() >= 2; bytes = bytes.subspan(2)) sum += read16(bytes.data());
  return bytes.empty() ? sum : sum + (std::uint32_t{bytes[0]} << 8);
}

inline std::uint16_t folded(std::uint32_t sum) {
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

/// Of the addresses of the header in front, and of length and protocol of what follows it (RFC 768; RFC 8200, 8.1).
inline std::uint32_t pseudo_header_sum(std::span<const std::uint8_t> packet, std::size_t header_bytes, std::uint32_t bytes,
                                       std::uint8_t protocol) {
  const std::size_t addresses_at = header_bytes == ipv6_header_bytes ? 8 : 12;
  return sum_of(packet.first(header_bytes).subspan(addresses_at)) + bytes + protocol;
}

// ---- Headers

inline void write_ipv4_checksum(std::span<std::uint8_t> header) {
  write16(&header[10], 0);
  write16(&header[10], folded(sum_of(header)));
}

/// The header of the whole packet that `packet` is, without options or identification.
inline void write_ipv4_header(std::span<std::uint8_t> packet, std::uint8_t protocol, std::uint8_t ttl, const ip_address& source,
                              const ip_address& destination) {
  packet[0] = 0x45;
  write16(&packet[2], static_cast<std::uint16_t>(packet.size()));
  packet[8] = ttl;
  packet[9] = protocol;
  write32(&packet[12], source.ipv4());
  write32(&packet[16], destination.ipv4());
  write_ipv4_checksum(packet.first(ipv4_header_bytes));
}

inline void write_ipv6_header(std::span<std::uint8_t> packet, std::uint8_t protocol, std::uint8_t ttl, const ip_address& source,
                              const ip_address& destination) {
  packet[0] = 0x60;
  write16(&packet[4], static_cast<std::uint16_t>(packet.size() - ipv6_header_bytes));
  packet[6] = protocol;
  packet[7] = ttl;
  write64(&packet[8], source.high);
  write64(&packet[16], source.low);
  write64(&packet[24], destination.high);
  write64(&packet[32], destination.low);
}

}  // namespace perhop::shim
