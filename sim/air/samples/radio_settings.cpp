// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/samples/radio_settings.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "host/core/wire/generated/registers.hpp"
#include "sim/air/loss_model.hpp"
#include "sim/air/node_settings.hpp"
#include "sim/air/samples/converter.hpp"
#include "sim/air/samples/radio_node.hpp"

namespace perhop::air::samples {

namespace {

/// Has the names of mac_core's settings, so that configure_core() fills it in.
struct core_settings {
  std::uint64_t cfg_address, cfg_seed;
  std::uint32_t cfg_access_mode, cfg_no_mac_ack, cfg_vacation_us, cfg_slot_us, cfg_sifs_us, cfg_difs_us, cfg_eifs_us;
  std::uint32_t cfg_response_timeout_us, cfg_nav_reset_us, cfg_cw_min[1], cfg_cw_max[1];
  std::uint32_t cfg_short_retry_limit, cfg_long_retry_limit, cfg_average_shift, cfg_rts_rate, cfg_rts_airtime_us;
  std::uint32_t cfg_response_rate[rate_slots], cfg_response_airtime_us[rate_slots];
  bool cfg_quirk_eifs_as_nav, cfg_quirk_no_nav_reset, cfg_quirk_fixed_timeout, cfg_quirk_draw_below_cw, cfg_quirk_backoff_at_once;
};

constexpr std::uint32_t full_gain = 256;

/// Two's complement in the low bits.
std::uint64_t bits_of(int level_dbm) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(level_dbm)); }

/// Power at which |I| + |Q| of the converter sum to 1 over 22 samples. Chips stand on the diagonals: |I| + |Q| is the amplitude times
/// the root of 2.
int rssi_base_dbm(const medium_config& medium) {
  constexpr double summed = 22 * std::numbers::sqrt2;
  return static_cast<int>(std::lround(medium.samples.full_scale_dbm - 20 * std::log10(full_scale_steps * summed)));
}

}  // namespace

int energy_threshold_dbm(const medium_config& medium) {
  return static_cast<int>(std::lround(10 * std::log10(1000 * make_loss_model(medium)->received_power_w(medium.cs_range_m))));
}

std::vector<register_setting> radio_settings(const air_config& config, node_id node) {
  using namespace registers;
  core_settings core{};
  configure_core(core, config, node);
  const timing_profile& profile = *config.mac.profile;
  std::vector<register_setting> list;
  const auto put = [&](std::uint32_t address, std::uint64_t word) { list.push_back({address, static_cast<std::uint32_t>(word)}); };
  const auto put_wide = [&](std::uint32_t address, std::uint64_t word) {
    put(address, word & 0xffff'ffff);
    put(address + 4, word >> 32);
  };
  put_wide(address::address, core.cfg_address);
  put_wide(bssid::address, node_address_base);
  put_wide(seed::address, core.cfg_seed);
  put(slot::address, core.cfg_slot_us);
  put(sifs::address, core.cfg_sifs_us);
  put(difs::address, core.cfg_difs_us);
  put(eifs::address, core.cfg_eifs_us);
  // Not longer by the delays of PHY and propagation: the slot that it includes is there for them (9.3.2.6).
  put(response_timeout::address, core.cfg_response_timeout_us);
  put(nav_reset::address, core.cfg_nav_reset_us);
  put(phy_rx_start_delay::address, profile.phy_rx_start_delay_us);
  put(phy_delay::address, phy_delay::rx_clocks.put(phy_tx_delay_clocks, phy_rx_delay_clocks));
  put(rts::address, rts::airtime_us.put(core.cfg_rts_rate, core.cfg_rts_airtime_us));
  std::uint64_t word = quirks::eifs_as_nav.put(0, core.cfg_quirk_eifs_as_nav);
  word = quirks::no_nav_reset.put(word, core.cfg_quirk_no_nav_reset);
  word = quirks::fixed_timeout.put(word, core.cfg_quirk_fixed_timeout);
  word = quirks::draw_below_cw.put(word, core.cfg_quirk_draw_below_cw);
  put(quirks::address, quirks::backoff_at_once.put(word, core.cfg_quirk_backoff_at_once));
  word = registers::access_mode::no_mac_ack.put(core.cfg_access_mode, core.cfg_no_mac_ack);
  put(registers::access_mode::address, registers::access_mode::vacation_us.put(word, core.cfg_vacation_us));
  put(average::address, core.cfg_average_shift);
  put(retry_limits::address, retry_limits::long_retry_limit.put(core.cfg_short_retry_limit, core.cfg_long_retry_limit));
  put(rts_threshold::address, config.mac.rts_threshold_bytes);
  put(receive_filter::address, receive_filter::all_groups.put(0, 1));  // as mac_core by itself
  for (std::uint32_t queue = 0; queue < contention_window::count; ++queue) {
    put(contention_window::address(queue), contention_window::cw_max.put(core.cfg_cw_min[0], core.cfg_cw_max[0]));
  }
  for (std::uint32_t rate = 0; rate < rate_slots; ++rate) {
    put(response::address(rate), response::airtime_us.put(core.cfg_response_rate[rate], core.cfg_response_airtime_us[rate]));
    const airtime_coefficients of_rate =
        coefficients_of(profile, std::min<unsigned>(rate, static_cast<unsigned>(profile.rates.size()) - 1));
    word = airtime::base_us.put(0, of_rate.base_us);
    word = airtime::half_bits_per_unit.put(word, of_rate.half_bits_per_unit);
    word = airtime::unit_shift.put(word, of_rate.unit_shift);
    put(airtime::address(rate), airtime::overhead_half_bits.put(word, of_rate.overhead_half_bits));
  }
  put(radio::tx_gain::address, full_gain);
  put(radio::preamble::address, profile.rates[1].preamble_us < profile.rates[0].preamble_us);
  put(radio::rssi::address, radio::rssi::base_dbm.put(0, bits_of(rssi_base_dbm(config.medium))));
  word = radio::clear_channel::energy_threshold_dbm.put(0, bits_of(energy_threshold_dbm(config.medium)));
  word = radio::clear_channel::energy_detect.put(word, 1);
  put(radio::clear_channel::address, radio::clear_channel::carrier_sense.put(word, 1));
  return list;
}

}  // namespace perhop::air::samples
