// SPDX-License-Identifier: GPL-2.0-or-later
/// Who the neighbours are: MAC addresses of IP addresses.
///
/// There is no ARP on the radio: it would cost a broadcast and an answer for each new neighbour. A MAC address is known from the
/// configuration, from an IPv6 address that holds it (EUI-64, RFC 4291, appendix A), or from a packet that came over one hop.
///
/// Anybody can send such a packet in another's name. So what is learnt is confirmed when a packet that was sent there got a MAC ACK,
/// and a newcomer waits until the confirmed one has not answered: three packets given up in a row, or none confirmed for ten minutes.
/// Before that an address moves at most once a second, and who was never confirmed makes room first. Where frames may be forged, the
/// configuration is the safe place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/core/policy/time.hpp"
#include "host/core/shim/packet_view.hpp"
#include "host/core/wire/generated/protocol.hpp"

namespace perhop::node {

class neighbours {
  using time_us = policy::time_us;

  struct address_hash {
    std::size_t operator()(const shim::ip_address& address) const {
      return static_cast<std::size_t>((address.high ^ address.low * 0x9e37'79b9'7f4a'7c15) >> 7);
    }
  };
  template <typename Value>
  using table = std::unordered_map<shim::ip_address, Value, address_hash>;

public:
  static constexpr std::size_t most_learnt = 1024;
  static constexpr time_us move_interval_us = 1'000'000;
  static constexpr time_us confirmed_for_us = 600'000'000;
  static constexpr unsigned give_ups_in_a_row = 3;

  void add(const shim::ip_address& address, std::uint64_t mac) { configured_.insert_or_assign(address, mac); }

  /// A packet from `address` came from `mac` without another hop between. A group sends nothing.
  void learn(time_us now, const shim::ip_address& address, std::uint64_t mac) {
    if ((mac >> group_address_bit & 1) != 0) return;
    if (const auto found = learnt_.find(address); found != learnt_.end()) {
      learnt& known = found->second;
      if (known.mac == mac) {
        known.used = now;
      } else if (!known.is_confirmed(now) && now - known.since >= move_interval_us) {
        known = {.mac = mac, .since = now, .used = now};
      } else {
        ++newcomers_refused_;
      }
      return;
    }
    if (learnt_.size() >= most_learnt) {
      learnt_.erase(std::min_element(learnt_.begin(), learnt_.end(), [now](const auto& one, const auto& other) {
        const auto worth = [now](const learnt& entry) { return std::pair(entry.is_confirmed(now), entry.used); };
        return worth(one.second) < worth(other.second);
      }));
    }
    learnt_.emplace(address, learnt{.mac = mac, .since = now, .used = now});
  }

  /// The MAC is done with a packet to the next hop `address`, which was then `mac`'s.
  void on_sent(time_us now, const shim::ip_address& address, std::uint64_t mac, bool delivered) {
    const auto found = learnt_.find(address);
    if (found == learnt_.end() || found->second.mac != mac) return;
    learnt& known = found->second;
    if (delivered) {
      known.confirmed = known.used = now;
      known.give_ups = 0;
    } else if (++known.give_ups >= give_ups_in_a_row) {
      known.confirmed.reset();
    }
  }

  std::optional<std::uint64_t> find(const shim::ip_address& address) const {
    if (const auto found = configured_.find(address); found != configured_.end()) return found->second;
    if (address.high != 0 && (address.low >> 24 & 0xffff) == 0xfffe) {
      return ((address.low >> 40 ^ 0x02'0000) << 24) | (address.low & 0xff'ffff);
    }
    if (const auto found = learnt_.find(address); found != learnt_.end()) return found->second.mac;
    return std::nullopt;
  }

  /// The IP addresses that are known to be this neighbour's.
  std::vector<shim::ip_address> addresses_of(std::uint64_t mac) const {
    std::vector<shim::ip_address> found;
    for (const auto& [address, whose] : configured_) {
      if (whose == mac) found.push_back(address);
    }
    for (const auto& [address, known] : learnt_) {
      if (known.mac == mac && !configured_.contains(address)) found.push_back(address);
    }
    return found;
  }

  /// Packets whose source was another neighbour's, and stayed so.
  std::uint64_t newcomers_refused() const { return newcomers_refused_; }

private:
  struct learnt {
    std::uint64_t mac = 0;
    time_us since = 0;  ///< it is this one's
    time_us used = 0;   ///< a packet came, or one that was sent there was confirmed
    std::optional<time_us> confirmed{};
    unsigned give_ups = 0;  ///< in a row

    bool is_confirmed(time_us now) const { return confirmed && now - *confirmed < confirmed_for_us; }
  };

  table<std::uint64_t> configured_;
  table<learnt> learnt_;
  std::uint64_t newcomers_refused_ = 0;
};

}  // namespace perhop::node
