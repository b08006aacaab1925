// SPDX-License-Identifier: GPL-2.0-or-later
//
// What EXACT flows carry behind the path header (flag exact_follows): data packets their number, packets that go back the
// receiver's report. The rates of a data packet are in its path header.
//
// Byte layouts: gateware/spec/frames.yaml (exact_data, exact_feedback). This file gives them a meaning in plain units.
//
// Source: K. Chen, K. Nahrstedt, "Limitations of equation-based congestion control in mobile ad hoc networks", section
// VI.B and figure 10: the rate of the path goes back to the sender in a feedback packet. The layout is ours.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/core/wire/path_header.hpp"

namespace perhop::wire {

/// Number of a data packet in its flow.
struct exact_header {
  std::uint32_t sequence = 0;  ///< from 0, modulo 2^32
  bool last = false;           ///< the flow ends with this packet: routers forget it at once

  friend bool operator==(const exact_header&, const exact_header&) = default;
};

/// What the receiver tells the sender: how the last data packet came, and which ones arrived.
struct exact_report {
  bool silent_router_seen = false;
  std::uint8_t hops = 0;
  std::uint64_t explicit_rate_bps = unlimited_rate_bps;  ///< as it arrived: the minimum over the routers of the path
  std::uint64_t current_rate_bps = 0;                    ///< as it arrived: what the sender said that it used
  std::uint32_t total_delay_us = 0;
  std::uint32_t max_delay_us = 0;
  std::uint32_t held_us = 0;  ///< from the arrival of highest_sequence to this report, at most max_delay_us
  std::uint32_t highest_sequence = 0;
  std::uint32_t received_packets = 0;  ///< modulo 2^32
  std::uint32_t arrived_bitmap = 0;    ///< bit i: highest_sequence - 1 - i arrived

  friend bool operator==(const exact_report&, const exact_report&) = default;
};

using exact_header_buffer = std::array<std::uint8_t, exact_data::size_bytes>;
using exact_report_buffer = std::array<std::uint8_t, exact_feedback::size_bytes>;

exact_header_buffer encode(const exact_header& header);

/// Delays and rates are rounded as in a path header, and saturate.
exact_report_buffer encode(const exact_report& report);

/// Reads from the first bytes of `bytes`; more may follow. @return nothing when they are too few, of another kind, or have
/// a reserved flag set
std::optional<exact_header> decode_exact_header(std::span<const std::uint8_t> bytes);

/// The same for a report, which is refused too when its hops and delays contradict each other.
std::optional<exact_report> decode_exact_report(std::span<const std::uint8_t> bytes);

}  // namespace perhop::wire
