// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/kernel_host.hpp"

#include <array>
#include <cstdio>

#include "host/core/wire/generated/protocol.hpp"

namespace perhop::kernels {

namespace {

constexpr std::size_t ethernet_bytes = 14;
constexpr std::size_t ethertype_at = 12;
constexpr time_ns microsecond_ns = 1000;

}  // namespace

void packet_hash::add(time_ns now, bool sent, std::span<const std::uint8_t> packet) {
  ++packets_;
  for (unsigned shift = 0; shift < 64; shift += 8) add(static_cast<std::uint8_t>(now >> shift));
  add(sent ? 1 : 0);
  for (const std::uint8_t byte : packet) add(byte);
}

std::string packet_hash::text() const {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash_));
  return text.data();
}

kernel_host::kernel_host(calendar& time, network& below, std::size_t kernel, air::node_id node, const std::string& socket_path,
                         time_ns begin)
    : time_(time),
      below_(below),
      node_(node),
      begin_(begin),
      card_(time, kernel, socket_path, air::mac_address(node), [this](std::span<const std::uint8_t> frame) { on_frame(frame); }) {
  below_.set_ip(node, [this](std::span<const std::uint8_t> packet) { on_packet(packet); });
}

/// The kernel's times are nanoseconds, the node's microseconds: a packet is the node's at the next whole one.
void kernel_host::on_frame(std::span<const std::uint8_t> frame) {
  if (frame.size() <= ethernet_bytes || time_.now() < begin_) return;
  if ((frame[ethertype_at] << 8 | frame[ethertype_at + 1]) != ipv4_ethertype) return;
  const std::span<const std::uint8_t> packet = frame.subspan(ethernet_bytes);
  packets_.add(time_.now() - begin_, true, packet);
  const time_ns when = begin_ + (time_.now() - begin_ + microsecond_ns - 1) / microsecond_ns * microsecond_ns;
  time_.at(when, [this, when, bytes = std::vector(packet.begin(), packet.end())] { below_.send_ip(when, node_, bytes); });
}

void kernel_host::on_packet(std::span<const std::uint8_t> packet) {
  std::vector<std::uint8_t> frame(ethernet_bytes + packet.size());
  for (std::size_t octet = 0; octet < 6; ++octet) {
    frame[octet] = frame[octet + 6] = static_cast<std::uint8_t>(air::mac_address(node_) >> 8 * (5 - octet));
  }
  frame[ethertype_at] = static_cast<std::uint8_t>(ipv4_ethertype >> 8);
  frame[ethertype_at + 1] = static_cast<std::uint8_t>(ipv4_ethertype & 0xFF);
  std::copy(packet.begin(), packet.end(), frame.begin() + ethernet_bytes);
  time_.at(time_.now(), [this, bytes = std::move(frame)] {
    packets_.add(time_.now() - begin_, false, std::span(bytes).subspan(ethernet_bytes));
    card_.deliver(bytes);
  });
}

}  // namespace perhop::kernels
