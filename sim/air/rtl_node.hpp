// SPDX-License-Identifier: GPL-2.0-or-later
/// What the scheduler (air.cpp) asks of a node, whatever Verilated MAC is in it:
///  - core_node: mac_core alone, which works on descriptors and events of the PHY (fidelity::core);
///  - bytes_node: mac_bytes, the core with the datapath around it. It gets MSDUs and MPDUs as bytes (fidelity::bytes).
///
/// A node knows nothing of other nodes or of time beyond ticks. A clock either carries ticks (inputs are those of their
/// end) or none (the machine settles); ticks are given only to a quiescent node and never beyond next_timer
/// (gateware/rtl/mac/warp_monitor.sv asserts both).
#pragma once

#include <concepts>
#include <cstdint>

#include "sim/air/air_config.hpp"
#include "sim/air/medium_summary.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

/// Most ticks that a clock can carry.
inline constexpr std::uint32_t max_ticks = 0xff'ffff;
/// rtl_node::next_timer(): there is none.
inline constexpr std::uint32_t no_timer = ~std::uint32_t{0};

template <typename node>
concept rtl_node = requires(node& at, const node& seen, const transmission& frame, const tx_request& request, tick now) {
  /// Frames and packets have bytes.
  { node::moves_bytes } -> std::convertible_to<bool>;

  // ---- Inputs. Strobes hold for the next clock() only, and come to a quiescent node.
  at.set_carrier(true);
  /// The PLCP header of a frame was good; its bytes, and its power in dBm.
  at.strobe_rx_start(frame, byte_span(), 0.0);
  /// A frame is over; bool: its FCS is good.
  at.strobe_rx_end(frame, true);
  /// The end of a frame for somebody else, of which only its Duration matters. Also ns-2's capture(), which sets the NAV.
  at.strobe_overheard(std::uint16_t{}, true);
  /// A packet, its tag, its airtime in microseconds, and its MSDU.
  at.strobe_descriptor(request, std::uint16_t{}, std::uint32_t{}, byte_span());
  /// What was heard meanwhile, and not told at its time. For the next clock() only, which has ticks.
  at.tell(medium_summary{});
  /// One clock of at most max_ticks ticks. Clocks without ticks may follow: what bytes take, and those in which a core settles, up to
  /// the first with something to say (tx_start(), deliver(), done()). @return how many the model was given
  { at.clock(std::uint32_t{}) } -> std::same_as<std::uint32_t>;

  /// One clock without ticks, of a quiescent node, in which the neighbour table's entries of a slot are copied. Nothing else changes.
  { at.take_neighbour(std::uint8_t{}, std::uint8_t{}) } -> std::same_as<neighbour_snapshot>;

  // ---- Outputs
  { seen.quiescent() } -> std::same_as<bool>;
  { seen.next_timer() } -> std::same_as<std::uint32_t>;  ///< ticks to its next action, or no_timer
  { seen.want_rx_start() } -> std::same_as<bool>;
  { seen.nav_left_us() } -> std::same_as<std::uint16_t>;
  { seen.contending() } -> std::same_as<bool>;
  { seen.sending() } -> std::same_as<bool>;  ///< an own frame is on the air, or SIFS before it runs
  { seen.backoff_running() } -> std::same_as<bool>;
  { seen.backoff_slots() } -> std::same_as<std::uint16_t>;
  { seen.descriptor_ready() } -> std::same_as<bool>;

  // What happened in the last clock of the last clock().
  { seen.tx_start() } -> std::same_as<bool>;  ///< a frame starts: read_transmission(), read_psdu()
  { seen.deliver() } -> std::same_as<bool>;   ///< the frame of the last strobe_rx_end() is for the host
  { seen.done() } -> std::same_as<bool>;      ///< a packet is done: read_completion()
  /// Fields of the frame that starts now; id, payload: left to the caller.
  { seen.read_transmission(now) } -> std::same_as<transmission>;
  { seen.read_psdu() } -> std::same_as<byte_span>;
  /// The record of done(); payload, ra: left to the caller.
  { seen.read_completion(now) } -> std::same_as<completion>;
};

}  // namespace perhop::air
