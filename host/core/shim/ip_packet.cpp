// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/shim/ip_packet.hpp"

#include <algorithm>

#include "host/core/shim/ip_bytes.hpp"
#include "host/core/shim/tcp_bytes.hpp"
#include "host/core/shim/told_window.hpp"

namespace perhop::shim {

namespace {

constexpr std::size_t udp_header_bytes = 8;
constexpr std::uint8_t option_window_scale = 3, option_sack = 5, option_timestamps = 8;
// Digests of the segment: TCP-MD5 (RFC 2385), TCP-AO (RFC 5925).
constexpr std::uint8_t option_md5 = 19, option_ao = 29;
// IPv6 extension headers (RFC 8200, 4).
constexpr std::uint8_t hop_by_hop = 0, routing = 43, fragment = 44, destination_options = 60;
// Stands for what has no ports that could be read: fragments, and headers cut short.
constexpr std::uint8_t unreadable_protocol = 255;

/// @param tcp at least the header, of `segment_bytes`. @return whether that was whole
bool read_tcp(std::span<const std::uint8_t> tcp, std::size_t segment_bytes, tcp_view& view) {
  if (tcp.size() < tcp_header_bytes) return false;
  const std::size_t header_bytes = tcp_header_size(tcp);
  if (header_bytes < tcp_header_bytes || header_bytes > tcp.size()) return false;
  view.sequence = read32(&tcp[4]);
  view.tcp_ack = read32(&tcp[8]);
  view.fin = (tcp[13] & 0x01) != 0;
  view.syn = (tcp[13] & 0x02) != 0;
  view.rst = (tcp[13] & 0x04) != 0;
  view.has_tcp_ack = (tcp[13] & 0x10) != 0;
  view.window_bytes = read16(&tcp[tcp_window_at]);
  view.payload_bytes = static_cast<std::uint32_t>(segment_bytes - header_bytes);
  for_each_option(tcp.subspan(tcp_header_bytes, header_bytes - tcp_header_bytes), [&](std::size_t, std::span<const std::uint8_t> option) {
    if (option[0] == option_mss && option.size() == 4) view.mss_option_bytes = read16(&option[2]);
    if (option[0] == option_timestamps && option.size() == 10) {
      view.timestamps = true;
      view.timestamp_value = read32(&option[2]);
      view.timestamp_echo = read32(&option[6]);
    }
    if (is_window_option(option)) view.told_window_packets = read16(&option[window_option_head.size()]);
    view.sack_blocks |= option[0] == option_sack;
    view.is_signed |= option[0] == option_md5 || option[0] == option_ao;
  });
  return true;
}

void read_ports(std::span<const std::uint8_t> transport, flow_key& flow) {
  flow.source_port = read16(transport.data());
  flow.destination_port = read16(&transport[2]);
}

void read_transport(std::span<const std::uint8_t> head, std::size_t at, std::uint8_t protocol, ip_packet& packet) {
  packet.view.flow.protocol = protocol;
  packet.payload_at = at;
  const std::span<const std::uint8_t> transport = head.subspan(std::min(at, head.size()));
  const bool is_tcp = protocol == ip_protocol_tcp;
  if (!is_tcp && protocol != ip_protocol_udp) return;
  if (is_tcp ? !read_tcp(transport, packet.view.ip_bytes - at, packet.view.tcp) : transport.size() < udp_header_bytes) {
    packet.view.flow.protocol = unreadable_protocol;
    return;
  }
  read_ports(transport, packet.view.flow);
  packet.transport_at = at;
}

std::optional<ip_packet> read_ipv4(std::span<const std::uint8_t> bytes, std::size_t packet_bytes) {
  if (bytes.size() < ipv4_header_bytes) return std::nullopt;
  const std::size_t header_bytes = (bytes[0] & 0xf) * std::size_t{4};
  const std::size_t total_bytes = read16(&bytes[2]);
  if (header_bytes < ipv4_header_bytes || total_bytes < header_bytes || total_bytes > packet_bytes) return std::nullopt;
  std::optional<ip_packet> packet(std::in_place);
  const std::uint32_t destination = read32(&bytes[16]);
  packet->view.ip_bytes = static_cast<std::uint32_t>(total_bytes);
  packet->view.ttl = bytes[8];
  packet->view.expedited = bytes[1] >> 2 == expedited_forwarding;
  packet->view.ecn = static_cast<ecn_field>(bytes[1] & 3);
  packet->view.flow.source = ip_address::from_ipv4(read32(&bytes[12]));
  packet->view.flow.destination = ip_address::from_ipv4(destination);
  packet->group = destination >> 28 == 0xe || destination == 0xffff'ffff;
  const bool whole = (read16(&bytes[6]) & 0x3fff) == 0;  // neither offset nor more fragments
  read_transport(bytes.first(std::min(total_bytes, bytes.size())), header_bytes, whole ? bytes[9] : unreadable_protocol, *packet);
  return packet;
}

std::optional<ip_packet> read_ipv6(std::span<const std::uint8_t> bytes, std::size_t packet_bytes) {
  if (bytes.size() < ipv6_header_bytes) return std::nullopt;
  const std::size_t total_bytes = ipv6_header_bytes + read16(&bytes[4]);
  if (total_bytes > packet_bytes) return std::nullopt;
  const std::span<const std::uint8_t> head = bytes.first(std::min(total_bytes, bytes.size()));
  std::optional<ip_packet> packet(std::in_place);
  packet->ipv6 = true;
  packet->view.ip_bytes = static_cast<std::uint32_t>(total_bytes);
  packet->view.ttl = bytes[7];
  packet->view.expedited = (read16(bytes.data()) >> 6 & 0x3f) == expedited_forwarding;
  packet->view.ecn = static_cast<ecn_field>(bytes[1] >> 4 & 3);
  packet->view.flow.source = {read64(&bytes[8]), read64(&bytes[16])};
  packet->view.flow.destination = {read64(&bytes[24]), read64(&bytes[32])};
  packet->group = bytes[24] == 0xff;
  std::uint8_t next = bytes[6];
  std::size_t at = ipv6_header_bytes;
  while (next == hop_by_hop || next == routing || next == destination_options) {
    if (head.size() - at < 8) return packet;
    const std::size_t size = (head[at + 1] + std::size_t{1}) * 8;
    if (size > head.size() - at) return packet;
    next = head[at];
    at += size;
  }
  read_transport(head, at, next == fragment ? unreadable_protocol : next, *packet);
  return packet;
}

}  // namespace

std::optional<ip_packet> read_ip(std::span<const std::uint8_t> head, std::size_t packet_bytes) {
  if (head.empty()) return std::nullopt;
  if (head[0] >> 4 == 4) return read_ipv4(head, packet_bytes);
  if (head[0] >> 4 == 6) return read_ipv6(head, packet_bytes);
  return std::nullopt;
}

bool read_segment(std::span<const std::uint8_t> head, std::size_t segment_bytes, ip_packet_view& view) {
  if (!read_tcp(head, segment_bytes, view.tcp)) return false;
  read_ports(head, view.flow);
  return true;
}

void lower_ttl(std::span<std::uint8_t> bytes, const ip_packet& packet) {
  if (packet.ipv6) {
    --bytes[7];
    return;
  }
  const std::uint16_t before = read16(&bytes[8]);
  --bytes[8];
  write16(&bytes[10], mended(read16(&bytes[10]), before, read16(&bytes[8])));
}

void mark_congestion(std::span<std::uint8_t> bytes, const ip_packet& packet) {
  if (packet.ipv6) {
    bytes[1] |= 0x30;
    return;
  }
  const std::uint16_t before = read16(bytes.data());
  bytes[1] |= 3;
  write16(&bytes[10], mended(read16(&bytes[10]), before, read16(bytes.data())));
}

std::vector<std::uint8_t> empty_udp(const flow_key& flow) {
  constexpr std::uint8_t time_to_live = 64;
  const bool ipv4 = flow.source.is_ipv4();
  const std::size_t at = ipv4 ? ipv4_header_bytes : ipv6_header_bytes;
  std::vector<std::uint8_t> bytes(at + udp_header_bytes);
  (ipv4 ? write_ipv4_header : write_ipv6_header)(bytes, ip_protocol_udp, time_to_live, flow.source, flow.destination);
  write16(&bytes[at], flow.source_port);
  write16(&bytes[at + 2], flow.destination_port);
  write16(&bytes[at + 4], udp_header_bytes);
  // A sum of 0 is sent as all ones.
  const std::uint16_t checksum =
      folded(pseudo_header_sum(bytes, at, udp_header_bytes, ip_protocol_udp) + sum_of(std::span(bytes).subspan(at)));
  write16(&bytes[at + 6], checksum == 0 ? 0xffff : checksum);
  return bytes;
}

void write_window(std::span<std::uint8_t> bytes, const ip_packet& packet, std::uint32_t window_bytes) {
  write_word(&bytes[packet.transport_at], tcp_window_at, static_cast<std::uint16_t>(std::min<std::uint32_t>(window_bytes, 0xffff)));
}

void strip_window_scaling(std::span<std::uint8_t> bytes, const ip_packet& packet) {
  const std::span<std::uint8_t> tcp = bytes.subspan(packet.transport_at, packet.view.ip_bytes - packet.transport_at);
  std::size_t found = 0;
  for_each_option(tcp.subspan(tcp_header_bytes, tcp_header_size(tcp) - tcp_header_bytes),
                  [&](std::size_t at, std::span<std::uint8_t> option) {
                    if (option[0] == option_window_scale && option.size() == 3) found = tcp_header_bytes + at;
                  });
  for (std::size_t byte = found; found != 0 && byte < found + 3; ++byte) {
    const std::size_t word = byte & ~std::size_t{1};
    const std::uint16_t before = read16(&tcp[word]);
    tcp[byte] = option_nop;
    write16(&tcp[16], mended(read16(&tcp[16]), before, read16(&tcp[word])));
  }
}

}  // namespace perhop::shim
