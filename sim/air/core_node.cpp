// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/core_node.hpp"

#include <string>

#include "sim/air/node_settings.hpp"

namespace perhop::air {

core_node::core_node(VerilatedContext& context, const air_config& config, node_id node)
    : model_(std::make_unique<Vmac_core>(&context, ("node" + std::to_string(node)).c_str())), pins_(model_->rootp), node_(node) {
  put_settings(*pins_, settings_of(config, node));
  pins_->clk = 0;
  pins_->rst = 1;
  clock_reference();
  pins_->rst = 0;
  pins_->cfg_seed_load = 1;
  clock_reference();
  pins_->cfg_seed_load = 0;
  clock_reference();
}

void core_node::clock_reference() {
  pins_->clk = 1;
  model_->eval();
  pins_->clk = 0;
  model_->eval();
}

transmission core_node::read_transmission(tick now) const {
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

completion core_node::read_completion(tick now) const {
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
