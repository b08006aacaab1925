// SPDX-License-Identifier: GPL-2.0-or-later
/// One Verilated MAC core: settings, pins, clocks. What it is to the scheduler says rtl_node.hpp.
#pragma once

#include <cstdint>
#include <memory>

#include <verilated.h>

#include "Vmac_core.h"
#include "Vmac_core___024root.h"

#include "sim/air/medium_summary.hpp"
#include "sim/air/node_settings.hpp"
#include "sim/air/rtl_node.hpp"

/// One clock, as the inputs and tick_n are; without reset, cfg_seed_load and nbr_take. Then, until the core is quiescent or has something
/// to say, clocks without ticks and strobes. What sim/air/clock_forms.py makes of the model; tests/sim/run compares it with
/// Vmac_core::eval().
/// @return how many clocks these were
unsigned Vmac_core_clock(Vmac_core___024root* root, unsigned most_clocks);
/// A clock with nbr_take, which no ticks and strobes come with.
void Vmac_core_take(Vmac_core___024root* root);

namespace perhop::air {

class core_node {
public:
  /// Resets and configures the core.
  core_node(VerilatedContext& context, const air_config& config, node_id node);

  static constexpr bool moves_bytes = false;

  // ---- Inputs. Strobes hold for the next clock only.
  void set_carrier(bool busy) { pins_->phy_cca_busy = busy; }
  bool carrier() const { return pins_->phy_cca_busy != 0; }
  void strobe_rx_start(const transmission&, byte_span, double) { pins_->phy_rx_start = 1; }
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
  void strobe_overheard(std::uint16_t duration_us, bool ok) { strobe_rx_end({.kind = frame_kind::other, .duration_us = duration_us}, ok); }
  void strobe_descriptor(const tx_request& request, std::uint16_t tag, std::uint32_t airtime_us, byte_span) {
    pins_->desc_valid = 1;
    pins_->desc_ra = request.ra;
    pins_->desc_peer = request.peer;
    pins_->desc_bytes = request.mpdu_bytes;
    pins_->desc_rate = request.rate_index;
    pins_->desc_airtime_us = static_cast<std::uint16_t>(airtime_us);
    pins_->desc_use_rts = request.use_rts;
    pins_->desc_tag = tag;
  }

  /// What it hears of the time that passes with the next clock.
  void tell(const medium_summary& summary) {
    put_summary(*pins_, summary);
    told_ = true;
  }

  /// Calls the model from memory, as far as most clocks look at it.
  void prefetch() const {
    constexpr std::size_t line_bytes = 64, looked_at_bytes = 1280;
    const char* const model = reinterpret_cast<const char*>(pins_);
#pragma GCC unroll 32
    for (std::size_t at = 0; at < looked_at_bytes; at += line_bytes) __builtin_prefetch(model + at, 1);
  }

  std::uint32_t clock(std::uint32_t ticks) {
    pins_->tick_n = ticks;
#ifdef PERHOP_DIRECT_EVAL
    const std::uint32_t clocks = clock_direct();
#else
    constexpr std::uint32_t clocks = 1;
    clock_reference();
#endif
    pins_->phy_rx_start = 0;
    pins_->phy_rx_end = 0;
    pins_->desc_valid = 0;
    if (told_) tell({});
    told_ = false;
    return clocks;
  }

  neighbour_snapshot take_neighbour(std::uint8_t slot, std::uint8_t bin) {
    pins_->tick_n = 0;
    pins_->nbr_take = 1;
    pins_->nbr_index = slot;
    pins_->nbr_bin = bin;
#ifdef PERHOP_DIRECT_EVAL
    Vmac_core_take(pins_);
#else
    clock_reference();
#endif
    pins_->nbr_take = 0;
    return snapshot_of(*pins_);
  }

  /// The two ways to clock the model: as Verilator's manual says, a clock at a time, and by its clocked process alone, until it is
  /// quiescent or says something. The second is valid because no output depends on an input other than the settings, which stand
  /// still after the constructor. A model that has been clocked by the second can no longer be by the first.
  void clock_reference();
  std::uint32_t clock_direct() { return Vmac_core_clock(pins_, most_clocks); }

  // ---- Outputs
  bool quiescent() const { return pins_->quiescent != 0; }
  std::uint32_t next_timer() const { return pins_->next_timer; }
  bool want_rx_start() const { return pins_->want_rx_start != 0; }
  std::uint16_t nav_left_us() const { return pins_->nav_left_us; }
  bool contending() const { return pins_->contending != 0; }
  bool sending() const { return pins_->sending != 0; }
  bool backoff_running() const { return pins_->evt_backoff_running[0] != 0; }
  std::uint16_t backoff_slots() const { return pins_->evt_backoff_slots[0]; }
  bool descriptor_ready() const { return pins_->desc_ready[0] != 0; }
  bool tx_start() const { return pins_->phy_tx_start != 0; }
  bool deliver() const { return pins_->rx_deliver != 0; }
  bool done() const { return pins_->done_valid != 0; }

  transmission read_transmission(tick now) const;
  byte_span read_psdu() const { return {}; }
  completion read_completion(tick now) const;

  /// The pins themselves, for tests.
  Vmac_core___024root& pins() { return *pins_; }

private:
  static constexpr unsigned most_clocks = 64;  // at once: the scheduler gives up on a core that does not settle

  std::unique_ptr<Vmac_core> model_;
  Vmac_core___024root* pins_;
  node_id node_;
  bool told_ = false;
};
static_assert(rtl_node<core_node>);

}  // namespace perhop::air
