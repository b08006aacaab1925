// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/wire/pcapng.hpp"

#include <array>

namespace perhop::wire {

namespace {

using bytes = std::vector<std::uint8_t>;

// Block types and options. Numbers are little-endian, as the section header says.
constexpr std::uint32_t section_header_block = 0x0A0D0D0A;
constexpr std::uint32_t byte_order_magic = 0x1A2B3C4D;
constexpr std::uint64_t section_length_unknown = 0xFFFF'FFFF'FFFF'FFFF;
constexpr std::uint32_t interface_description_block = 1;
constexpr std::uint32_t enhanced_packet_block = 6;
constexpr std::uint16_t option_end = 0;
constexpr std::uint16_t option_if_name = 2;
constexpr std::uint16_t option_epb_flags = 2;
constexpr std::uint16_t option_if_tsresol = 9;
constexpr std::uint16_t linktype_radiotap = 127;

template <typename number>
void put(bytes& out, number value) {
  for (std::size_t i = 0; i < sizeof(number); ++i) {
    out.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
}

void pad_to_32_bits(bytes& out) {
  while (out.size() % 4 != 0) out.push_back(0);
}

void put_option(bytes& out, std::uint16_t code, std::string_view value) {
  put(out, code);
  put(out, static_cast<std::uint16_t>(value.size()));
  out.insert(out.end(), value.begin(), value.end());
  pad_to_32_bits(out);
}

/// Type and length of a block whose body takes `body_bytes`; its length stands at both of its ends.
void open_block(bytes& out, std::uint32_t type, std::size_t body_bytes) {
  put(out, type);
  put(out, static_cast<std::uint32_t>(body_bytes + 12));
}

void close_block(bytes& out, std::size_t body_bytes) { put(out, static_cast<std::uint32_t>(body_bytes + 12)); }

}  // namespace

void append_capture_section(bytes& out, std::string_view interface) {
  bytes body;
  put(body, byte_order_magic);
  put(body, std::uint16_t{1});  // version 1.0
  put(body, std::uint16_t{0});
  put(body, section_length_unknown);
  open_block(out, section_header_block, body.size());
  out.insert(out.end(), body.begin(), body.end());
  close_block(out, body.size());

  body.clear();
  put(body, linktype_radiotap);
  put(body, std::uint16_t{0});
  put(body, std::uint32_t{0});  // no limit on the captured length
  put_option(body, option_if_name, interface);
  put_option(body, option_if_tsresol, "\x06");  // microseconds
  put_option(body, option_end, {});
  open_block(out, interface_description_block, body.size());
  out.insert(out.end(), body.begin(), body.end());
  close_block(out, body.size());
}

void append_captured_frame(bytes& out, std::uint64_t time_us, const radiotap_header& radiotap, std::span<const std::uint8_t> head,
                           std::span<const std::uint8_t> body, capture_direction direction) {
  const std::size_t captured_bytes = radiotap_header::size_bytes + head.size() + body.size();
  constexpr std::size_t fixed_bytes = 20, flags_bytes = 8, end_bytes = 4;
  const std::size_t options_bytes = direction == capture_direction::untold ? 0 : flags_bytes + end_bytes;
  const std::size_t body_bytes = fixed_bytes + (captured_bytes + 3) / 4 * 4 + options_bytes;
  open_block(out, enhanced_packet_block, body_bytes);
  put(out, std::uint32_t{0});  // interface
  put(out, static_cast<std::uint32_t>(time_us >> 32));
  put(out, static_cast<std::uint32_t>(time_us));
  put(out, static_cast<std::uint32_t>(captured_bytes));
  put(out, static_cast<std::uint32_t>(captured_bytes));
  std::array<std::uint8_t, radiotap_header::size_bytes> encoded;
  radiotap.encode(encoded);
  out.insert(out.end(), encoded.begin(), encoded.end());
  out.insert(out.end(), head.begin(), head.end());
  out.insert(out.end(), body.begin(), body.end());
  for (std::size_t size = captured_bytes; size % 4 != 0; ++size) out.push_back(0);
  if (options_bytes != 0) {
    put(out, option_epb_flags);
    put(out, std::uint16_t{4});
    put(out, static_cast<std::uint32_t>(direction));
    put_option(out, option_end, {});
  }
  close_block(out, body_bytes);
}

radiotap_header radiotap_of(std::uint64_t tsft_us, const timing_profile& profile, std::uint8_t rate_index) {
  return {.tsft_us = tsft_us,
          .flags = static_cast<std::uint8_t>(profile.name == "dsss_short" ? radiotap_header::flags_short_preamble : 0),
          .rate_500kbps = static_cast<std::uint8_t>(profile.rates[rate_index].bps / 500'000),
          .channel_mhz = profile.channel_mhz,
          .channel_flags = profile.radiotap_channel_flags};
}

}  // namespace perhop::wire
