// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/shim/told_window.hpp"

#include <algorithm>
#include <optional>

#include "host/core/shim/ip_bytes.hpp"
#include "host/core/shim/tcp_bytes.hpp"

namespace perhop::shim {

namespace {

constexpr std::size_t data_offset_at = 12;
constexpr std::size_t ipv4_length_at = 2, ipv6_length_at = 4;

/// Where an option is in a TCP header; nothing: not there.
template <typename Wanted>
std::optional<std::size_t> place_of(std::span<const std::uint8_t> tcp, Wanted&& wanted) {
  std::optional<std::size_t> found;
  for_each_option(tcp.first(tcp_header_size(tcp)).subspan(tcp_header_bytes), [&](std::size_t at, std::span<const std::uint8_t> option) {
    if (wanted(option)) found = tcp_header_bytes + at;
  });
  return found;
}

bool is_open_tcp(const ip_packet& packet) { return packet.transport_at != 0 && packet.view.is_tcp() && !packet.view.tcp.is_signed; }

/// Writes 16 bits that may begin at an odd place.
void write_value(std::span<std::uint8_t> tcp, std::size_t at, std::uint16_t value) {
  if (at % 2 == 0) {
    write_word(tcp.data(), at, value);
    return;
  }
  write_word(tcp.data(), at - 1, static_cast<std::uint16_t>(tcp[at - 1] << 8 | value >> 8));
  write_word(tcp.data(), at + 1, static_cast<std::uint16_t>((value & 0xff) << 8 | tcp[at + 2]));
}

}  // namespace

bool add_window_option(std::vector<std::uint8_t>& bytes, ip_packet& packet, std::size_t most_ip_bytes) {
  if (!is_open_tcp(packet) || packet.view.ip_bytes + window_option_bytes > most_ip_bytes) return false;
  const std::size_t header_bytes = tcp_header_size(std::span(bytes).subspan(packet.transport_at));
  if (header_bytes + window_option_bytes > most_tcp_header_bytes) return false;
  std::array<std::uint8_t, window_option_bytes> option{};
  std::copy(window_option_head.begin(), window_option_head.end(), option.begin());
  // In front of the others: behind padding nobody would look for it.
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(packet.transport_at + tcp_header_bytes), option.begin(), option.end());

  const std::size_t length_at = packet.ipv6 ? ipv6_length_at : ipv4_length_at;
  write16(&bytes[length_at], static_cast<std::uint16_t>(read16(&bytes[length_at]) + window_option_bytes));
  if (!packet.ipv6) write_ipv4_checksum(std::span(bytes).first((bytes[0] & 0xf) * std::size_t{4}));

  std::uint8_t* const tcp = &bytes[packet.transport_at];
  // The pseudo header's length is the segment's, and what is new has been 0.
  std::uint16_t checksum = mended(read16(tcp + tcp_checksum_at), 0, window_option_bytes);
  for (std::size_t at = 0; at < window_option_bytes; at += 2) checksum = mended(checksum, 0, read16(&option[at]));
  write16(tcp + tcp_checksum_at, checksum);
  constexpr std::uint16_t words_of_offset = window_option_bytes / 4 << 12;
  write_word(tcp, data_offset_at, static_cast<std::uint16_t>(read16(tcp + data_offset_at) + words_of_offset));
  packet.view.ip_bytes += window_option_bytes;
  return true;
}

void write_window_option(std::span<std::uint8_t> bytes, const ip_packet& packet, std::uint32_t packets) {
  if (!is_open_tcp(packet)) return;
  const std::span<std::uint8_t> tcp = bytes.subspan(packet.transport_at);
  if (const auto at = place_of(tcp, is_window_option)) {
    write_value(tcp, *at + window_option_head.size(), static_cast<std::uint16_t>(std::min<std::uint32_t>(packets, UINT16_MAX)));
  }
}

void lower_mss(std::span<std::uint8_t> bytes, ip_packet& packet, std::uint32_t most_bytes) {
  if (!is_open_tcp(packet) || !packet.view.tcp.syn || packet.view.tcp.mss_option_bytes <= most_bytes) return;
  const std::span<std::uint8_t> tcp = bytes.subspan(packet.transport_at);
  const auto at = place_of(tcp, [](std::span<const std::uint8_t> option) { return option[0] == option_mss && option.size() == 4; });
  if (!at) return;
  write_value(tcp, *at + 2, static_cast<std::uint16_t>(most_bytes));
  packet.view.tcp.mss_option_bytes = static_cast<std::uint16_t>(most_bytes);
}

}  // namespace perhop::shim
