// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/pcapng.hpp"

#include <array>
#include <stdexcept>
#include <string>

#include "host/core/wire/generated/frames.hpp"
#include "sim/air/fcs.hpp"

namespace perhop::air {
namespace {

using bytes = std::vector<std::uint8_t>;

// pcapng is little-endian here (the section header says so), and so is the FCS.
template <typename T>
void put(bytes& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
}

template <typename Frame>
void put_frame(bytes& out, const Frame& frame) {
  std::array<std::uint8_t, Frame::size_bytes> encoded;
  frame.encode(encoded);
  out.insert(out.end(), encoded.begin(), encoded.end());
}

void pad_to_32_bits(bytes& out) {
  while (out.size() % 4 != 0) out.push_back(0);
}

constexpr std::uint8_t control_flag_retry = 0x08;  // of the frame control field's second octet (8.2.4.1)

// Block types and options (draft-ietf-opsawg-pcapng).
constexpr std::uint32_t section_header_block = 0x0A0D0D0A;
constexpr std::uint32_t byte_order_magic = 0x1A2B3C4D;
constexpr std::uint64_t section_length_unknown = 0xFFFF'FFFF'FFFF'FFFF;
constexpr std::uint32_t interface_description_block = 1;
constexpr std::uint32_t enhanced_packet_block = 6;
constexpr std::uint16_t option_end = 0;
constexpr std::uint16_t option_if_name = 2;
constexpr std::uint16_t option_if_tsresol = 9;
constexpr std::uint16_t linktype_radiotap = 127;

void put_option(bytes& out, std::uint16_t code, std::string_view value) {
  put(out, code);
  put(out, static_cast<std::uint16_t>(value.size()));
  out.insert(out.end(), value.begin(), value.end());
  pad_to_32_bits(out);
}

/// A block's length stands at both of its ends.
void write_block(std::ofstream& file, std::uint32_t type, const bytes& body) {
  const auto total_bytes = static_cast<std::uint32_t>(body.size() + 12);
  bytes block;
  block.reserve(total_bytes);
  put(block, type);
  put(block, total_bytes);
  block.insert(block.end(), body.begin(), body.end());
  put(block, total_bytes);
  file.write(reinterpret_cast<const char*>(block.data()), static_cast<std::streamsize>(block.size()));
}

}  // namespace

std::vector<std::uint8_t> frame_bytes(const transmission& frame, byte_span msdu) {
  const std::uint8_t control_flags = frame.retry ? control_flag_retry : 0;
  bytes out;
  out.reserve(frame.psdu_bytes);
  switch (frame.kind) {
    case frame_kind::rts:
      put_frame(out, wire::rts_frame{.control_flags = control_flags,
                                     .duration_us = frame.duration_us,
                                     .receiver_address = frame.ra,
                                     .transmitter_address = frame.ta});
      break;
    case frame_kind::cts:
      put_frame(out, wire::cts_frame{.duration_us = frame.duration_us, .receiver_address = frame.ra});
      break;
    case frame_kind::mac_ack:
      put_frame(out, wire::mac_ack_frame{.duration_us = frame.duration_us, .receiver_address = frame.ra});
      break;
    case frame_kind::data:
      put_frame(out, wire::data_header{.retry = frame.retry,
                                       .duration_us = frame.duration_us,
                                       .receiver_address = frame.ra,
                                       .transmitter_address = frame.ta,
                                       .bssid = node_address_base,
                                       .sequence = frame.sequence});
      break;
    case frame_kind::other:
      throw std::invalid_argument("a frame of an unknown kind was sent");
  }
  out.insert(out.end(), msdu.begin(), msdu.end());
  if (out.size() + fcs_bytes != frame.psdu_bytes) {
    throw std::length_error("a " + std::string(to_string(frame.kind)) + " of " + std::to_string(frame.psdu_bytes) +
                            " bytes was sent, but its header, " + std::to_string(msdu.size()) + " bytes of payload and FCS make " +
                            std::to_string(out.size() + fcs_bytes));
  }
  put(out, crc32_ieee(out));
  return out;
}

pcapng_writer::pcapng_writer(const std::filesystem::path& file, const timing_profile& profile)
    : file_(file, std::ios::binary | std::ios::trunc), profile_(&profile) {
  if (!file_) {
    throw std::runtime_error("cannot write the capture " + file.string() + ": check that its directory exists and is writable");
  }

  bytes body;
  put(body, byte_order_magic);
  put(body, std::uint16_t{1});  // version 1.0
  put(body, std::uint16_t{0});
  put(body, section_length_unknown);
  write_block(file_, section_header_block, body);

  body.clear();
  put(body, linktype_radiotap);
  put(body, std::uint16_t{0});
  put(body, std::uint32_t{0});  // no limit on the captured length
  put_option(body, option_if_name, "air");
  put_option(body, option_if_tsresol, "\x06");  // microseconds
  put_option(body, option_end, {});
  write_block(file_, interface_description_block, body);
}

void pcapng_writer::write(const transmission& frame, byte_span msdu) { write_psdu(frame, frame_bytes(frame, msdu)); }

void pcapng_writer::write_psdu(const transmission& frame, byte_span on_air) {
  std::uint8_t flags = wire::radiotap_header::flags_fcs_present;
  if (profile_->name == "dsss_short") flags |= wire::radiotap_header::flags_short_preamble;

  const auto captured_bytes = static_cast<std::uint32_t>(wire::radiotap_header::size_bytes + on_air.size());
  block_.clear();
  put(block_, std::uint32_t{0});  // interface
  put(block_, static_cast<std::uint32_t>(frame.start >> 32));
  put(block_, static_cast<std::uint32_t>(frame.start));
  put(block_, captured_bytes);
  put(block_, captured_bytes);
  put_frame(block_, wire::radiotap_header{.tsft_us = frame.start,
                                          .flags = flags,
                                          .rate_500kbps = static_cast<std::uint8_t>(profile_->rates[frame.rate_index].bps / 500'000),
                                          .channel_mhz = profile_->channel_mhz,
                                          .channel_flags = profile_->radiotap_channel_flags});
  block_.insert(block_.end(), on_air.begin(), on_air.end());
  pad_to_32_bits(block_);
  write_block(file_, enhanced_packet_block, block_);
  if (!file_) throw std::runtime_error("writing the capture failed: is the disk full?");
  ++frames_;
}

}  // namespace perhop::air
