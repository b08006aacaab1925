// SPDX-License-Identifier: GPL-2.0-or-later
/// Who the neighbours are: MAC addresses of IP addresses, and slots of the MAC's neighbour table.
///
/// There is no ARP on the radio: it would cost a broadcast and an answer for each new neighbour. A MAC address is known from the
/// configuration, from an IPv6 address that holds it (EUI-64, RFC 4291, appendix A), or from a packet that came over one hop.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "host/core/shim/packet_view.hpp"
#include "host/core/wire/generated/protocol.hpp"

namespace perhop::node {

class neighbours {
  struct address_hash {
    std::size_t operator()(const shim::ip_address& address) const {
      return static_cast<std::size_t>((address.high ^ address.low * 0x9e37'79b9'7f4a'7c15) >> 7);
    }
  };
  using table = std::unordered_map<shim::ip_address, std::uint64_t, address_hash>;

public:
  void add(const shim::ip_address& address, std::uint64_t mac) { configured_.insert_or_assign(address, mac); }

  /// A packet from `address` came from `mac` without another hop between.
  void learn(const shim::ip_address& address, std::uint64_t mac) {
    if (learnt_.size() >= most_learnt && !learnt_.contains(address)) learnt_.clear();
    learnt_.insert_or_assign(address, mac);
  }

  std::optional<std::uint64_t> find(const shim::ip_address& address) const {
    if (const auto found = configured_.find(address); found != configured_.end()) return found->second;
    if (address.high != 0 && (address.low >> 24 & 0xffff) == 0xfffe) {
      return ((address.low >> 40 ^ 0x02'0000) << 24) | (address.low & 0xff'ffff);
    }
    if (const auto found = learnt_.find(address); found != learnt_.end()) return found->second;
    return std::nullopt;
  }

  /// The IP addresses that are known to be this neighbour's.
  std::vector<shim::ip_address> addresses_of(std::uint64_t mac) const {
    std::vector<shim::ip_address> found;
    for (const table* known : {&configured_, &learnt_}) {
      for (const auto& [address, whose] : *known) {
        if (whose == mac && std::find(found.begin(), found.end(), address) == found.end()) found.push_back(address);
      }
    }
    return found;
  }

  struct slot {
    std::uint8_t index;
    bool replaced;  ///< it was another neighbour's before
  };

  /// The slot of a next hop in the MAC's neighbour table; the one given out longest ago makes room.
  slot slot_of(std::uint64_t mac) {
    for (std::uint8_t index = 0; index < used_; ++index) {
      if (slots_[index] == mac) return {index, false};
    }
    if (used_ < slots_.size()) {
      slots_[used_] = mac;
      return {used_++, false};
    }
    const std::uint8_t index = next_;
    next_ = static_cast<std::uint8_t>((next_ + 1) % slots_.size());
    slots_[index] = mac;
    return {index, true};
  }

  /// MAC addresses by slot; 0: none.
  const std::array<std::uint64_t, neighbour_slots>& slots() const { return slots_; }

private:
  static constexpr std::size_t most_learnt = 1024;

  table configured_, learnt_;
  std::array<std::uint64_t, neighbour_slots> slots_{};
  std::uint8_t used_ = 0;
  std::uint8_t next_ = 0;
};

}  // namespace perhop::node
