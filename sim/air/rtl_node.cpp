// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/rtl_node.hpp"

#include <algorithm>
#include <string>

#include "sim/air/mix.hpp"

namespace perhop::air {

namespace {

constexpr std::uint64_t seed_stream_nodes = 0x6e6f'6465;

void configure(Vmac_core___024root& pins, const air_config& config, node_id node) {
  const mac_config& mac = config.mac;
  const timing_profile& profile = *mac.profile;
  const bool ns2 = mac.compatibility == mac_compatibility::ns2;
  pins.cfg_address = mac_address(node);
  pins.cfg_seed = random_bits(config.seed, seed_stream_nodes, node);
  pins.cfg_access_mode = static_cast<std::uint8_t>(mac.access);
  pins.cfg_no_mac_ack = !mac.mac_ack;
  pins.cfg_vacation_us = mac.vacation_us;
  pins.cfg_slot_us = profile.slot_us;
  pins.cfg_sifs_us = profile.sifs_us;
  pins.cfg_difs_us = profile.difs_us;
  pins.cfg_eifs_us = profile.eifs_us;
  // ns-2 waits for the end of the response: the core adds the response's own airtime to this setting.
  pins.cfg_response_timeout_us =
      ns2 ? profile.ns2_response_timeout_us - airtime_us(profile, profile.control_rate_index, cts_bytes) : profile.response_timeout_us;
  pins.cfg_nav_reset_us = profile.nav_reset_us;
  pins.cfg_cw_min[0] = profile.cw_min;
  pins.cfg_cw_max[0] = profile.cw_max;
  pins.cfg_short_retry_limit = mac.short_retry_limit;
  pins.cfg_long_retry_limit = mac.long_retry_limit;
  pins.cfg_average_shift = mac.average_shift;
  pins.cfg_rts_rate = profile.control_rate_index;
  pins.cfg_rts_airtime_us = airtime_us(profile, profile.control_rate_index, rts_bytes);
  for (unsigned rate = 0; rate < rate_slots; ++rate) {
    const unsigned known = std::min<unsigned>(rate, profile.rates.size() - 1);
    const unsigned response = profile.rates[known].control_rate_index;
    pins.cfg_response_rate[rate] = response;
    pins.cfg_response_airtime_us[rate] = airtime_us(profile, response, cts_bytes);
  }
  pins.cfg_quirk_eifs_as_nav = ns2;
  pins.cfg_quirk_no_nav_reset = ns2;
  pins.cfg_quirk_fixed_timeout = ns2;
  pins.cfg_quirk_draw_below_cw = ns2;
  pins.cfg_quirk_backoff_at_once = ns2;
}

/// The absolute time, not after `now`, whose lower 32 bits are `low`.
tick widen(tick now, std::uint32_t low) { return now - (static_cast<std::uint32_t>(now) - low); }

}  // namespace

rtl_node::rtl_node(VerilatedContext& context, const air_config& config, node_id node)
    : model_(std::make_unique<Vmac_core>(&context, ("node" + std::to_string(node)).c_str())), pins_(model_->rootp), node_(node) {
  configure(*pins_, config, node);
  pins_->clk = 0;
  pins_->rst = 1;
  clock_reference();
  pins_->rst = 0;
  pins_->cfg_seed_load = 1;
  clock_reference();
  pins_->cfg_seed_load = 0;
  clock_reference();
}

void rtl_node::clock_reference() {
  pins_->clk = 1;
  model_->eval();
  pins_->clk = 0;
  model_->eval();
}

transmission rtl_node::read_transmission(tick now) const {
  const auto kind = static_cast<frame_kind>(pins_->phy_tx_kind);
  const bool has_ta = kind == frame_kind::rts || kind == frame_kind::data;
  return {.id = 0,
          .node = node_,
          .start = now,
          .end = now + pins_->phy_tx_airtime_us,
          .kind = kind,
          .rate_index = pins_->phy_tx_rate,
          .psdu_bytes = pins_->phy_tx_bytes,
          .duration_us = pins_->phy_tx_duration_us,
          .ra = pins_->phy_tx_ra,
          .ta = has_ta ? mac_address(node_) : 0,
          .sequence = pins_->phy_tx_sequence,
          .retry = pins_->phy_tx_retry != 0,
          .tag = pins_->phy_tx_tag,
          .payload = 0};
}

completion rtl_node::read_completion(tick now) const {
  return {.node = node_,
          .payload = 0,
          .ra = 0,
          .tag = pins_->done_tag,
          .peer = pins_->done_peer,
          .sequence = pins_->done_sequence,
          .mpdu_bytes = pins_->done_bytes,
          .rate_index = pins_->done_rate,
          .result = static_cast<tx_result>(pins_->done_result),
          .rts_attempts = pins_->done_rts_attempts,
          .data_attempts = pins_->done_data_attempts,
          .ssrc = pins_->done_ssrc,
          .slrc = pins_->done_slrc,
          .cw = pins_->done_cw,
          .slots_drawn = pins_->done_slots_drawn,
          .t_enqueue_us = widen(now, pins_->done_t_enqueue_us),
          .t_head_us = widen(now, pins_->done_t_head_us),
          .t_first_tx_us = widen(now, pins_->done_t_first_tx_us),
          .t_done_us = widen(now, pins_->done_t_done_us),
          .parts = {.queue_us = pins_->done_queue_us,
                    .ifs_us = pins_->done_ifs_us,
                    .backoff_us = pins_->done_backoff_us,
                    .frozen_cca_us = pins_->done_frozen_cca_us,
                    .frozen_nav_us = pins_->done_frozen_nav_us,
                    .control_us = pins_->done_control_us,
                    .data_us = pins_->done_data_us,
                    .response_us = pins_->done_response_us,
                    .timeout_us = pins_->done_timeout_us,
                    .responder_us = pins_->done_responder_us},
          .avg_contention_us16 = pins_->done_avg_contention_us16,
          .avg_overhead_us16 = pins_->done_avg_overhead_us16,
          .avg_data_attempts_256 = pins_->done_avg_data_attempts_256};
}

}  // namespace perhop::air
