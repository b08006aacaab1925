// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/wire/path_header.hpp"

#include <algorithm>
#include <bit>

#include "host/core/wire/raw_frames.hpp"

namespace perhop::wire {

namespace {

using fields = path_header_fields;

constexpr int mantissa_bits = 11;
constexpr std::uint16_t mantissa_mask = (1U << mantissa_bits) - 1;

static_assert(path_header_bytes == fields::size_bytes);
static_assert(unlimited_rate_bps == std::uint64_t{mantissa_mask} << 31);

std::uint32_t to_us(std::uint16_t units) { return units * path_delay_unit_us; }

/// What holds for the sum, the maximum and the count of any hops, rounded or saturated or not.
std::optional<decode_error> contradiction(std::uint8_t hops, std::uint16_t total, std::uint16_t max) {
  if (max > total) return decode_error::max_above_total;
  if (hops == 0 && total != 0) return decode_error::delay_without_hops;
  if (total > std::uint32_t{hops} * max) return decode_error::total_above_hops;
  return std::nullopt;
}

}  // namespace

std::uint16_t delay_units(std::uint32_t delay_us) {
  // Divided first, so that the largest delays do not overflow on rounding.
  const std::uint32_t units = delay_us / path_delay_unit_us + (delay_us % path_delay_unit_us >= path_delay_unit_us / 2 ? 1 : 0);
  return static_cast<std::uint16_t>(std::min(units, 0xffffU));
}

std::uint32_t quantise_delay_us(std::uint32_t delay_us) { return to_us(delay_units(delay_us)); }

std::uint16_t encode_rate(std::uint64_t rate_bps) {
  if (rate_bps >= unlimited_rate_bps) return 0xffff;
  int exponent = std::max(static_cast<int>(std::bit_width(rate_bps)) - mantissa_bits, 0);
  const std::uint64_t half = (std::uint64_t{1} << exponent) >> 1;
  std::uint64_t mantissa = (rate_bps + half) >> exponent;
  if (mantissa > mantissa_mask) {  // rounded up to the next power of two
    mantissa >>= 1;
    ++exponent;
  }
  return static_cast<std::uint16_t>(static_cast<unsigned>(exponent) << mantissa_bits | mantissa);
}

std::uint64_t quantise_rate_down_bps(std::uint64_t rate_bps) {
  const std::uint16_t code = encode_rate(rate_bps);
  const std::uint64_t nearest = decode_rate(code);
  if (nearest <= rate_bps) return nearest;
  // The next one below. Under a power of two the steps are half as wide.
  const unsigned exponent = code >> mantissa_bits;
  const bool power_of_two = (code & mantissa_mask) == (mantissa_mask + 1U) / 2 && exponent != 0;
  return nearest - (std::uint64_t{1} << (power_of_two ? exponent - 1 : exponent));
}

std::uint64_t decode_rate(std::uint16_t code) {
  return std::uint64_t{static_cast<std::uint16_t>(code & mantissa_mask)} << (code >> mantissa_bits);
}

path_header_buffer encode(const path_header& header) {
  fields raw;
  raw.version = path_header_version;
  raw.flags = static_cast<std::uint8_t>(
      (header.wired_hop_seen ? fields::flags_wired_hop_seen : 0) | (header.silent_router_seen ? fields::flags_silent_router_seen : 0) |
      (header.echo ? fields::flags_echo_valid : 0) | (header.exact_follows ? fields::flags_exact_follows : 0));
  raw.hops = header.hops;
  raw.total_delay_16us = delay_units(header.total_delay_us);
  raw.max_delay_16us = delay_units(header.max_delay_us);
  raw.explicit_rate = encode_rate(header.explicit_rate_bps);
  raw.current_rate = encode_rate(header.current_rate_bps);
  raw.packets_in_flight = header.packets_in_flight;
  if (header.echo) {
    raw.echo_total_delay_16us = delay_units(header.echo->total_delay_us);
    raw.echo_max_delay_16us = delay_units(header.echo->max_delay_us);
    raw.echo_hops = header.echo->hops;
    raw.echo_rate = encode_rate(header.echo->rate_bps);
  }
  return bytes_of(raw);
}

decode_result decode(std::span<const std::uint8_t> bytes) {
  const std::optional<fields> raw = fields::decode(bytes);
  if (!raw) return decode_error::truncated;
  if (raw->version != path_header_version) return decode_error::foreign_version;
  if (const auto error = contradiction(raw->hops, raw->total_delay_16us, raw->max_delay_16us)) return *error;
  const bool echo_valid = (raw->flags & fields::flags_echo_valid) != 0;
  if (echo_valid) {
    if (const auto error = contradiction(raw->echo_hops, raw->echo_total_delay_16us, raw->echo_max_delay_16us)) {
      return *error;
    }
  } else if ((raw->echo_total_delay_16us | raw->echo_max_delay_16us | raw->echo_hops | raw->echo_rate) != 0) {
    return decode_error::echo_without_flag;
  }

  path_header header;
  header.wired_hop_seen = (raw->flags & fields::flags_wired_hop_seen) != 0;
  header.silent_router_seen = (raw->flags & fields::flags_silent_router_seen) != 0;
  header.exact_follows = (raw->flags & fields::flags_exact_follows) != 0;
  header.hops = raw->hops;
  header.total_delay_us = to_us(raw->total_delay_16us);
  header.max_delay_us = to_us(raw->max_delay_16us);
  header.explicit_rate_bps = decode_rate(raw->explicit_rate);
  header.current_rate_bps = decode_rate(raw->current_rate);
  header.packets_in_flight = raw->packets_in_flight;
  if (echo_valid) {
    header.echo = path_echo{.total_delay_us = to_us(raw->echo_total_delay_16us),
                            .max_delay_us = to_us(raw->echo_max_delay_16us),
                            .hops = raw->echo_hops,
                            .rate_bps = decode_rate(raw->echo_rate)};
  }
  return header;
}

}  // namespace perhop::wire
