// SPDX-License-Identifier: GPL-2.0-or-later
/// GPSR's headers (Karp and Kung, MobiCom 2000): a beacon alone in a packet, or what stands between the IPv4 header and a packet's
/// content. Layouts are generated; this is the codec.
///
/// Both begin with the node that sends the frame and where it stands: each packet is a beacon for its receiver, too (2.1).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace perhop::wire {

/// For experiments (RFC 3692): GPSR has no number of its own.
inline constexpr std::uint8_t gpsr_ip_protocol = 253;

struct gpsr_position {
  std::int32_t x_mm = 0;
  std::int32_t y_mm = 0;

  friend bool operator==(const gpsr_position&, const gpsr_position&) = default;
};

/// A packet on its way around a void (the paper's names: table 1).
struct gpsr_perimeter {
  gpsr_position entered{};            ///< where it ceased to go greedily: Lp
  gpsr_position face{};               ///< where, on the line from there to its destination, it entered the face that it is on: Lf
  std::uint32_t first_edge_from = 0;  ///< of the first edge on this face: e0; IPv4 addresses
  std::uint32_t first_edge_to = 0;

  friend bool operator==(const gpsr_perimeter&, const gpsr_perimeter&) = default;
};

struct gpsr_route {
  std::uint8_t next_header = 0;               ///< IP protocol of what follows
  gpsr_position destination{};                ///< where it stood when the packet left its source: D
  std::optional<gpsr_perimeter> perimeter{};  ///< nothing: the packet goes greedily

  friend bool operator==(const gpsr_route&, const gpsr_route&) = default;
};

struct gpsr_header {
  std::uint32_t sender = 0;  ///< IPv4 address of the node that sends the frame
  gpsr_position sender_at{};
  std::optional<gpsr_route> route{};  ///< nothing: a beacon

  friend bool operator==(const gpsr_header&, const gpsr_header&) = default;
};

std::vector<std::uint8_t> encode(const gpsr_header& header);

struct decoded_gpsr_header {
  gpsr_header header{};
  std::size_t size_bytes = 0;  ///< what it took of the bytes; the content follows
};

/// @param bytes what follows the IPv4 header; more may follow. @return nothing when they are no header that makes sense
std::optional<decoded_gpsr_header> decode_gpsr_header(std::span<const std::uint8_t> bytes);

}  // namespace perhop::wire
