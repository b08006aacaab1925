// SPDX-License-Identifier: GPL-2.0-or-later
/// Settings of a node's MAC, and its records with their times made absolute: the same for every Verilated model.
#pragma once

#include <algorithm>
#include <cstdint>

#include "host/core/wire/generated/frames.hpp"
#include "sim/air/air_config.hpp"
#include "sim/air/mix.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

/// @param pins of mac_core or of mac_bytes: their settings have the same names
template <typename Pins>
void configure_core(Pins& pins, const air_config& config, node_id node) {
  constexpr std::uint64_t seed_stream_nodes = 0x6e6f'6465;
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

/// What the snapshot ports say.
template <typename Pins>
neighbour_snapshot snapshot_of(const Pins& pins) {
  return {.avg_contention_us16 = pins.nbr_avg_contention_us16,
          .avg_overhead_us16 = pins.nbr_avg_overhead_us16,
          .avg_data_attempts_256 = pins.nbr_avg_data_attempts_256,
          .packets = pins.nbr_packets,
          .drops = pins.nbr_drops,
          .service_us = pins.nbr_service_us,
          .histogram_packets = pins.nbr_histogram};
}

/// The absolute time, not after `now`, whose lower 32 bits are `low`.
inline tick widen(tick now, std::uint32_t low) { return now - (static_cast<std::uint32_t>(now) - low); }

/// A packet's record; payload, ra: left to the caller.
/// @param absolute makes the time of which it gets the lower 32 bits
template <typename Absolute>
completion completion_of(const completion_record& record, node_id node, Absolute&& absolute) {
  return {.node = node,
          .payload = 0,
          .ra = 0,
          .tag = record.tag,
          .peer = record.peer,
          .sequence = record.sequence,
          .mpdu_bytes = record.bytes,
          .rate_index = record.rate,
          .result = record.result,
          .rts_attempts = record.rts_attempts,
          .data_attempts = record.data_attempts,
          .ssrc = record.ssrc,
          .slrc = record.slrc,
          .cw = record.cw,
          .slots_drawn = record.slots_drawn,
          .t_enqueue_us = absolute(record.t_enqueue_us),
          .t_head_us = absolute(record.t_head_us),
          .t_first_tx_us = absolute(record.t_first_tx_us),
          .t_done_us = absolute(record.t_done_us),
          .parts = {.queue_us = record.queue_us,
                    .ifs_us = record.ifs_us,
                    .backoff_us = record.backoff_us,
                    .frozen_cca_us = record.frozen_cca_us,
                    .frozen_nav_us = record.frozen_nav_us,
                    .control_us = record.control_us,
                    .data_us = record.data_us,
                    .response_us = record.response_us,
                    .timeout_us = record.timeout_us,
                    .responder_us = record.responder_us},
          .avg_contention_us16 = record.avg_contention_us16,
          .avg_overhead_us16 = record.avg_overhead_us16,
          .avg_data_attempts_256 = record.avg_data_attempts_256};
}

}  // namespace perhop::air
