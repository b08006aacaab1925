// SPDX-License-Identifier: GPL-2.0-or-later
/// One Verilated mac_bytes: the MAC core with the datapath around it, between a host and a PHY that move bytes. What it is
/// to the scheduler says rtl_node.hpp.
///
/// Bytes move in clocks without ticks, so they take no simulated time: a packet's right after it is submitted, those of a
/// frame to the PHY right after its start, those of a frame from the PHY right before its end. The core stands still
/// meanwhile (a quiescent core does not change without ticks or inputs), so it does what it does in a core_node, when it
/// does it there. Of a frame's fields none goes beside its bytes: what a receiver knows, it has read.
///
/// Every byte is checked on its way: the framer's body against the packet, the host's MSDU and status against the frame.
/// What does not agree is a std::logic_error. (That frames themselves are right is the business of those who look at them
/// from outside: sim/verify_bytes.py.)
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <verilated.h>

#include "host/core/wire/generated/frames.hpp"
#include "sim/air/rtl_node.hpp"

namespace perhop::air {

class bytes_node {
public:
  /// Resets and configures the MAC.
  bytes_node(VerilatedContext& context, const air_config& config, node_id node);
  ~bytes_node();
  bytes_node(bytes_node&&) noexcept;

  static constexpr bool moves_bytes = true;

  // ---- Inputs
  void set_carrier(bool busy) { carrier_ = busy; }
  bool carrier() const { return carrier_; }
  void strobe_rx_start(const transmission& frame, byte_span psdu, double power_dbm);
  void strobe_rx_end(const transmission& frame, bool ok);
  void strobe_overheard(std::uint16_t duration_us, bool ok);
  /// The MAC computes the airtime itself.
  void strobe_descriptor(const tx_request& request, std::uint16_t tag, std::uint32_t airtime_us, byte_span msdu);

  void tell(const medium_summary& summary);
  std::uint32_t clock(std::uint32_t ticks);
  neighbour_snapshot take_neighbour(std::uint8_t slot, std::uint8_t bin);

  // ---- Outputs
  bool quiescent() const;
  std::uint32_t next_timer() const;
  /// The deframer reads every frame.
  bool want_rx_start() const { return true; }
  std::uint16_t nav_left_us() const;
  bool contending() const;
  bool sending() const;
  bool backoff_running() const;
  std::uint16_t backoff_slots() const;
  bool descriptor_ready() const { return happened_ != kind::nothing ? now_.room : room(packets_.size(), false); }
  bool tx_start() const { return happened_ == kind::frame; }
  bool deliver() const { return happened_ == kind::delivery; }
  bool done() const { return happened_ == kind::completion; }

  transmission read_transmission(tick now) const;
  byte_span read_psdu() const { return now_.bytes; }
  completion read_completion(tick now) const;

private:
  enum class kind : std::uint8_t { nothing, frame, delivery, completion };

  /// Something that the MAC began in one clock, and whose bytes come in the clocks after. Told to the scheduler, in the
  /// order of these beginnings, when it is complete.
  struct event {
    kind what = kind::nothing;
    bool complete = false;
    bool room = false;  // descriptor_ready() in its clock
    // frame
    std::uint8_t rate_index = 0;
    std::uint16_t told_bytes = 0;
    std::uint16_t airtime_us = 0;
    std::uint16_t sequence = 0;
    std::uint16_t tag = 0;
    // frame: with FCS; delivery: MSDU
    std::vector<std::uint8_t> bytes{};
    // completion
    std::array<std::uint32_t, completion_record_words> words{};
    std::uint32_t words_come = 0;
  };

  /// In the MAC, from the descriptor to the completion.
  struct packet {
    std::uint16_t tag;
    bool four_address;
    std::vector<std::uint8_t> msdu;
  };

  enum class end : std::uint8_t { none, good, bad };

  void step(std::uint32_t ticks);
  void take_what_comes();
  void see_what_begins();
  event& begin(kind what);
  event& open(kind what);
  void give_frame(byte_span psdu);
  void give_packet();
  void hear_reservation();
  void check_sent(const event& frame) const;
  void check_delivered(const event& delivery);
  bool room(std::size_t packets, bool head_still_waits) const;
  [[noreturn]] void fail(const std::string& what) const;

  struct model;
  std::unique_ptr<model> model_;
  std::uint64_t seed_;

  // The frame whose header came last.
  transmission rx_frame_{};
  std::vector<std::uint8_t> rx_psdu_;
  std::vector<std::uint8_t> damaged_;

  std::deque<packet> packets_;
  std::deque<event> events_;
  event now_;
  tx_request request_{};
  node_id node_;
  std::uint32_t rts_threshold_bytes_;
  std::uint32_t clocks_ = 0;
  std::uint16_t reserve_us_ = 0;
  std::int8_t rx_dbm_ = 0;
  bool receiving_ = false;  // rx_frame_ is on the air
  kind happened_ = kind::nothing;

  // Inputs of the next clock().
  bool carrier_ = false;
  bool start_ = false;
  end end_ = end::none;
  bool reserve_ = false;
  bool descriptor_ = false;
};
static_assert(rtl_node<bytes_node>);

}  // namespace perhop::air
