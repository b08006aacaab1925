// SPDX-License-Identifier: GPL-2.0-or-later
/// \file
/// Frames as bytes, for benches of the byte-level MAC: made and read by IEEE 802.11-2012, clause 8, not by the gateware.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/core/wire/generated/protocol.hpp"
#include "sim/air/fcs.hpp"

namespace perhop::bench {

using bytes = std::vector<std::uint8_t>;

inline void put_address(bytes& frame, std::uint64_t address) {
  for (int shift = 40; shift >= 0; shift -= 8) frame.push_back(static_cast<std::uint8_t>(address >> shift));
}

inline void put_16(bytes& frame, std::uint32_t value) {
  frame.push_back(static_cast<std::uint8_t>(value));
  frame.push_back(static_cast<std::uint8_t>(value >> 8));
}

/// The frame and its FCS (8.2.4.8).
inline bytes with_fcs(bytes frame) {
  const std::uint32_t fcs = air::crc32_ieee(frame);
  put_16(frame, fcs & 0xFFFF);
  put_16(frame, fcs >> 16);
  return frame;
}

/// RTS (with a transmitter), CTS or MAC ACK (8.3.1).
inline bytes control_frame(frame_kind kind, std::uint32_t duration_us, std::uint64_t ra, std::uint64_t ta = 0) {
  const std::uint32_t subtype = kind == frame_kind::rts ? 11 : kind == frame_kind::cts ? 12 : 13;
  bytes frame;
  put_16(frame, subtype << 4 | 1 << 2);
  put_16(frame, duration_us);
  put_address(frame, ra);
  if (kind == frame_kind::rts) put_address(frame, ta);
  return with_fcs(std::move(frame));
}

/// A DATA frame with three addresses (8.3.2).
inline bytes data_frame(std::uint32_t duration_us, std::uint64_t ra, std::uint64_t ta, std::uint64_t a3, std::uint32_t sequence, bool retry,
                        std::span<const std::uint8_t> msdu, std::uint32_t control = 2 << 2) {
  bytes frame;
  put_16(frame, control | (retry ? 1U << 11 : 0));
  put_16(frame, duration_us);
  put_address(frame, ra);
  put_address(frame, ta);
  put_address(frame, a3);
  put_16(frame, sequence << 4);
  frame.insert(frame.end(), msdu.begin(), msdu.end());
  return with_fcs(std::move(frame));
}

/// What a frame that this MAC sent says; nothing if its FCS is wrong or it is none that the MAC may send.
struct frame_fields {
  frame_kind kind = frame_kind::other;
  std::uint32_t duration_us = 0;
  std::uint64_t ra = 0;
  std::uint64_t ta = 0;
  std::uint32_t sequence = 0;
  bool retry = false;
  std::span<const std::uint8_t> msdu;
};

inline std::optional<frame_fields> read_frame(std::span<const std::uint8_t> frame) {
  if (frame.size() < 14 || !air::fcs_good(frame)) return std::nullopt;
  const auto body = frame.first(frame.size() - 4);
  const auto address = [&](std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t byte = 0; byte < 6; ++byte) value = value << 8 | frame[at + byte];
    return value;
  };
  frame_fields fields{.duration_us = static_cast<std::uint32_t>(frame[2] | frame[3] << 8), .ra = address(4)};
  fields.retry = (frame[1] & 8) != 0;
  switch (frame[0]) {
    case 0xB4:
      if (frame.size() != rts_bytes) return std::nullopt;
      fields.kind = frame_kind::rts;
      fields.ta = address(10);
      return fields;
    case 0xC4:
    case 0xD4:
      if (frame.size() != cts_bytes) return std::nullopt;
      fields.kind = frame[0] == 0xC4 ? frame_kind::cts : frame_kind::mac_ack;
      return fields;
    case 0x08: {
      const std::size_t header_bytes = (frame[1] & 3) == 3 ? mac_header_bytes + 6 : mac_header_bytes;
      if (body.size() < header_bytes) return std::nullopt;
      fields.kind = frame_kind::data;
      fields.ta = address(10);
      fields.sequence = static_cast<std::uint32_t>(frame[22] >> 4 | frame[23] << 4);
      fields.msdu = body.subspan(header_bytes);
      return fields;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace perhop::bench
