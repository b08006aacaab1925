// SPDX-License-Identifier: GPL-2.0-or-later
/// How a sender tells its window inside TCP, for receivers that its path header does not reach (paper 001, section VI).
///
/// By an option of its data packets, which every TCP that does not know it skips (RFC 9293, 3.1); or in the window field of
/// its data packets, as the paper's TCP-DCA does, which takes the field from data that goes the other way.
///
/// The option is an experimental one (RFC 6994): kind 253, 8 bytes, ExID of 32 bits, packets in flight.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/core/shim/ip_packet.hpp"

namespace perhop::shim {

enum class window_telling : std::uint8_t {
  path_header,   ///< TCP is left alone
  option,        ///< in an option, too
  window_field,  ///< in the window field, too: for data that goes one way only
};

inline constexpr std::size_t window_option_bytes = 8;
inline constexpr std::array<std::uint8_t, 6> window_option_head = {253, 8, 'p', 'e', 'r', 'h'};

/// Whether these bytes of a TCP header, which begin with an option, begin with this one.
inline bool is_window_option(std::span<const std::uint8_t> bytes) {
  return bytes.size() == window_option_bytes && std::equal(window_option_head.begin(), window_option_head.end(), bytes.begin());
}

/// Adds the option to a TCP packet, as the first of its options, and mends lengths and checksums.
/// @param packet what read_ip() said of it, and says after the change
/// @param most_ip_bytes how long the packet may become
/// @return false, and nothing is changed: no TCP, signed, no room in its header, or the packet would be too long
bool add_window_option(std::vector<std::uint8_t>& bytes, ip_packet& packet, std::size_t most_ip_bytes);

/// Writes the number into a packet's option, if it has one, and mends the checksum.
void write_window_option(std::span<std::uint8_t> bytes, const ip_packet& packet, std::uint32_t packets);

/// Lowers the MSS option of a SYN to `most_bytes`, so that whoever reads it leaves room for an option, and mends the checksum.
void lower_mss(std::span<std::uint8_t> bytes, ip_packet& packet, std::uint32_t most_bytes);

}  // namespace perhop::shim
