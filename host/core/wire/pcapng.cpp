// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/wire/pcapng.hpp"

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
constexpr std::uint16_t option_comment = 1;
constexpr std::uint16_t option_if_name = 2;
constexpr std::uint16_t option_epb_flags = 2;
constexpr std::uint16_t option_if_tsresol = 9;
constexpr std::string_view section_comment =
    "TSFT is the end of the frame (PPDU), which is what Wireshark takes it for unless wlan_radio.tsf_at_end says otherwise; radiotap's own "
    "definition is the first bit of the MPDU.";
constexpr std::uint16_t linktype_radiotap = 127;
constexpr std::uint32_t packet_flag_crc_error = 1U << 24;  // of option_epb_flags, as the direction in its two lowest bits

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

void put_block(bytes& out, std::uint32_t type, const bytes& body) {
  open_block(out, type, body.size());
  out.insert(out.end(), body.begin(), body.end());
  close_block(out, body.size());
}

}  // namespace

void append_capture_section(bytes& out, std::span<const std::string> interfaces) {
  bytes body;
  put(body, byte_order_magic);
  put(body, std::uint16_t{1});  // version 1.0
  put(body, std::uint16_t{0});
  put(body, section_length_unknown);
  put_option(body, option_comment, section_comment);
  put_option(body, option_end, {});
  put_block(out, section_header_block, body);

  for (const std::string& name : interfaces) {
    body.clear();
    put(body, linktype_radiotap);
    put(body, std::uint16_t{0});
    put(body, std::uint32_t{0});  // no limit on the captured length
    put_option(body, option_if_name, name);
    put_option(body, option_if_tsresol, "\x06");  // microseconds
    put_option(body, option_end, {});
    put_block(out, interface_description_block, body);
  }
}

radiotap_bytes radiotap_of(std::optional<std::uint64_t> end_us, const timing_profile& profile, std::uint8_t rate_index, bool has_fcs) {
  using timed = radiotap_header;
  const transmit_rate& rate = profile.rates[rate_index];
  // 1 Mb/s has the long preamble in the profile of the short one, too (17.2.2.3).
  const bool short_preamble = profile.name == "dsss_short" && rate.preamble_us == profile.preamble_us;
  const bool has_rate = rate.bps % 500'000 == 0 && rate.bps / 500'000 <= 0xFF;
  const auto fill = [&](auto header) {
    header.present = timed::present_flags | timed::present_channel | (has_rate ? timed::present_rate : 0U);
    header.flags = static_cast<std::uint8_t>((short_preamble ? timed::flags_short_preamble : 0) | (has_fcs ? timed::flags_fcs_present : 0));
    header.rate_500kbps = static_cast<std::uint8_t>(has_rate ? rate.bps / 500'000 : 0);
    header.channel_mhz = profile.channel_mhz;
    header.channel_flags = profile.radiotap_channel_flags;
    return header;
  };
  radiotap_bytes out{};
  if (end_us) {
    auto header = fill(radiotap_header{});
    header.present |= timed::present_tsft;
    header.tsft_us = *end_us;
    header.encode(out.octets);
    out.size = radiotap_header::size_bytes;
  } else {
    fill(radiotap_header_untimed{}).encode(std::span(out.octets).first<radiotap_header_untimed::size_bytes>());
    out.size = radiotap_header_untimed::size_bytes;
  }
  return out;
}

void append_captured_frame(bytes& out, const capture_note& note, const radiotap_bytes& radiotap, std::span<const std::uint8_t> head,
                           std::span<const std::uint8_t> body) {
  const std::size_t captured_bytes = radiotap.size + head.size() + body.size();
  constexpr std::size_t fixed_bytes = 20;
  bytes options;
  const std::uint32_t flags = static_cast<std::uint32_t>(note.direction) | (note.crc_error ? packet_flag_crc_error : 0);
  if (!note.comment.empty()) put_option(options, option_comment, note.comment);
  if (flags != 0) {
    put(options, option_epb_flags);
    put(options, std::uint16_t{4});
    put(options, flags);
  }
  if (!options.empty()) put_option(options, option_end, {});
  const std::size_t body_bytes = fixed_bytes + (captured_bytes + 3) / 4 * 4 + options.size();
  open_block(out, enhanced_packet_block, body_bytes);
  put(out, note.interface);
  put(out, static_cast<std::uint32_t>(note.time_us >> 32));
  put(out, static_cast<std::uint32_t>(note.time_us));
  put(out, static_cast<std::uint32_t>(captured_bytes));
  put(out, static_cast<std::uint32_t>(captured_bytes));
  for (const std::span<const std::uint8_t> part : {radiotap.view(), head, body}) out.insert(out.end(), part.begin(), part.end());
  for (std::size_t size = captured_bytes; size % 4 != 0; ++size) out.push_back(0);
  out.insert(out.end(), options.begin(), options.end());
  close_block(out, body_bytes);
}

}  // namespace perhop::wire
