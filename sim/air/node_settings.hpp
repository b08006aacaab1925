// SPDX-License-Identifier: GPL-2.0-or-later
/// Settings of a node's MAC, and its records with their times made absolute: the same for every Verilated model.
#pragma once

#include <cstdint>

#include "host/core/wire/generated/frames.hpp"
#include "host/core/wire/profile_settings.hpp"
#include "sim/air/air_config.hpp"
#include "sim/air/mix.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

/// FAMA's settings, and what follows from them as in a timing profile.
inline void put_fama(mac_settings& settings, const timing_profile& profile, const fama_config& fama) {
  const auto us = [](std::uint32_t value) { return static_cast<std::uint16_t>(value); };
  const std::uint32_t sifs_us = fama.sifs_us.value_or(profile.sifs_us);
  if (fama.rts_us) settings.rts_airtime_us = us(*fama.rts_us);
  if (fama.cts_us) settings.response_airtime_us.fill(us(*fama.cts_us));
  if (fama.random_step_us) settings.slot_us = us(*fama.random_step_us);
  settings.sifs_us = us(sifs_us);
  settings.response_timeout_us = us(sifs_us + profile.slot_us + profile.phy_rx_start_delay_us);
  settings.nav_reset_us = us(2 * sifs_us + settings.response_airtime_us[0] + profile.phy_rx_start_delay_us + 2 * profile.slot_us);
  if (fama.noise_us != 0) {
    settings.quirk_eifs_as_nav = true;
    settings.eifs_us = us(fama.noise_us);
  }
}

/// The settings of a node's MAC.
inline mac_settings settings_of(const air_config& config, node_id node) {
  constexpr std::uint64_t seed_stream_nodes = 0x6e6f'6465;
  const mac_config& mac = config.mac;
  const timing_profile& profile = *mac.profile;
  mac_settings settings = profile_settings(profile);
  settings.address = mac_address(node);
  settings.bssid = node_address_base;
  settings.seed = random_bits(config.seed, seed_stream_nodes, node);
  settings.access_mode = static_cast<std::uint8_t>(mac.access);
  settings.no_mac_ack = !mac.mac_ack;
  settings.vacation_us = static_cast<std::uint16_t>(mac.vacation_us);
  settings.short_retry_limit = static_cast<std::uint8_t>(mac.short_retry_limit);
  settings.long_retry_limit = static_cast<std::uint8_t>(mac.long_retry_limit);
  settings.average_shift = static_cast<std::uint8_t>(mac.average_shift);
  settings.rts_threshold_bytes = static_cast<std::uint16_t>(mac.rts_threshold_bytes);
  settings.all_groups = true;  // as mac_core by itself
  if (mac.access == access_mode::fama) put_fama(settings, profile, mac.fama);
  if (mac.compatibility == mac_compatibility::ns2) {
    settings.quirk_eifs_as_nav = true;
    settings.quirk_no_nav_reset = true;
    settings.quirk_fixed_timeout = true;
    settings.quirk_draw_below_cw = true;
    settings.quirk_backoff_at_once = true;
    // ns-2 waits for the end of the response: the core adds the response's own airtime to this setting.
    settings.response_timeout_us =
        static_cast<std::uint16_t>(profile.ns2_response_timeout_us - airtime_us(profile, profile.control_rate_index, cts_bytes));
  }
  return settings;
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
