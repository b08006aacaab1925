// SPDX-License-Identifier: GPL-2.0-or-later
//
// The path header: what a packet gathers about the hops it crosses, and what it brings back about the other direction.
//
// It stands between LLC/SNAP (EtherType 0x88B5) and the IP packet. Byte layout: gateware/spec/frames.yaml. This file
// gives it a meaning in plain units and is the only place that turns it into bytes and back.
//
// Source: K. Chen, Y. Xue, S. Shah, K. Nahrstedt, "Understanding bandwidth-delay product in mobile ad hoc networks",
// Computer Communications 2004, section 4.2: a total-delay and a maximum-delay field in every packet.
// Ours differs from the source:
//  - it stands below IP, not in the IP header, so that no checksum, option or MTU rule of IP is touched;
//  - the echo brings back the forward *sum* as well as the forward maximum (Corollary 2 needs both; the paper names
//  only
//    the maximum), and the hop count and rate;
//  - delays are in units of 16 us, rates are 16-bit floats: every byte costs 4 us a hop at 2 Mb/s.

#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/core/wire/generated/frames.hpp"

namespace perhop::wire {

/// The largest delay the header can carry; longer ones saturate to it.
inline constexpr std::uint32_t max_delay_us = 0xffffU * path_delay_unit_us;

/// The largest rate a 16-bit float can carry. As an explicit rate it means that no router has stated a limit.
inline constexpr std::uint64_t unlimited_rate_bps = std::uint64_t{2047} << 31;

/// What the other direction's packets gathered, brought back to their sender.
struct path_echo {
  std::uint32_t total_delay_us = 0;             ///< sum over the hops; 0 when the delays are not fully known
  std::uint32_t max_delay_us = 0;               ///< largest hop; 0 when the delays are not fully known
  std::uint8_t hops = 0;                        ///< 0 when unknown
  std::uint64_t rate_bps = unlimited_rate_bps;  ///< explicit rate as it arrived

  friend bool operator==(const path_echo&, const path_echo&) = default;
};

/// A path header in plain units. Only wireless hops count in `hops` and in the delays; a wired hop sets its flag.
struct path_header {
  bool wired_hop_seen = false;
  bool silent_router_seen = false;  ///< a router without the shim: hops and delays are too small
  std::uint8_t hops = 0;
  std::uint32_t total_delay_us = 0;                      ///< sum of the hops' delays
  std::uint32_t max_delay_us = 0;                        ///< largest of the hops' delays
  std::uint64_t explicit_rate_bps = unlimited_rate_bps;  ///< lowered by every router to its own allocation
  std::uint64_t current_rate_bps = 0;                    ///< what the sender says it uses
  std::uint8_t packets_in_flight = 0;                    ///< of this flow, at the sender; 255 means 255 or more
  bool exact_follows = false;                            ///< an exact_header or exact_report stands behind this header
  std::optional<path_echo> echo{};

  friend bool operator==(const path_header&, const path_header&) = default;
};

/// Why bytes are not a path header.
enum class decode_error : std::uint8_t {
  truncated,           ///< fewer bytes than a header
  foreign_version,     ///< another version of the layout
  max_above_total,     ///< a hop cannot take longer than all hops together
  delay_without_hops,  ///< a delay, and yet no hop that could have added it
  total_above_hops,    ///< the sum is larger than `hops` times the largest hop
  echo_without_flag,   ///< echo fields are filled although the echo is not valid
};
inline constexpr std::size_t decode_error_count = 6;

/// Either a header or the reason why there is none.
class decode_result {
public:
  decode_result(const path_header& header) : header_(header) {}  // NOLINT(google-explicit-constructor)
  decode_result(decode_error error) : error_(error) {}           // NOLINT(google-explicit-constructor)

  bool has_value() const { return header_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const path_header& operator*() const {
    assert(has_value());
    return *header_;
  }
  const path_header* operator->() const {
    assert(has_value());
    return &*header_;
  }
  decode_error error() const {
    assert(!has_value());
    return error_;
  }

private:
  std::optional<path_header> header_;
  decode_error error_ = decode_error::truncated;
};

using path_header_buffer = std::array<std::uint8_t, path_header_bytes>;

/// The header as it goes on the air. Delays are rounded to the nearest unit (half up) and saturate.
path_header_buffer encode(const path_header& header);

/// Reads a header from the first bytes of `bytes`; more bytes may follow. Never reads past the end.
decode_result decode(std::span<const std::uint8_t> bytes);

/// The delay in units of path_delay_unit_us, as it goes on the air: rounded to the nearest (half up), saturated.
std::uint16_t delay_units(std::uint32_t delay_us);

/// The delay that arrives when `delay_us` is sent: rounded to the nearest unit (half up), saturated.
std::uint32_t quantise_delay_us(std::uint32_t delay_us);

/// Rate to 16-bit float: exponent in the upper 5 bits, mantissa in the lower 11, rate = mantissa * 2^exponent b/s.
/// Rounded to the nearest, with the smallest exponent that fits (so below 2048 b/s it is exact); saturates.
std::uint16_t encode_rate(std::uint64_t rate_bps);

/// 16-bit float to rate. Every one of the 65536 values has a meaning.
std::uint64_t decode_rate(std::uint16_t code);

/// The largest rate that the header can carry and that is not above `rate_bps`: for limits, which may not grow on the way.
std::uint64_t quantise_rate_down_bps(std::uint64_t rate_bps);

/// The rate that arrives when `rate_bps` is sent.
inline std::uint64_t quantise_rate_bps(std::uint64_t rate_bps) { return decode_rate(encode_rate(rate_bps)); }

}  // namespace perhop::wire
