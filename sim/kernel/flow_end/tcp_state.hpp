// SPDX-License-Identifier: GPL-2.0-or-later
/// What TCP tells of a connection: struct tcp_info of Linux 6.12, of which older headers know less. The fields told here, at their places.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace perhop::kernels {

struct tcp_state {
  std::uint32_t mss_bytes = 0, rtt_us = 0, window_packets = 0, retransmissions = 0, advertised_bytes = 0;
  std::uint16_t timeouts = 0;
};

template <typename Number>
void read_at(const std::uint8_t* bytes, std::size_t length, std::size_t at, Number& number) {
  if (at + sizeof number <= length) std::memcpy(&number, bytes + at, sizeof number);
}

/// All zero where there is no connection yet.
inline tcp_state read_state(int socket) {
  std::uint8_t bytes[256]{};
  socklen_t length = sizeof bytes;
  tcp_state state;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, bytes, &length) != 0) return state;
  read_at(bytes, length, 16, state.mss_bytes);
  read_at(bytes, length, 68, state.rtt_us);
  read_at(bytes, length, 80, state.window_packets);
  read_at(bytes, length, 100, state.retransmissions);
  read_at(bytes, length, 228, state.advertised_bytes);
  read_at(bytes, length, 240, state.timeouts);
  return state;
}

}  // namespace perhop::kernels
