// SPDX-License-Identifier: GPL-2.0-or-later
/// A packet on its way from a node's IP to its MAC, as the hop path sees it.
#pragma once

#include <cstdint>
#include <optional>

#include "host/core/hop/exact_rider.hpp"
#include "host/core/shim/packet_view.hpp"
#include "host/core/wire/path_header.hpp"

namespace perhop::hop {

/// Where a packet that leaves comes from.
enum class origin : std::uint8_t {
  here,       ///< this node's own IP made it
  radio,      ///< it came over the radio
  elsewhere,  ///< it came over another interface of this node: its path begins before the radio
};

/// Which of what waits goes to the MAC first: the highest.
struct queue_priority {
  static constexpr std::uint8_t best_effort = 0, tcp_acks = 1, real_time = 2, routing = 3;
};

/// @tparam content_type what the host moves: bytes, or a pointer to them. Copied for TCP ACKs that may be sent again.
template <typename content_type>
struct outgoing {
  shim::ip_packet_view view{};
  origin from = origin::here;
  /// With which it came to this node; nothing: it has none yet.
  std::optional<wire::path_header> header{};
  exact_rider rider{};
  content_type content{};
  std::uint8_t priority = queue_priority::best_effort;
};

}  // namespace perhop::hop
