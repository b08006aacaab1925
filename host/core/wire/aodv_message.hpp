// SPDX-License-Identifier: GPL-2.0-or-later
/// AODV's messages (RFC 3561, 5): what a UDP packet to port 654 carries. Layouts are generated; this is the codec of their meaning.
///
/// Not read: Route Reply Acknowledgement, and extensions, which are skipped as unknown ones are to be.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace perhop::wire {

inline constexpr std::uint16_t aodv_udp_port = 654;
inline constexpr std::size_t most_aodv_unreachable = 255;

struct aodv_rreq {
  bool destination_only = false;  ///< nobody else may answer
  std::uint8_t hops = 0;          ///< from the originator to the node that sends this
  std::uint32_t identification = 0;
  std::uint32_t destination = 0;
  std::optional<std::uint32_t> destination_sequence{};  ///< nothing: the originator knows none
  std::uint32_t originator = 0;
  std::uint32_t originator_sequence = 0;

  friend bool operator==(const aodv_rreq&, const aodv_rreq&) = default;
};

struct aodv_rrep {
  std::uint8_t hops = 0;  ///< from the node that sends this to the destination
  std::uint32_t destination = 0;
  std::uint32_t destination_sequence = 0;
  std::uint32_t originator = 0;  ///< of the request
  std::uint32_t lifetime_ms = 0;

  friend bool operator==(const aodv_rrep&, const aodv_rrep&) = default;
};

struct aodv_lost_route {
  std::uint32_t destination = 0;
  std::uint32_t sequence = 0;

  friend bool operator==(const aodv_lost_route&, const aodv_lost_route&) = default;
};

struct aodv_rerr {
  bool no_delete = false;
  std::vector<aodv_lost_route> lost{};  ///< at least one, at most most_aodv_unreachable

  friend bool operator==(const aodv_rerr&, const aodv_rerr&) = default;
};

using aodv_message = std::variant<aodv_rreq, aodv_rrep, aodv_rerr>;

/// Requires what is said of a Route Error's list.
std::vector<std::uint8_t> encode(const aodv_message& message);

/// @param bytes of the UDP packet. @return nothing when they are none of the three messages, or cut short
std::optional<aodv_message> decode_aodv_message(std::span<const std::uint8_t> bytes);

}  // namespace perhop::wire
