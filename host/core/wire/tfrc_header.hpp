// SPDX-License-Identifier: GPL-2.0-or-later
//
// What TFRC's sender and receiver tell each other, at the front of their UDP payload.
//
// Byte layouts: gateware/spec/frames.yaml (tfrc_data, tfrc_feedback). This file gives them a meaning in plain units.
//
// Source: RFC 5348, section 3.2. Differences: the loss event rate travels as its inverse, as in RFC 4342, 8.5, with 8 bits behind the
// point; the layout is ours.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "host/core/wire/generated/frames.hpp"

namespace perhop::wire {

struct tfrc_header {
  std::uint32_t sequence = 0;       ///< from 0, modulo 2^32
  std::uint32_t sent_us = 0;        ///< by the sender's clock, modulo 2^32
  std::uint32_t round_trip_us = 0;  ///< the sender's mean; 0: not known yet

  friend bool operator==(const tfrc_header&, const tfrc_header&) = default;
};

struct tfrc_report {
  std::uint32_t sent_us = 0;                   ///< of the packet that arrived last
  std::uint32_t held_us = 0;                   ///< since then
  std::uint32_t receive_rate_bytes_per_s = 0;  ///< X_recv
  double loss_event_rate = 0;                  ///< p, within [0, 1]; 0: no loss event yet

  friend bool operator==(const tfrc_report&, const tfrc_report&) = default;
};

using tfrc_header_buffer = std::array<std::uint8_t, tfrc_data::size_bytes>;
using tfrc_report_buffer = std::array<std::uint8_t, tfrc_feedback::size_bytes>;

tfrc_header_buffer encode(const tfrc_header& header);

/// The inverse of the loss event rate is rounded to 1/256 packets; a rate below 1 in 2^24 is told as that.
tfrc_report_buffer encode(const tfrc_report& report);

/// Reads from the first bytes of `bytes`; more may follow. @return nothing when they are too few, or of another kind
std::optional<tfrc_header> decode_tfrc_header(std::span<const std::uint8_t> bytes);

/// The same for a report, which is refused too when its loss event rate would be above 1.
std::optional<tfrc_report> decode_tfrc_report(std::span<const std::uint8_t> bytes);

}  // namespace perhop::wire
