// SPDX-License-Identifier: GPL-2.0-or-later
/// What the daemon asks of its host: where packets go, and to hand packets up. linux_kernel is the real one.
#pragma once

#include <cstdint>
#include <span>

#include "host/core/shim/packet_view.hpp"

namespace perhop::node {

enum class route_kind : std::uint8_t {
  local,      ///< an address of this host
  radio,      ///< over the daemon's interface
  elsewhere,  ///< over another interface
  group,      ///< a broadcast address
  none,       ///< no route
};

struct route {
  route_kind kind = route_kind::none;
  shim::ip_address next_hop{};  ///< of `radio`: the gateway, or the destination itself
};

class kernel {
public:
  virtual ~kernel() = default;
  /// As the routing table says now. @param over_radio the kernel has already chosen the daemon's interface
  virtual route find_route(const shim::ip_address& destination, bool over_radio) = 0;
  /// A packet for this host's IP.
  virtual void deliver(std::span<const std::uint8_t> packet) = 0;
};

}  // namespace perhop::node
