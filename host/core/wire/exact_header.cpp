// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/wire/exact_header.hpp"

#include <algorithm>

#include "host/core/wire/raw_frames.hpp"

namespace perhop::wire {

exact_header_buffer encode(const exact_header& header) {
  exact_data raw;
  raw.flags = header.last ? exact_data::flags_last : std::uint8_t{0};
  raw.sequence = header.sequence;
  return bytes_of(raw);
}

std::optional<exact_header> decode_exact_header(std::span<const std::uint8_t> bytes) {
  const std::optional<exact_data> raw = exact_data::decode(bytes);
  if (!raw || (raw->flags & ~exact_data::flags_last) != 0) return std::nullopt;
  return exact_header{.sequence = raw->sequence, .last = (raw->flags & exact_data::flags_last) != 0};
}

exact_report_buffer encode(const exact_report& report) {
  exact_feedback raw;
  raw.flags = report.silent_router_seen ? exact_feedback::flags_silent_router_seen : std::uint8_t{0};
  raw.hops = report.hops;
  raw.explicit_rate = encode_rate(report.explicit_rate_bps);
  raw.current_rate = encode_rate(report.current_rate_bps);
  raw.total_delay_16us = delay_units(report.total_delay_us);
  raw.max_delay_16us = delay_units(report.max_delay_us);
  raw.held_16us = delay_units(report.held_us);
  raw.highest_sequence = report.highest_sequence;
  raw.received_packets = report.received_packets;
  raw.arrived_bitmap = report.arrived_bitmap;
  return bytes_of(raw);
}

std::optional<exact_report> decode_exact_report(std::span<const std::uint8_t> bytes) {
  const std::optional<exact_feedback> raw = exact_feedback::decode(bytes);
  if (!raw || (raw->flags & ~exact_feedback::flags_silent_router_seen) != 0) return std::nullopt;
  // As in a path header: no delay without hops, no hop above the sum, no sum above hops times the largest.
  const bool contradicts = raw->max_delay_16us > raw->total_delay_16us || (raw->hops == 0 && raw->total_delay_16us != 0) ||
                           raw->total_delay_16us > std::uint32_t{raw->hops} * raw->max_delay_16us;
  if (contradicts) return std::nullopt;
  return exact_report{.silent_router_seen = (raw->flags & exact_feedback::flags_silent_router_seen) != 0,
                      .hops = raw->hops,
                      .explicit_rate_bps = decode_rate(raw->explicit_rate),
                      .current_rate_bps = decode_rate(raw->current_rate),
                      .total_delay_us = std::uint32_t{raw->total_delay_16us} * path_delay_unit_us,
                      .max_delay_us = std::uint32_t{raw->max_delay_16us} * path_delay_unit_us,
                      .held_us = std::uint32_t{raw->held_16us} * path_delay_unit_us,
                      .highest_sequence = raw->highest_sequence,
                      .received_packets = raw->received_packets,
                      .arrived_bitmap = raw->arrived_bitmap};
}

}  // namespace perhop::wire
