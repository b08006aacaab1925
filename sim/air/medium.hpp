// SPDX-License-Identifier: GPL-2.0-or-later
/// The medium: takes the starts of transmissions, and tells every node what its PHY indicates and when.
///
/// Independent of who the nodes are, and without I/O: the owner asks next_event(), calls process() for that time, reads the
/// board, and start()s what the nodes send in answer. A transmission started at t reaches others at t + 1 or later, so the
/// order in which nodes react within a tick does not matter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/air/air_config.hpp"
#include "sim/air/link_table.hpp"
#include "sim/air/loss_watch.hpp"
#include "sim/air/reception.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

class medium {
public:
  /// @param config nodes, medium, seed and mac.profile (airtime of the preamble; EIFS for ns-2's capture) are used
  explicit medium(const air_config& config);

  /// Time of the next arrival of a first bit, a header or a last bit; `never` if the air is empty.
  tick next_event() const { return events_.empty() ? never : events_.front().key >> phase_bits; }

  /// Handles everything that arrives at `now` == next_event(): ends, then starts, then headers. The board then holds the
  /// indications; the owner drains board().touched and acknowledges each node.
  void process(tick now);

  /// A node sends `frame` from frame.start on, which is the present time. @param psdu its bytes; none at fidelity core
  frame_slot start(const transmission& frame, byte_span psdu = {});

  /// PHY-RXSTART is indicated to those nodes only that want it; initially all do. May be called after process() in the
  /// same tick; headers that end later than `now` are then indicated.
  void set_wants_rx_start(node_id node, bool wants, tick now);

  /// Valid until the process() after the one that indicated its last end.
  const transmission& frame(frame_slot slot) const { return flights_[slot].frame; }
  byte_span psdu(frame_slot slot) const { return flights_[slot].psdu; }
  /// Its power at a node that hears it.
  double power_w(frame_slot slot, node_id node) const { return flights_[slot].row->power_w(node); }
  indication_board& board() { return board_; }

  /// From now on `tell` is called with every frame that is lost where it was for.
  void watch_losses(loss_watch::tell tell) { losses_.emplace(links_.nodes(), links_.sensitivity_w(), std::move(tell)); }

  /// From now on `tell` is called with every DATA frame that a node receives though it is for another one.
  void watch_overheard(std::function<void(node_id at, const transmission&)> tell) { overheard_ = std::move(tell); }

  /// From `now` on a node goes to a place, and then stays. Holds for frames that start from now on, each with its links as they are at
  /// its start; those on the air arrive as they would have. @param speed_mps above 0; no_time_mps: it is there at once
  void move(tick now, node_id node, node_position to, double speed_mps) { links_.move(now, node, to, speed_mps); }
  /// Nothing passes between two nodes any more (or does again). Otherwise as move().
  void set_blocked(node_id one, node_id other, bool blocked) { links_.set_blocked(one, other, blocked); }
  /// Nothing passes between the node and any other one.
  void set_silent(node_id node, bool silent) { links_.set_silent(node, silent); }
  /// A frame that starts now would arrive if nothing disturbed it.
  bool in_range(tick now, node_id from, node_id to) { return links_.row(from, now)->power_w(to) >= links_.sensitivity_w(); }
  node_position position(node_id node, tick at) const { return links_.position(node, at); }
  /// Of DATA frames that end from now on.
  void set_frame_error_rate(double frame_error_rate);

private:
  // Within a tick ends come before starts, so that a frame which follows another one without a gap finds its receivers idle.
  enum phase : std::uint64_t { phase_end, phase_start, phase_header };
  static constexpr unsigned phase_bits = 2;

  struct event {
    std::uint64_t key;     // time << phase_bits | phase
    std::uint32_t serial;  // of the transmission: the order within a phase
    node_id node;          // phase_header only
    frame_slot slot;

    friend bool operator<(const event& left, const event& right) {
      if (left.key != right.key) return left.key < right.key;
      if (left.serial != right.serial) return left.serial < right.serial;
      return left.node < right.node;
    }
  };

  /// A transmission on its way to its groups of receivers. It has one event in the queue, that of its next arrival.
  struct flight {
    transmission frame;
    std::uint16_t airtime_us;
    std::shared_ptr<const link_row> row;  // its links, as they were when it started
    std::uint32_t next_start;             // group that its first bit reaches next
    std::uint32_t next_end;               // ... and its last bit
    std::vector<std::uint8_t> psdu;
  };

  event next_arrival(frame_slot slot) const;
  void arrive(tick now, const event& event);
  void tell_overheard(const transmission& frame, frame_slot slot, std::span<const link> receivers);
  /// Preamble and PLCP header; a frame that is not longer has no header to indicate.
  tick preamble_us(const flight& flight) const { return rates_[flight.frame.rate_index].preamble_us; }
  void push(const event& event);
  void replace_first(const event& event);
  void remove_first();
  void sift_down(std::size_t index);

  std::uint64_t seed_;
  link_table links_;
  indication_board board_;
  std::unique_ptr<reception> reception_;
  std::optional<loss_watch> losses_;
  std::function<void(node_id, const transmission&)> overheard_;
  std::span<const transmit_rate> rates_;
  std::vector<flight> flights_;
  std::vector<frame_slot> free_slots_;
  std::vector<frame_slot> landed_;            // over, but their frames may still be read until the next process()
  std::vector<event> events_;                 // binary heap
  std::vector<std::uint8_t> wants_rx_start_;  // booleans

  std::size_t wanting_;
};

}  // namespace perhop::air
