// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/wire/aodv_message.hpp"

#include <cassert>

#include "host/core/wire/generated/frames.hpp"
#include "host/core/wire/raw_frames.hpp"

namespace perhop::wire {

namespace {

void write(std::vector<std::uint8_t>& bytes, const aodv_rreq& message) {
  append(bytes, aodv_request{.destination_only = message.destination_only,
                             .sequence_unknown = !message.destination_sequence,
                             .hops = message.hops,
                             .identification = message.identification,
                             .destination = message.destination,
                             .destination_sequence = message.destination_sequence.value_or(0),
                             .originator = message.originator,
                             .originator_sequence = message.originator_sequence});
}

void write(std::vector<std::uint8_t>& bytes, const aodv_rrep& message) {
  append(bytes, aodv_reply{.hops = message.hops,
                           .destination = message.destination,
                           .destination_sequence = message.destination_sequence,
                           .originator = message.originator,
                           .lifetime_ms = message.lifetime_ms});
}

void write(std::vector<std::uint8_t>& bytes, const aodv_rerr& message) {
  assert(!message.lost.empty() && message.lost.size() <= most_aodv_unreachable);
  append(bytes, aodv_error{.no_delete = message.no_delete, .destinations = static_cast<std::uint8_t>(message.lost.size())});
  for (const aodv_lost_route& lost : message.lost) {
    append(bytes, aodv_unreachable{.destination = lost.destination, .destination_sequence = lost.sequence});
  }
}

std::optional<aodv_message> read_error(std::span<const std::uint8_t> bytes) {
  const auto raw = take<aodv_error>(bytes);
  if (!raw || raw->destinations == 0) return std::nullopt;
  aodv_rerr message{.no_delete = raw->no_delete != 0};
  message.lost.reserve(raw->destinations);
  for (unsigned count = 0; count < raw->destinations; ++count) {
    const auto lost = take<aodv_unreachable>(bytes);
    if (!lost) return std::nullopt;
    message.lost.push_back({.destination = lost->destination, .sequence = lost->destination_sequence});
  }
  return message;
}

}  // namespace

std::vector<std::uint8_t> encode(const aodv_message& message) {
  std::vector<std::uint8_t> bytes;
  std::visit([&bytes](const auto& one) { write(bytes, one); }, message);
  return bytes;
}

std::optional<aodv_message> decode_aodv_message(std::span<const std::uint8_t> bytes) {
  if (const auto raw = aodv_request::decode(bytes)) {
    aodv_rreq message{.destination_only = raw->destination_only != 0,
                      .hops = raw->hops,
                      .identification = raw->identification,
                      .destination = raw->destination,
                      .originator = raw->originator,
                      .originator_sequence = raw->originator_sequence};
    if (raw->sequence_unknown == 0) message.destination_sequence = raw->destination_sequence;
    return message;
  }
  if (const auto raw = aodv_reply::decode(bytes)) {
    return aodv_rrep{.hops = raw->hops,
                     .destination = raw->destination,
                     .destination_sequence = raw->destination_sequence,
                     .originator = raw->originator,
                     .lifetime_ms = raw->lifetime_ms};
  }
  return read_error(bytes);
}

}  // namespace perhop::wire
