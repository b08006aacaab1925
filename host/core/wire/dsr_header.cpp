// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/wire/dsr_header.hpp"

#include <cassert>

#include "host/core/wire/generated/frames.hpp"
#include "host/core/wire/raw_frames.hpp"

namespace perhop::wire {

namespace {

constexpr std::uint8_t pad_n = 0, pad_1 = 224;
constexpr std::size_t alignment_bytes = 4;
// Option Type and Opt Data Len, which the length does not count.
constexpr std::size_t uncounted_bytes = 2;

std::size_t list_bytes(std::size_t addresses) { return addresses * dsr_address::size_bytes; }

std::size_t option_bytes(const dsr_header& header) {
  std::size_t bytes = 0;
  if (header.request) bytes += dsr_route_request_option::size_bytes + list_bytes(header.request->route.size());
  for (const dsr_route_reply& reply : header.replies) bytes += dsr_route_reply_option::size_bytes + list_bytes(reply.route.size());
  bytes += header.errors.size() * dsr_route_error_option::size_bytes;
  if (header.source_route) bytes += dsr_source_route_option::size_bytes + list_bytes(header.source_route->route.size());
  return bytes;
}

std::size_t aligned(std::size_t bytes) { return (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes; }

template <typename frame_type>
void append(std::vector<std::uint8_t>& bytes, frame_type option, const std::vector<ipv4_address>& list) {
  assert(list.size() <= most_dsr_addresses);
  option.option_bytes = static_cast<std::uint8_t>(frame_type::size_bytes - uncounted_bytes + list_bytes(list.size()));
  append(bytes, option);
  for (const ipv4_address node : list) append(bytes, dsr_address{.node = node});
}

/// The addresses behind the head of an option. @return nothing when they are no whole number of addresses, or too many
template <typename frame_type>
std::optional<std::vector<ipv4_address>> list_of(std::span<const std::uint8_t> option) {
  option = option.subspan(frame_type::size_bytes);
  if (option.size() % dsr_address::size_bytes != 0 || option.size() > list_bytes(most_dsr_addresses)) return std::nullopt;
  std::vector<ipv4_address> list;
  list.reserve(option.size() / dsr_address::size_bytes);
  for (; !option.empty(); option = option.subspan(dsr_address::size_bytes)) list.push_back(dsr_address::decode(option)->node);
  return list;
}

bool read_request(std::span<const std::uint8_t> option, dsr_header& header) {
  const auto raw = dsr_route_request_option::decode(option);
  if (!raw || header.request) return false;
  auto list = list_of<dsr_route_request_option>(option);
  if (!list) return false;
  header.request = {.identification = raw->identification, .target = raw->target, .route = std::move(*list)};
  return true;
}

bool read_reply(std::span<const std::uint8_t> option, dsr_header& header) {
  if (!dsr_route_reply_option::decode(option)) return false;
  auto list = list_of<dsr_route_reply_option>(option);
  if (!list || list->empty()) return false;
  header.replies.push_back({.route = std::move(*list)});
  return true;
}

bool read_error(std::span<const std::uint8_t> option, dsr_header& header) {
  const auto raw = dsr_route_error_option::decode(option);
  if (!raw) return false;
  header.errors.push_back(
      {.salvage = raw->salvage, .source = raw->error_source, .destination = raw->error_destination, .unreachable = raw->unreachable});
  return true;
}

bool read_source_route(std::span<const std::uint8_t> option, dsr_header& header) {
  const auto raw = dsr_source_route_option::decode(option);
  if (!raw || header.source_route) return false;
  auto list = list_of<dsr_source_route_option>(option);
  if (!list || raw->segments_left > list->size()) return false;
  header.source_route = {.salvage = raw->salvage, .segments_left = raw->segments_left, .route = std::move(*list)};
  return true;
}

/// @param option with its type and length. @return false when the header must be refused for it
bool read_option(std::span<const std::uint8_t> option, dsr_header& header) {
  switch (option[0]) {
    case dsr_route_request_option{}.type:
      return read_request(option, header);
    case dsr_route_reply_option{}.type:
      return read_reply(option, header);
    case dsr_route_error_option{}.type:
      return read_error(option, header);
    case dsr_source_route_option{}.type:
      return read_source_route(option, header);
    default:
      return (option[0] >> 5 & 3) < 2;  // RFC 4728, 6.1: 00 ignore, 01 remove, 10 mark, 11 drop the packet
  }
}

}  // namespace

std::size_t size_bytes(const dsr_header& header) { return dsr_fixed::size_bytes + aligned(option_bytes(header)); }

std::vector<std::uint8_t> encode(const dsr_header& header) {
  std::vector<std::uint8_t> bytes;
  const std::size_t size = size_bytes(header);
  bytes.reserve(size);
  append(bytes, dsr_fixed{.next_header = header.next_header, .payload_bytes = static_cast<std::uint16_t>(size - dsr_fixed::size_bytes)});
  if (header.request) {
    append(bytes, dsr_route_request_option{.identification = header.request->identification, .target = header.request->target},
           header.request->route);
  }
  for (const dsr_route_reply& reply : header.replies) append(bytes, dsr_route_reply_option{}, reply.route);
  for (const dsr_route_error& error : header.errors) {
    append(bytes, dsr_route_error_option{.salvage = error.salvage,
                                         .error_source = error.source,
                                         .error_destination = error.destination,
                                         .unreachable = error.unreachable});
  }
  if (const auto& route = header.source_route) {
    assert(route->salvage <= most_dsr_salvages && route->segments_left <= route->route.size());
    append(bytes, dsr_source_route_option{.salvage = route->salvage, .segments_left = route->segments_left}, route->route);
  }
  bytes.resize(size, pad_1);
  return bytes;
}

std::optional<decoded_dsr_header> decode_dsr_header(std::span<const std::uint8_t> bytes) {
  const auto fixed = dsr_fixed::decode(bytes);
  if (!fixed || fixed->payload_bytes % alignment_bytes != 0) return std::nullopt;
  if (bytes.size() - dsr_fixed::size_bytes < fixed->payload_bytes) return std::nullopt;
  decoded_dsr_header decoded{.header = {.next_header = fixed->next_header}, .size_bytes = dsr_fixed::size_bytes + fixed->payload_bytes};
  std::span<const std::uint8_t> options = bytes.subspan(dsr_fixed::size_bytes, fixed->payload_bytes);
  while (!options.empty()) {
    if (options[0] == pad_1) {
      options = options.subspan(1);
      continue;
    }
    if (options.size() < uncounted_bytes || options.size() - uncounted_bytes < options[1]) return std::nullopt;
    const std::span<const std::uint8_t> option = options.first(uncounted_bytes + options[1]);
    if (option[0] != pad_n && !read_option(option, decoded.header)) return std::nullopt;
    options = options.subspan(option.size());
  }
  return decoded;
}

}  // namespace perhop::wire
