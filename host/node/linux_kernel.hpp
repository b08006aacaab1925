// SPDX-License-Identifier: GPL-2.0-or-later
/// Linux: a TUN interface and the routing table of its network namespace.
#pragma once

#include <memory>
#include <string>

#include "host/node/kernel.hpp"
#include "host/node/routes.hpp"

namespace perhop::node {

class linux_kernel : public kernel {
public:
  /// Attaches to the TUN interface `name`, or makes it; what it is made by decides whether it outlives this object.
  /// @throws std::system_error
  explicit linux_kernel(const std::string& name);
  ~linux_kernel() override;
  linux_kernel(const linux_kernel&) = delete;
  linux_kernel& operator=(const linux_kernel&) = delete;

  /// Readable when IP has sent a packet.
  int tun() const { return tun_; }
  /// Readable when a route has changed.
  int route_changes() const { return routes_->descriptor(); }
  void on_route_change() { routes_->on_change(); }

  /// @return the bytes of a packet; empty when there is none
  /// @throws std::system_error the interface is gone: it was deleted, or its network namespace was. A new one needs a new object.
  std::span<std::uint8_t> read_packet(std::span<std::uint8_t> buffer) const;

  route find_route(const shim::ip_address& destination, bool over_radio) override { return routes_->find(destination, over_radio); }
  void deliver(std::span<const std::uint8_t> packet) override;

  std::uint64_t not_delivered() const { return not_delivered_; }
  const routes& table() const { return *routes_; }

private:
  std::string name_;
  int tun_ = -1;
  std::unique_ptr<routes> routes_;
  std::uint64_t not_delivered_ = 0;
};

}  // namespace perhop::node
