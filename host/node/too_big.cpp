// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/too_big.hpp"

#include <array>

#include "host/core/shim/ip_bytes.hpp"

namespace perhop::node {

using namespace shim;  // bytes of IP

namespace {

constexpr std::size_t icmp_header_bytes = 8;
// An ICMP error repeats as much of its packet as fits into this (RFC 1812, 4.3.2.3; RFC 4443, 2.4 c).
constexpr std::size_t most_error_bytes_ipv4 = 576, most_error_bytes_ipv6 = 1280;
constexpr std::uint8_t time_to_live = 64, internetwork_control = 0xc0;
constexpr std::uint16_t flag_dont_fragment = 0x4000, flag_more_fragments = 0x2000, offset_mask = 0x1fff;
constexpr std::size_t fragment_unit_bytes = 8;

// ---- Fragments

/// The header of the fragments behind the first: of the options those whose copied flag is set (RFC 791, 3.1).
std::vector<std::uint8_t> later_header(std::span<const std::uint8_t> header) {
  constexpr std::uint8_t end = 0, no_operation = 1, copied = 0x80;
  std::vector<std::uint8_t> later(header.begin(), header.begin() + ipv4_header_bytes);
  for (std::size_t at = ipv4_header_bytes; at < header.size() && header[at] != end;) {
    const std::size_t size = header[at] == no_operation || at + 1 == header.size() ? 1 : header[at + 1];
    if (size == 0 || size > header.size() - at) break;
    if ((header[at] & copied) != 0)
      later.insert(later.end(), header.begin() + static_cast<std::ptrdiff_t>(at), header.begin() + static_cast<std::ptrdiff_t>(at + size));
    at += size;
  }
  later.resize((later.size() + 3) / 4 * 4, end);
  later[0] = static_cast<std::uint8_t>(0x40 | later.size() / 4);
  return later;
}

// ---- Messages

bool names_one_host_ipv4(std::uint32_t address) {
  const std::uint32_t net = address >> 24;
  return net != 0 && net != 127 && net < 224;
}

bool names_one_host_ipv6(const shim::ip_address& address) { return address.high >> 56 != 0xff && !(address.high == 0 && address.low <= 1); }

bool is_icmp_query(std::uint8_t type) {
  return type == 0 || (type >= 8 && type <= 10) || (type >= 13 && type <= 18) || type == 42 || type == 43;
}

bool may_be_answered(std::span<const std::uint8_t> bytes, const ip_packet& packet) {
  constexpr std::uint8_t icmpv6_redirect = 137, least_icmpv6_information = 128;
  if (packet.group) return false;
  const bool has_type = packet.payload_at < packet.view.ip_bytes;
  if (packet.ipv6) {
    const bool error = packet.view.flow.protocol == ip_protocol_icmpv6 &&
                       (!has_type || bytes[packet.payload_at] < least_icmpv6_information || bytes[packet.payload_at] == icmpv6_redirect);
    return !error && names_one_host_ipv6(packet.view.flow.source);
  }
  if ((read16(&bytes[6]) & offset_mask) != 0) return false;
  const bool error = bytes[9] == ip_protocol_icmp && (!has_type || !is_icmp_query(bytes[packet.payload_at]));
  return !error && names_one_host_ipv4(packet.view.flow.source.ipv4());
}

}  // namespace

std::vector<std::vector<std::uint8_t>> fragments_of(std::span<const std::uint8_t> bytes, const ip_packet& packet, std::size_t most_bytes) {
  if (packet.ipv6 || (read16(&bytes[6]) & flag_dont_fragment) != 0) return {};
  std::vector<std::uint8_t> header(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(packet.payload_at));
  if (most_bytes < header.size() + fragment_unit_bytes) return {};
  const std::uint16_t whole_flags = read16(&bytes[6]);
  std::span<const std::uint8_t> left = bytes.first(packet.view.ip_bytes).subspan(header.size());
  std::size_t offset_bytes = (whole_flags & offset_mask) * fragment_unit_bytes;
  std::vector<std::vector<std::uint8_t>> fragments;
  while (!left.empty()) {
    const bool last = left.size() <= most_bytes - header.size();
    const std::size_t size = last ? left.size() : (most_bytes - header.size()) / fragment_unit_bytes * fragment_unit_bytes;
    std::vector<std::uint8_t>& fragment = fragments.emplace_back(header);
    fragment.insert(fragment.end(), left.begin(), left.begin() + static_cast<std::ptrdiff_t>(size));
    const std::uint16_t more = last ? whole_flags & flag_more_fragments : flag_more_fragments;
    write16(&fragment[2], static_cast<std::uint16_t>(fragment.size()));
    write16(&fragment[6], static_cast<std::uint16_t>(more | offset_bytes / fragment_unit_bytes));
    write_ipv4_checksum(std::span(fragment).first(header.size()));
    left = left.subspan(size);
    offset_bytes += size;
    if (fragments.size() == 1) header = later_header(header);
  }
  return fragments;
}

std::vector<std::uint8_t> too_big_message(std::span<const std::uint8_t> bytes, const ip_packet& packet, std::size_t mtu_bytes,
                                          const shim::ip_address& from) {
  if (!may_be_answered(bytes, packet)) return {};
  const std::size_t at = packet.ipv6 ? ipv6_header_bytes : ipv4_header_bytes;
  const std::size_t most_bytes = packet.ipv6 ? most_error_bytes_ipv6 : most_error_bytes_ipv4;
  const auto quoted = bytes.first(std::min<std::size_t>(packet.view.ip_bytes, most_bytes - at - icmp_header_bytes));
  std::vector<std::uint8_t> message(at + icmp_header_bytes);
  message.insert(message.end(), quoted.begin(), quoted.end());
  const std::size_t icmp_bytes = message.size() - at;
  std::uint32_t sum = 0;
  if (packet.ipv6) {
    constexpr std::uint8_t packet_too_big = 2;
    write_ipv6_header(message, ip_protocol_icmpv6, time_to_live, from, packet.view.flow.source);
    message[at] = packet_too_big;
    write32(&message[at + 4], static_cast<std::uint32_t>(mtu_bytes));
    sum = pseudo_header_sum(message, at, static_cast<std::uint32_t>(icmp_bytes), ip_protocol_icmpv6);
  } else {
    constexpr std::uint8_t destination_unreachable = 3, fragmentation_needed = 4;
    write_ipv4_header(message, ip_protocol_icmp, time_to_live, from, packet.view.flow.source);
    message[1] = internetwork_control;
    write_ipv4_checksum(std::span(message).first(at));
    message[at] = destination_unreachable;
    message[at + 1] = fragmentation_needed;
    write16(&message[at + 6], static_cast<std::uint16_t>(mtu_bytes));
  }
  write16(&message[at + 2], folded(sum + sum_of(std::span(message).subspan(at))));
  return message;
}

}  // namespace perhop::node
