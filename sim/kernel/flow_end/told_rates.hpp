// SPDX-License-Identifier: GPL-2.0-or-later
/// What EXACT allows flows, as the node outside of the kernel tells it (flow_plan.hpp), and how a socket is held to it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <optional>

namespace perhop::kernels {

struct told_rate {
  unsigned flow = 0;
  unsigned long long rate_bps = 0;
};

/// @return a socket that rates come to; -1: there is none
inline int open_rates(std::uint16_t port) {
  const int hears = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(port);
  return bind(hears, reinterpret_cast<sockaddr*>(&here), sizeof here) == 0 ? hears : -1;
}

/// The next one that has come.
inline std::optional<told_rate> read_rate(int hears) {
  char text[64]{};
  told_rate told;
  while (read(hears, text, sizeof text - 1) > 0) {
    if (std::sscanf(text, "%u %llu", &told.flow, &told.rate_bps) == 2) return told;
  }
  return std::nullopt;
}

/// TCP sends no faster. Linux counts payload, EXACT whole IP packets.
inline bool hold_rate(int socket, unsigned long long rate_bps, std::uint32_t payload_bytes) {
  constexpr std::uint64_t headers_bytes = 20 + 20 + 12;  // of IP, of TCP, time stamps
  const std::uint64_t bytes_per_s = rate_bps / 8 * payload_bytes / (payload_bytes + headers_bytes);
  return setsockopt(socket, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_s, sizeof bytes_per_s) == 0;
}

/// What the socket is held to.
inline std::uint64_t held_rate(int socket) {
  std::uint64_t bytes_per_s = 0;
  socklen_t length = sizeof bytes_per_s;
  getsockopt(socket, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_s, &length);
  return bytes_per_s;
}

}  // namespace perhop::kernels
