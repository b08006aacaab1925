// SPDX-License-Identifier: GPL-2.0-or-later
//
// Raw frames (generated from gateware/spec/frames.yaml) one behind the other, as the codecs of host/core/wire write and read them.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace perhop::wire {

template <typename frame_type>
std::array<std::uint8_t, frame_type::size_bytes> bytes_of(const frame_type& frame) {
  std::array<std::uint8_t, frame_type::size_bytes> bytes{};
  frame.encode(bytes);
  return bytes;
}

template <typename frame_type>
void append(std::vector<std::uint8_t>& bytes, const frame_type& frame) {
  const auto part = bytes_of(frame);
  bytes.insert(bytes.end(), part.begin(), part.end());
}

/// Reads a frame and steps past it. @return nothing, and no step, when `bytes` are too few or not such a frame
template <typename frame_type>
std::optional<frame_type> take(std::span<const std::uint8_t>& bytes) {
  const std::optional<frame_type> frame = frame_type::decode(bytes);
  if (frame) bytes = bytes.subspan(frame_type::size_bytes);
  return frame;
}

}  // namespace perhop::wire
