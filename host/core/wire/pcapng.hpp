// SPDX-License-Identifier: GPL-2.0-or-later
/// Bytes of captures that Wireshark and tshark read: pcapng (draft-ietf-opsawg-pcapng) of 802.11 frames behind radiotap headers,
/// times in microseconds. Who has a file writes them there; sections may follow each other in one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "host/core/wire/generated/frames.hpp"

namespace perhop::wire {

enum class capture_direction : std::uint8_t { untold = 0, inbound = 1, outbound = 2 };

/// Appends a section header and the description of its one interface.
void append_capture_section(std::vector<std::uint8_t>& out, std::string_view interface);

/// Appends a frame: `radiotap`, then `head` and `body` behind each other.
void append_captured_frame(std::vector<std::uint8_t>& out, std::uint64_t time_us, const radiotap_header& radiotap,
                           std::span<const std::uint8_t> head, std::span<const std::uint8_t> body = {},
                           capture_direction direction = capture_direction::untold);

/// The radiotap header of a frame without FCS.
radiotap_header radiotap_of(std::uint64_t tsft_us, const timing_profile& profile, std::uint8_t rate_index);

}  // namespace perhop::wire
