// SPDX-License-Identifier: GPL-2.0-or-later
/// Words that everything in sim/air uses: time, nodes, and what is on the air.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "host/core/wire/generated/protocol.hpp"

namespace perhop::air {

/// Simulated time: microseconds since the start of the run. One tick of the MAC gateware is one microsecond.
using tick = std::uint64_t;

/// Index of a node in air_config::nodes.
using node_id = std::uint32_t;

/// Bytes of an MPDU or MSDU; empty where the fidelity knows none.
using byte_span = std::span<const std::uint8_t>;

inline constexpr tick never = std::numeric_limits<tick>::max();
inline constexpr tick ticks_per_second = 1'000'000;

/// What a header with four addresses has more than one with three.
inline constexpr std::uint32_t fourth_address_bytes = 6;

/// MAC address of a node: locally administered, 02:00:00:00:00:00 + node + 1.
constexpr std::uint64_t mac_address(node_id node) { return node_address_base + node + 1; }

/// One frame on the air. It occupies the transmitter during [start, end); others hear it later by the propagation time.
struct transmission {
  std::uint64_t id;  ///< 0, 1, 2, ... in order of start (ties: in order of node)
  node_id node;      ///< the transmitter
  tick start, end;   ///< first and last bit at the transmitter's antenna
  frame_kind kind;
  std::uint8_t rate_index;    ///< into timing_profile::rates
  std::uint16_t psdu_bytes;   ///< MPDU with FCS
  std::uint16_t duration_us;  ///< Duration field of the 802.11 header
  std::uint64_t ra, ta;       ///< 48-bit addresses; ta is 0 in a CTS and a MAC ACK, which have none
  std::uint16_t sequence;
  bool retry;
  std::uint32_t tag;      ///< the descriptor's tag (DATA only)
  std::uint64_t payload;  ///< cookie of the submitter (DATA only, else 0)
};

/// A packet for the MAC queue of a node.
struct tx_request {
  std::uint64_t ra;          ///< 48-bit address of the next hop, or broadcast_address
  std::uint8_t peer;         ///< the next hop's slot in the MAC's neighbour table, 0..15
  std::uint16_t mpdu_bytes;  ///< whole MPDU with MAC header and FCS
  std::uint8_t rate_index;
  bool use_rts;
  std::uint64_t payload;  ///< cookie, handed back with the transmission and the completion
  /// The header has four addresses, the third and fourth being those where the packet goes and comes from.
  bool four_address = false;
  std::uint64_t destination = 0, source = 0;
};

/// Bytes of the MSDU in it: what is left of the MPDU without header and FCS.
constexpr std::uint32_t msdu_bytes(const tx_request& request) {
  return request.mpdu_bytes - (mac_header_bytes + (request.four_address ? fourth_address_bytes : 0) + fcs_bytes);
}

/// Where the microseconds between t_enqueue and t_done went, as the gateware accounted for them.
struct service_parts {
  std::uint32_t queue_us;       ///< behind other packets of this node
  std::uint32_t ifs_us;         ///< DIFS and EIFS
  std::uint32_t backoff_us;     ///< idle slots counted down
  std::uint32_t frozen_cca_us;  ///< carrier busy
  std::uint32_t frozen_nav_us;  ///< NAV busy
  std::uint32_t control_us;     ///< own RTS on the air
  std::uint32_t data_us;        ///< own DATA on the air
  std::uint32_t response_us;    ///< SIFS, CTS and MAC ACK of exchanges that went on
  std::uint32_t timeout_us;     ///< waiting for a CTS or MAC ACK that did not come
  std::uint32_t responder_us;   ///< answering others

  static constexpr std::size_t count = 10;
  static constexpr std::array<std::string_view, count> names = {"queue",   "ifs",  "backoff",  "frozen_cca", "frozen_nav",
                                                                "control", "data", "response", "timeout",    "responder"};
  /// The parts in the order of `names`.
  constexpr std::array<std::uint32_t, count> values() const {
    return {queue_us, ifs_us, backoff_us, frozen_cca_us, frozen_nav_us, control_us, data_us, response_us, timeout_us, responder_us};
  }
  constexpr std::uint64_t sum_us() const {
    std::uint64_t sum = 0;
    for (const std::uint32_t part : values()) sum += part;
    return sum;
  }
};

/// What the gateware's neighbour table holds of one slot, as its snapshot ports give it. All 0: no packet yet.
struct neighbour_snapshot {
  std::uint32_t avg_contention_us16;
  std::uint32_t avg_overhead_us16;
  std::uint16_t avg_data_attempts_256;
  std::uint32_t packets;  ///< finished, delivered or not
  std::uint32_t drops;
  std::uint64_t service_us;         ///< sum over packets
  std::uint16_t histogram_packets;  ///< in one bin
};

/// The MAC is done with a packet: the completion record of the gateware, with its times made absolute.
struct completion {
  node_id node;
  std::uint64_t payload;  ///< cookie of the tx_request
  std::uint64_t ra;       ///< of the tx_request
  std::uint16_t tag;
  std::uint8_t peer;
  std::uint16_t sequence;
  std::uint16_t mpdu_bytes;
  std::uint8_t rate_index;
  tx_result result;
  std::uint8_t rts_attempts, data_attempts, ssrc, slrc;
  std::uint16_t cw;
  std::uint16_t slots_drawn;
  tick t_enqueue_us, t_head_us, t_first_tx_us, t_done_us;
  service_parts parts;

  // The neighbour's running averages, this packet included. A packet of S bytes at rate r to this neighbour takes about
  // avg_contention + avg_overhead + avg_data_attempts * airtime(S, r).
  std::uint32_t avg_contention_us16;    ///< 1/16 us
  std::uint32_t avg_overhead_us16;      ///< 1/16 us
  std::uint32_t avg_data_attempts_256;  ///< 1/256

  /// Head of line to MAC ACK (or to giving up), queueing excluded.
  tick service_time_us() const { return t_done_us - t_head_us; }
};

enum class loss_cause : std::uint8_t {
  collision,  ///< another frame was heard there at the same time
  sending,    ///< the receiver itself was sending
  error,      ///< neither: an error of the frame, or it was too weak for its rate
};

/// A frame that did not reach a node within range which it was for (by its address; a frame to a group is for all of them).
struct lost_frame {
  std::uint64_t id;  ///< of the transmission
  node_id at;
  loss_cause cause;
  node_id other;  ///< collision: the transmitter of a frame that it met
};

/// Fidelity samples: what a PHY tells its MAC, and when what the MAC sends is at the antenna.
struct phy_event {
  enum class what : std::uint8_t { tx_start, rx_start, rx_end, busy, idle };
  static constexpr std::array<std::string_view, 5> names = {"tx_start", "rx_start", "rx_end", "busy", "idle"};
  what kind = what::tx_start;
  node_id node = 0;
  double time_us = 0;           ///< tx_start: of the first chip's begin at the antenna; else of the indication
  std::uint8_t rate_index = 0;  ///< tx_start, rx_start
  std::uint16_t bytes = 0;      ///< likewise
  bool error = false;           ///< rx_end: the carrier was lost, or the modulation violated
  std::int16_t rssi_dbm = 0;    ///< rx_end, as the next two
  std::int8_t snr_db = 0;       ///< Es/N0
  std::int8_t tangent_128 = 0;  ///< of the carrier's turn in a symbol
};

}  // namespace perhop::air
