// SPDX-License-Identifier: GPL-2.0-or-later
/// What becomes of an IP packet that no frame can take: IPv4 without DF is cut into fragments (RFC 791, 3.2), the sender of any
/// other one is told the largest that a frame takes (RFC 1191, 4; RFC 4443, 3.2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/core/policy/time.hpp"
#include "host/core/shim/ip_packet.hpp"
#include "host/core/wire/generated/protocol.hpp"

namespace perhop::node {

/// The longest IP packet that a frame takes behind a path header: the MTU of the radio, whatever an interface says.
inline constexpr std::size_t most_ip_bytes = most_msdu_bytes - llc_snap_bytes - path_header_bytes;

/// Fragments of at most `most_bytes` each, in order. @return none where the packet may not be cut (IPv6, DF), or its header leaves no room
std::vector<std::vector<std::uint8_t>> fragments_of(std::span<const std::uint8_t> bytes, const shim::ip_packet& packet,
                                                    std::size_t most_bytes);

/// "Fragmentation needed" (ICMP type 3 code 4) or "packet too big" (ICMPv6 type 2) to the packet's source.
/// @param mtu_bytes the largest packet that would have gone
/// @param from the message's source address, of the packet's version of IP
/// @return nothing where such packets must not be answered: to or from a group or nobody, a fragment behind the first, an ICMP error
/// (RFC 1122, 3.2.2; RFC 1812, 4.3.2.7; RFC 4443, 2.4 e)
std::vector<std::uint8_t> too_big_message(std::span<const std::uint8_t> bytes, const shim::ip_packet& packet, std::size_t mtu_bytes,
                                          const shim::ip_address& from);

/// A token bucket, as RFC 4443 (2.4 f) recommends it for ICMP errors: so many at once, and then so many a second.
class rate_bound {
public:
  static constexpr unsigned burst = 10;
  static constexpr policy::time_us interval_us = 100'000;

  /// @return whether one more may go now
  bool take(policy::time_us now) {
    const policy::time_us earned = (now - counted_) / interval_us;
    counted_ += earned * interval_us;
    left_ = static_cast<unsigned>(std::min<policy::time_us>(burst, left_ + earned));
    if (left_ == 0) return false;
    --left_;
    return true;
  }

private:
  unsigned left_ = burst;
  policy::time_us counted_ = 0;  ///< what was earned until then is in the bucket
};

}  // namespace perhop::node
