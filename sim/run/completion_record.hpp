// SPDX-License-Identifier: GPL-2.0-or-later
/// What the air says of a packet that a MAC is done with, as the record that the gateware gives a host.
#pragma once

#include "host/core/wire/generated/frames.hpp"
#include "sim/air/types.hpp"

namespace perhop::run {

inline completion_record record_of(const air::completion& done) {
  return {.tag = done.tag,
          .peer = done.peer,
          .sequence = done.sequence,
          .bytes = done.mpdu_bytes,
          .rate = done.rate_index,
          .result = done.result,
          .rts_attempts = done.rts_attempts,
          .data_attempts = done.data_attempts,
          .ssrc = done.ssrc,
          .slrc = done.slrc,
          .cw = done.cw,
          .slots_drawn = done.slots_drawn,
          .t_enqueue_us = static_cast<std::uint32_t>(done.t_enqueue_us),
          .t_head_us = static_cast<std::uint32_t>(done.t_head_us),
          .t_first_tx_us = static_cast<std::uint32_t>(done.t_first_tx_us),
          .t_done_us = static_cast<std::uint32_t>(done.t_done_us),
          .queue_us = done.parts.queue_us,
          .ifs_us = done.parts.ifs_us,
          .backoff_us = done.parts.backoff_us,
          .frozen_cca_us = done.parts.frozen_cca_us,
          .frozen_nav_us = done.parts.frozen_nav_us,
          .control_us = done.parts.control_us,
          .data_us = done.parts.data_us,
          .response_us = done.parts.response_us,
          .timeout_us = done.parts.timeout_us,
          .responder_us = done.parts.responder_us,
          .avg_contention_us16 = done.avg_contention_us16,
          .avg_overhead_us16 = done.avg_overhead_us16,
          .avg_data_attempts_256 = static_cast<std::uint16_t>(done.avg_data_attempts_256)};
}

}  // namespace perhop::run
