// SPDX-License-Identifier: GPL-2.0-or-later
/// The air: the medium, one Verilated MAC a node, and the time-warp scheduler that drives them.
///
/// Sans I/O. The owner asks when something happens next and lets time pass; the air calls its listener back.
///
///     air::air medium(config, listener);
///     while (medium.now() < end) {
///       ... submit() packets of this moment ...
///       medium.advance(std::min(end, time of my next event));
///     }
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/air/air_config.hpp"
#include "sim/air/motion.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

/// Told what happens, at the moment it happens (air::now() is the time of the event).
/// A callback may submit() to any node; it must not call advance().
class listener {
public:
  virtual ~listener() = default;
  /// A frame starts; at fidelity samples it has been sent by now, and those that began before it, too.
  virtual void on_transmission(const transmission&) {}
  /// Its bytes with the FCS, as the framer made them. Just after on_transmission(); not at fidelity core.
  virtual void on_frame_bytes(const transmission&, byte_span) {}
  /// Not at fidelity core: the MSDU of a packet that is being submitted, msdu_bytes(request) of them. By default a pattern
  /// that differs from packet to packet. @param msdu empty
  virtual void write_msdu(node_id node, const tx_request& request, std::vector<std::uint8_t>& msdu);
  /// The MAC of `to` received a DATA frame for it: good FCS, own or group address, no duplicate.
  virtual void on_delivery(tick now, node_id to, const transmission& frame) = 0;
  /// With air_config::tell_overheard: the node `at` received a DATA frame for another one, with a good FCS. Sent again, it is told again.
  virtual void on_overheard(tick, node_id /*at*/, const transmission&) {}
  /// With air_config::tell_losses: a frame is over, and a node within range that it was for did not get it.
  virtual void on_lost(const lost_frame&) {}
  /// Fidelity samples only.
  virtual void on_phy(const phy_event&) {}
  /// The MAC of record.node is done with a packet.
  virtual void on_completion(tick now, const completion& record) = 0;
};

/// Why a Verilated MAC was given a clock.
enum class clock_cause : std::uint8_t {
  timer,     ///< the node acts by itself
  packet,    ///< a packet is submitted to it
  frame,     ///< a frame for it
  other,     ///< frames of others, and the carrier
  deferred,  ///< what it heard before and was not shown
};
inline constexpr std::array<std::string_view, 5> clock_cause_names = {"timer", "packet", "frame", "other", "deferred"};

/// Work done so far.
struct air_counters {
  std::uint64_t transmissions = 0;
  std::uint64_t wakes = 0;                                           ///< evaluations of a node at an event
  std::uint64_t clocks = 0;                                          ///< clocks given to Verilated MACs
  std::array<std::uint64_t, clock_cause_names.size()> clocks_for{};  ///< ... by cause; none at fidelity samples, where every clock is given
  double rtl_s = 0;                                                  ///< CPU time in Verilated MACs, from a sample of the steps
  double medium_s = 0;  ///< ... in advance() and submit() outside MAC cores and listener calls, likewise
};

class air {
public:
  /// @throws std::invalid_argument a setting that cannot work, with its name
  air(const air_config& config, listener& listener);
  ~air();
  air(const air&) = delete;
  air& operator=(const air&) = delete;

  tick now() const;

  /// When something happens next; `never` if nothing will without a submit(). Never before now(); now() itself when a
  /// submit() made something due at once.
  tick next_event() const;

  /// Processes every event up to and including `until`; then now() == until.
  void advance(tick until);

  /// Processes all events of the earliest time at which there is one, and stops there. Does nothing if there is none.
  void advance_one();

  /// The MAC queue of the node has room for one more packet.
  bool can_submit(node_id node) const;

  /// Queues a packet at now(). Outside callbacks its consequences happen at once, inside them at the end of the node's
  /// evaluation, in both cases at now(). Requires can_submit().
  void submit(node_id node, const tx_request& request);

  /// From now() on the node goes to a place in a straight line, and then stays. Frames that start later have their links as they are
  /// at their start; frames on the air arrive as they would have. At fidelity samples nodes can only be there at once. Not in callbacks.
  /// @param speed_mps above 0; no_time_mps: it is there at once
  void move(node_id node, node_position to, double speed_mps);

  /// Nothing passes between the two from now() on, neither frames nor energy; or does again. Otherwise as move().
  void set_blocked(node_id one, node_id other, bool blocked);

  /// What the MAC's neighbour table holds of a slot, and of one bin of its histogram (16 of each). No time passes, and the MAC
  /// does nothing else for it. Not in callbacks.
  neighbour_snapshot take_neighbour(node_id node, std::uint8_t slot, std::uint8_t bin);

  /// The node is dead: nothing passes between it and any other one; or it is back. Otherwise as move().
  void set_silent(node_id node, bool silent);

  /// Whether a frame that starts now would arrive if nothing disturbed it.
  bool in_range(node_id from, node_id to);

  /// Where a node stands. @param at not before its last move()
  node_position position(node_id node, tick at) const;

  /// DATA frames that end from now on are lost at random at this rate, in [0, 1]. Not in callbacks.
  void set_frame_error_rate(double frame_error_rate);

  const air_counters& counters() const;

  class impl;  ///< air_impl.hpp

private:
  std::unique_ptr<impl> impl_;
};

}  // namespace perhop::air
