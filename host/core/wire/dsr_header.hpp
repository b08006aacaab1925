// SPDX-License-Identifier: GPL-2.0-or-later
/// DSR's header (RFC 4728, 6): what stands between the IPv4 header and the packet's content. Layouts of its parts are generated; this is
/// the codec of their list.
///
/// Read are Route Request, Route Reply, Route Error (NODE_UNREACHABLE), DSR Source Route and padding. Of other options those are
/// skipped whose type says so (bits 00 and 01 below the highest one); others make the header unreadable. Of Route Requests and Source
/// Routes there is at most one each.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/core/wire/ipv4_address.hpp"

namespace perhop::wire {

inline constexpr std::uint8_t dsr_ip_protocol = 48;
inline constexpr std::uint8_t no_next_header = 59;

/// Addresses that an option of 255 bytes holds, and 6 bits of segments_left count.
inline constexpr std::size_t most_dsr_addresses = 62;
inline constexpr std::uint8_t most_dsr_salvages = 15;

struct dsr_route_request {
  std::uint16_t identification = 0;
  ipv4_address target = 0;
  std::vector<ipv4_address> route{};  ///< nodes that passed it on

  friend bool operator==(const dsr_route_request&, const dsr_route_request&) = default;
};

struct dsr_route_reply {
  std::vector<ipv4_address> route{};  ///< nodes of the route but the first, which the reply is for

  friend bool operator==(const dsr_route_reply&, const dsr_route_reply&) = default;
};

struct dsr_route_error {
  std::uint8_t salvage = 0;      ///< of the packet that could not be sent
  ipv4_address source = 0;       ///< which could not send it
  ipv4_address destination = 0;  ///< which is told
  ipv4_address unreachable = 0;  ///< the neighbour that did not answer

  friend bool operator==(const dsr_route_error&, const dsr_route_error&) = default;
};

struct dsr_source_route {
  std::uint8_t salvage = 0;
  std::uint8_t segments_left = 0;     ///< of `route`, the receiver of the frame among them; at most as many as there are
  std::vector<ipv4_address> route{};  ///< nodes between source and destination; of a salvaged packet, from the salvaging node on

  friend bool operator==(const dsr_source_route&, const dsr_source_route&) = default;
};

struct dsr_header {
  std::uint8_t next_header = no_next_header;  ///< IP protocol of what follows
  std::optional<dsr_route_request> request{};
  std::vector<dsr_route_reply> replies{};
  std::vector<dsr_route_error> errors{};
  std::optional<dsr_source_route> source_route{};

  friend bool operator==(const dsr_header&, const dsr_header&) = default;
};

/// Bytes that encode() will make of it, a multiple of 4.
std::size_t size_bytes(const dsr_header& header);

/// Requires lists of at most most_dsr_addresses, a salvage count of at most most_dsr_salvages and segments_left within its list.
std::vector<std::uint8_t> encode(const dsr_header& header);

struct decoded_dsr_header {
  dsr_header header{};
  std::size_t size_bytes = 0;  ///< what it took of the bytes; the content follows
};

/// @param bytes what follows the IPv4 header; more may follow. @return nothing when they are no header that makes sense
std::optional<decoded_dsr_header> decode_dsr_header(std::span<const std::uint8_t> bytes);

}  // namespace perhop::wire
