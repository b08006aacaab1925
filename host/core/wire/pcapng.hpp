// SPDX-License-Identifier: GPL-2.0-or-later
/// Bytes of captures that Wireshark and tshark read: pcapng (draft-ietf-opsawg-pcapng) of 802.11 frames behind radiotap headers,
/// times in microseconds. Who has a file writes them there; sections may follow each other in one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/core/wire/generated/frames.hpp"

namespace perhop::wire {

enum class capture_direction : std::uint8_t { untold = 0, inbound = 1, outbound = 2 };

/// Appends a section header and a description of each of its interfaces, by their names.
void append_capture_section(std::vector<std::uint8_t>& out, std::span<const std::string> interfaces);

/// What a capture says of a frame besides its bytes.
struct capture_note {
  std::uint64_t time_us = 0;
  std::uint32_t interface = 0;  ///< index into the section's
  capture_direction direction = capture_direction::untold;
  bool crc_error = false;      ///< where it should have been received, its FCS was not good
  std::string_view comment{};  ///< for people; empty: none
};

/// A radiotap header as bytes: radiotap_header, or radiotap_header_untimed.
struct radiotap_bytes {
  std::array<std::uint8_t, radiotap_header::size_bytes> octets;
  std::size_t size;

  std::span<const std::uint8_t> view() const { return std::span(octets).first(size); }
};

/// The radiotap header of a frame. Its rate is absent where radiotap's unit, 500 kb/s, cannot tell it.
/// TSFT is the frame's end. Radiotap defines it as the first bit of the MPDU, but says so of received frames only, and many adapters tell
/// the end; Wireshark's spaces between frames (wlan_radio.ifs) are right without a setting only then.
/// @param end_us when the last bit was on the air, by the MAC's time; absent: not known
/// @param has_fcs the captured bytes end with the FCS
radiotap_bytes radiotap_of(std::optional<std::uint64_t> end_us, const timing_profile& profile, std::uint8_t rate_index, bool has_fcs);

/// Appends a frame: `radiotap`, then `head` and `body` behind each other.
void append_captured_frame(std::vector<std::uint8_t>& out, const capture_note& note, const radiotap_bytes& radiotap,
                           std::span<const std::uint8_t> head, std::span<const std::uint8_t> body = {});

}  // namespace perhop::wire
