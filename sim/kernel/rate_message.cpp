// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/rate_message.hpp"

#include <string>

#include "sim/kernel/addresses.hpp"
#include "sim/kernel/flow_plan.hpp"

namespace perhop::kernels {

namespace {

// The last one of the network, behind all nodes.
constexpr std::uint32_t teller = network_address | 0x00FF'FFFE;
constexpr std::size_t ip_bytes = 20, udp_bytes = 8, checksum_at = 10;
constexpr std::uint8_t udp_protocol = 17, own_link = 1;

void put(std::vector<std::uint8_t>& bytes, std::uint64_t value, std::size_t octets) {
  for (std::size_t left = octets; left-- > 0;) bytes.push_back(static_cast<std::uint8_t>(value >> 8 * left));
}

}  // namespace

std::vector<std::uint8_t> rate_message(std::uint32_t to, std::size_t flow, std::uint64_t rate_bps) {
  const std::string text = std::to_string(flow) + ' ' + std::to_string(rate_bps);
  std::vector<std::uint8_t> packet;
  put(packet, 0x4500, 2);
  put(packet, ip_bytes + udp_bytes + text.size(), 2);
  put(packet, 0, 4);  // neither an identification nor a fragment
  put(packet, own_link, 1);
  put(packet, udp_protocol, 1);
  put(packet, 0, 2);
  put(packet, teller, 4);
  put(packet, to, 4);
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < ip_bytes; at += 2) sum += static_cast<std::uint32_t>(packet[at]) << 8 | packet[at + 1];
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  packet[checksum_at] = static_cast<std::uint8_t>(~sum >> 8);
  packet[checksum_at + 1] = static_cast<std::uint8_t>(~sum);
  put(packet, flow_plan::rate_port, 2);
  put(packet, flow_plan::rate_port, 2);
  put(packet, udp_bytes + text.size(), 2);
  put(packet, 0, 2);  // no checksum
  packet.insert(packet.end(), text.begin(), text.end());
  return packet;
}

}  // namespace perhop::kernels
