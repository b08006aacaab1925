// SPDX-License-Identifier: GPL-2.0-or-later
/// One Verilated MAC core: settings, pins, clocks. Knows nothing of other nodes or of time beyond ticks.
///
/// A clock either carries ticks (inputs are those of their end) or none (the machine settles); ticks are given only to a
/// quiescent core and never beyond next_timer (gateware/rtl/mac/warp_monitor.sv asserts both).
#pragma once

#include <cstdint>
#include <memory>

#include <verilated.h>

#include "Vmac_core.h"
#include "Vmac_core___024root.h"

#include "sim/air/air_config.hpp"
#include "sim/air/types.hpp"

/// The clocked process of the model. Verilator puts all of the core into this one function; sim/air/check_model.cmake
/// makes sure of that after every Verilator run, and tests/sim/air compares it with Vmac_core::eval().
void Vmac_core___024root___nba_sequent__TOP__0(Vmac_core___024root* root);

namespace perhop::air {

class rtl_node {
public:
  /// Resets and configures the core.
  rtl_node(VerilatedContext& context, const air_config& config, node_id node);

  // ---- Inputs. Strobes hold for the next clock only.
  void set_carrier(bool busy) { pins_->phy_cca_busy = busy; }
  bool carrier() const { return pins_->phy_cca_busy != 0; }
  void strobe_rx_start() { pins_->phy_rx_start = 1; }
  void strobe_rx_end(const transmission& frame, bool ok) {
    pins_->phy_rx_end = 1;
    pins_->phy_rx_ok = ok;
    pins_->phy_rx_kind = static_cast<std::uint8_t>(frame.kind);
    pins_->phy_rx_rate = frame.rate_index;
    pins_->phy_rx_duration_us = frame.duration_us;
    pins_->phy_rx_ra = frame.ra;
    pins_->phy_rx_ta = frame.ta;
    pins_->phy_rx_sequence = frame.sequence;
    pins_->phy_rx_retry = frame.retry;
  }
  /// The end of a frame for somebody else, of which only its Duration matters. Also ns-2's capture(), which sets the NAV.
  void strobe_overheard(std::uint16_t duration_us, bool ok) { strobe_rx_end({.kind = frame_kind::other, .duration_us = duration_us}, ok); }
  void strobe_descriptor(const tx_request& request, std::uint16_t tag, std::uint32_t airtime_us) {
    pins_->desc_valid = 1;
    pins_->desc_ra = request.ra;
    pins_->desc_peer = request.peer;
    pins_->desc_bytes = request.mpdu_bytes;
    pins_->desc_rate = request.rate_index;
    pins_->desc_airtime_us = static_cast<std::uint16_t>(airtime_us);
    pins_->desc_use_rts = request.use_rts;
    pins_->desc_tag = tag;
  }

  /// One clock of at most max_ticks ticks.
  void clock(std::uint32_t ticks) {
    pins_->tick_n = ticks;
#ifdef PERHOP_DIRECT_EVAL
    clock_direct();
#else
    clock_reference();
#endif
    pins_->phy_rx_start = 0;
    pins_->phy_rx_end = 0;
    pins_->desc_valid = 0;
  }
  static constexpr std::uint32_t max_ticks = 0xff'ffff;

  /// The two ways to give a clock to the model: as Verilator's manual says, and its clocked process alone. The second is
  /// valid because no output depends on an input other than the settings, which stand still after the constructor.
  void clock_reference();
  void clock_direct() { Vmac_core___024root___nba_sequent__TOP__0(pins_); }

  // ---- Outputs
  bool quiescent() const { return pins_->quiescent != 0; }
  std::uint32_t next_timer() const { return pins_->next_timer; }
  static constexpr std::uint32_t no_timer = ~std::uint32_t{0};
  bool want_rx_start() const { return pins_->want_rx_start != 0; }
  std::uint16_t nav_left_us() const { return pins_->nav_left_us; }
  bool contending() const { return pins_->contending != 0; }
  bool descriptor_ready() const { return pins_->desc_ready[0] != 0; }
  /// A frame starts: transmission().
  bool tx_start() const { return pins_->phy_tx_start != 0; }
  /// The frame of the last strobe_rx_end() is for the host.
  bool deliver() const { return pins_->rx_deliver != 0; }
  /// A packet is done: completion().
  bool done() const { return pins_->done_valid != 0; }

  /// Fields of the frame that starts now; id, payload: left to the caller.
  transmission read_transmission(tick now) const;
  /// The record of done(); payload, ra: left to the caller.
  completion read_completion(tick now) const;

  /// The pins themselves, for tests.
  Vmac_core___024root& pins() { return *pins_; }

private:
  std::unique_ptr<Vmac_core> model_;
  Vmac_core___024root* pins_;
  node_id node_;
};

}  // namespace perhop::air
