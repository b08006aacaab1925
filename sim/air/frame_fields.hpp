// SPDX-License-Identifier: GPL-2.0-or-later
/// What a frame says of itself, and what the MAC says of one that it received, read from bytes and bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host/core/wire/generated/frames.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

/// Fields of a frame's header; those that it has not are 0.
struct frame_fields {
  frame_kind kind = frame_kind::other;
  std::uint16_t duration_us = 0;
  std::uint64_t ra = 0, ta = 0;
  std::uint16_t sequence = 0;
  bool retry = false;
  std::size_t header_bytes = 0;
  std::uint64_t a3 = 0, a4 = 0;
};

/// Of a frame with its FCS (IEEE 802.11-2012, 8.2.4 and 8.3); its kind is `other` if it is none that our MAC sends.
frame_fields read_frame(byte_span psdu);

/// The record from the port of SystemVerilog: its first member in the highest bits.
rx_status unpack_rx_status(const std::uint32_t* words);

}  // namespace perhop::air
