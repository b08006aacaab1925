// SPDX-License-Identifier: GPL-2.0-or-later
/// The FCS of 802.11 (IEEE 802.11-2012, 8.2.4.8), computed apart from the gateware's.
#pragma once

#include <array>
#include <cstdint>

#include "sim/air/types.hpp"

namespace perhop::air {

namespace detail {
constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320U : 0U);
    table[i] = crc;
  }
  return table;
}
inline constexpr auto crc_table = make_crc_table();
}  // namespace detail

/// CRC-32 of IEEE 802.3, which is also the FCS of 802.11: reflected, preset to ones, complemented.
constexpr std::uint32_t crc32_ieee(byte_span bytes) {
  std::uint32_t crc = 0xFFFF'FFFFU;
  for (const std::uint8_t byte : bytes) crc = (crc >> 8) ^ detail::crc_table[(crc ^ byte) & 0xFF];
  return ~crc;
}

/// Its last four bytes, the lowest first, are the CRC of those before.
constexpr bool fcs_good(byte_span psdu) {
  if (psdu.size() <= fcs_bytes) return false;
  const std::uint32_t crc = crc32_ieee(psdu.first(psdu.size() - fcs_bytes));
  for (unsigned index = 0; index < fcs_bytes; ++index) {
    if (psdu[psdu.size() - fcs_bytes + index] != static_cast<std::uint8_t>(crc >> (8 * index))) return false;
  }
  return true;
}

}  // namespace perhop::air
