// SPDX-License-Identifier: GPL-2.0-or-later
/// Bytes of TCP headers: what those who read and those who change segments share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host/core/shim/ip_bytes.hpp"

namespace perhop::shim {

inline constexpr std::size_t tcp_header_bytes = 20;
inline constexpr std::size_t most_tcp_header_bytes = 60;
inline constexpr std::uint8_t option_end = 0, option_nop = 1, option_mss = 2;
inline constexpr std::size_t tcp_window_at = 14, tcp_checksum_at = 16;

inline std::size_t tcp_header_size(std::span<const std::uint8_t> tcp) { return (tcp[12] >> 4) * std::size_t{4}; }

/// The checksum after a 16-bit word of what it covers has changed (RFC 1624, equation 3).
inline std::uint16_t mended(std::uint16_t checksum, std::uint16_t before, std::uint16_t after) {
  return folded(static_cast<std::uint16_t>(~checksum) + std::uint32_t{static_cast<std::uint16_t>(~before)} + after);
}

/// Writes a 16-bit word of a TCP header at an even place and mends the checksum.
inline void write_word(std::uint8_t* tcp, std::size_t at, std::uint16_t after) {
  const std::uint16_t before = read16(tcp + at);
  write16(tcp + at, after);
  write16(tcp + tcp_checksum_at, mended(read16(tcp + tcp_checksum_at), before, after));
}

/// Calls visit(option, bytes) for each option of a TCP header but padding; stops where the rest makes no sense.
template <typename Bytes, typename Visitor>
void for_each_option(Bytes options, Visitor&& visit) {
  for (std::size_t at = 0; at < options.size() && options[at] != option_end;) {
    if (options[at] == option_nop) {
      ++at;
      continue;
    }
    if (options.size() - at < 2 || options[at + 1] < 2 || options[at + 1] > options.size() - at) return;
    const std::size_t size = options[at + 1];
    visit(at, options.subspan(at, size));
    at += size;
  }
}

}  // namespace perhop::shim
