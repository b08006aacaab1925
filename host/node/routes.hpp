// SPDX-License-Identifier: GPL-2.0-or-later
/// The kernel's routing table by netlink: asked once for a destination, and again after anything in it has changed.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "host/node/kernel.hpp"

namespace perhop::node {

class routes {
public:
  /// @param interface_index of the daemon's interface
  /// @throws std::system_error no netlink
  explicit routes(unsigned interface_index);
  ~routes();
  routes(const routes&) = delete;
  routes& operator=(const routes&) = delete;

  /// Readable when something has changed; then call on_change().
  int descriptor() const { return changes_; }
  void on_change();

  route find(const shim::ip_address& destination, bool over_radio);

  std::uint64_t lookups() const { return lookups_; }
  std::uint64_t changes() const { return changes_seen_; }

private:
  struct key {
    shim::ip_address destination;
    bool over_radio;
    friend bool operator==(const key&, const key&) = default;
  };
  struct key_hash {
    std::size_t operator()(const key& key) const;
  };

  route ask(const shim::ip_address& destination, bool over_radio);

  unsigned interface_;
  int asks_ = -1;
  int changes_ = -1;
  std::uint32_t sequence_ = 0;
  std::uint64_t lookups_ = 0;
  std::uint64_t changes_seen_ = 0;
  std::unordered_map<key, route, key_hash> known_;
};

}  // namespace perhop::node
