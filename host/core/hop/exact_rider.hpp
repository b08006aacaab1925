// SPDX-License-Identifier: GPL-2.0-or-later
/// What EXACT puts between the path header and the IP packet: a data packet's number, or the receiver's report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "host/core/wire/exact_header.hpp"

namespace perhop::hop {

/// Nothing, for packets of other flows.
using exact_rider = std::variant<std::monostate, wire::exact_header, wire::exact_report>;

inline std::size_t rider_size(const exact_rider& rider) {
  if (std::holds_alternative<wire::exact_header>(rider)) return wire::exact_data::size_bytes;
  if (std::holds_alternative<wire::exact_report>(rider)) return wire::exact_feedback::size_bytes;
  return 0;
}

/// @return nothing when the first bytes are neither of the two
inline std::optional<exact_rider> read_rider(std::span<const std::uint8_t> bytes) {
  if (const auto data = wire::decode_exact_header(bytes)) return *data;
  if (const auto report = wire::decode_exact_report(bytes)) return *report;
  return std::nullopt;
}

inline void append_rider(std::vector<std::uint8_t>& bytes, const exact_rider& rider) {
  if (const auto* data = std::get_if<wire::exact_header>(&rider)) {
    const auto encoded = wire::encode(*data);
    bytes.insert(bytes.end(), encoded.begin(), encoded.end());
  } else if (const auto* report = std::get_if<wire::exact_report>(&rider)) {
    const auto encoded = wire::encode(*report);
    bytes.insert(bytes.end(), encoded.begin(), encoded.end());
  }
}

}  // namespace perhop::hop
