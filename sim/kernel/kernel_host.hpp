// SPDX-License-Identifier: GPL-2.0-or-later
/// A kernel at a node: its card between the calendar and the node's packet path. IPv4 alone; there is no ARP on the radio.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/kernel/calendar.hpp"
#include "sim/kernel/network.hpp"
#include "sim/kernel/network_card.hpp"

namespace perhop::kernels {

/// Every packet between a kernel and its node, as one number: times in nanoseconds and all bytes. Stricter than the hash of what is on
/// the air, which does not see a TCP sequence number.
class packet_hash {
public:
  void add(time_ns now, bool sent, std::span<const std::uint8_t> packet);
  std::string text() const;
  std::uint64_t packets() const { return packets_; }

private:
  void add(std::uint8_t byte) { hash_ = (hash_ ^ byte) * 0x0000'0100'0000'01b3; }

  std::uint64_t hash_ = 0xcbf2'9ce4'8422'2325;  // FNV-1a
  std::uint64_t packets_ = 0;
};

class kernel_host {
public:
  /// @param begin of the run: what a kernel sends before is lost
  kernel_host(calendar& time, network& below, std::size_t kernel, air::node_id node, const std::string& socket_path, time_ns begin);
  kernel_host(const kernel_host&) = delete;
  kernel_host& operator=(const kernel_host&) = delete;

  /// A packet for the kernel, when nobody else acts.
  void on_packet(std::span<const std::uint8_t> packet);

  air::node_id node() const { return node_; }
  const card_counters& counters() const { return card_.counters(); }
  const packet_hash& packets() const { return packets_; }

private:
  void on_frame(std::span<const std::uint8_t> frame);

  calendar& time_;
  network& below_;
  air::node_id node_;
  time_ns begin_;
  network_card card_;
  packet_hash packets_;
};

}  // namespace perhop::kernels
