// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/wire/tfrc_header.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/core/wire/raw_frames.hpp"

namespace perhop::wire {

namespace {

constexpr double interval_units_per_packet = 256;

std::uint32_t interval_units(double loss_event_rate) {
  if (loss_event_rate <= 0) return 0;
  constexpr double most = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp(std::round(interval_units_per_packet / loss_event_rate), interval_units_per_packet, most));
}

}  // namespace

tfrc_header_buffer encode(const tfrc_header& header) {
  tfrc_data raw;
  raw.sequence = header.sequence;
  raw.sent_us = header.sent_us;
  raw.round_trip_us = header.round_trip_us;
  return bytes_of(raw);
}

std::optional<tfrc_header> decode_tfrc_header(std::span<const std::uint8_t> bytes) {
  const std::optional<tfrc_data> raw = tfrc_data::decode(bytes);
  if (!raw) return std::nullopt;
  return tfrc_header{.sequence = raw->sequence, .sent_us = raw->sent_us, .round_trip_us = raw->round_trip_us};
}

tfrc_report_buffer encode(const tfrc_report& report) {
  tfrc_feedback raw;
  raw.sent_us = report.sent_us;
  raw.held_us = report.held_us;
  raw.receive_rate = report.receive_rate_bytes_per_s;
  raw.loss_interval_256 = interval_units(report.loss_event_rate);
  return bytes_of(raw);
}

std::optional<tfrc_report> decode_tfrc_report(std::span<const std::uint8_t> bytes) {
  const std::optional<tfrc_feedback> raw = tfrc_feedback::decode(bytes);
  if (!raw || (raw->loss_interval_256 != 0 && raw->loss_interval_256 < interval_units_per_packet)) return std::nullopt;
  return tfrc_report{.sent_us = raw->sent_us,
                     .held_us = raw->held_us,
                     .receive_rate_bytes_per_s = raw->receive_rate,
                     .loss_event_rate = raw->loss_interval_256 == 0 ? 0 : interval_units_per_packet / raw->loss_interval_256};
}

}  // namespace perhop::wire
