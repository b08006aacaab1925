// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/congestion_window_limit_abc.hpp"

#include <algorithm>

namespace perhop::policy {

namespace {

constexpr std::uint32_t most_packets = UINT16_MAX;  // whatever the ceiling: no window field tells of more

std::uint32_t turned(std::uint32_t from, std::uint32_t to, std::uint32_t modulus) { return (to - from) % modulus; }

}  // namespace

congestion_window_limit_abc::congestion_window_limit_abc(std::uint32_t ceiling_packets)
    : ceiling_packets_(std::clamp(ceiling_packets, 1U, most_packets)) {}

void congestion_window_limit_abc::on_marks(const path_marks& told) {
  if (!known_) {
    known_ = told;
    window_256_ = std::clamp<std::uint32_t>(told.in_flight_packets, 1, ceiling_packets_) * one_packet;
    return;
  }
  const std::uint32_t arrived = turned(known_->arrived_packets, told.arrived_packets, path_marks::arrived_modulus);
  // Half a turn ahead is as well half a turn behind: a TCP ACK that was overtaken tells nothing.
  if (arrived == 0 || arrived >= path_marks::arrived_modulus / 2) return;
  const std::uint32_t accelerated = turned(known_->accelerated_packets, told.accelerated_packets, path_marks::accelerated_modulus);
  known_ = told;
  const std::uint32_t accelerates = std::min(accelerated, arrived);
  move(accelerates, arrived - accelerates, told.in_flight_packets);
}

void congestion_window_limit_abc::move(std::uint32_t accelerates, std::uint32_t brakes, std::uint32_t in_flight_packets) {
  std::uint32_t most_256 = ceiling_packets_ * one_packet;
  if (in_flight_packets != 0) most_256 = std::min(most_256, 2 * in_flight_packets * one_packet);
  const auto step = [this](std::uint32_t up_256, std::uint32_t down_256) {
    const std::uint32_t equal_256 = one_packet * one_packet / window_256_;
    window_256_ = std::max(window_256_ + up_256 + equal_256, down_256 + one_packet) - down_256;
  };
  for (; brakes != 0; --brakes) step(0, one_packet);
  for (; accelerates != 0; --accelerates) step(one_packet, 0);
  window_256_ = std::clamp(window_256_, one_packet, most_256);
}

std::optional<std::uint32_t> congestion_window_limit_abc::limit_packets() const {
  if (!known_) return std::nullopt;
  return window_256_ / one_packet;
}

}  // namespace perhop::policy
