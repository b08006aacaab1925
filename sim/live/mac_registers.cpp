// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/live/mac_registers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "host/core/wire/generated/registers.hpp"
#include "sim/air/node_settings.hpp"

namespace perhop::live {

namespace {

namespace reg = perhop::registers;

/// The core's settings, in the place of its pins.
struct settings {
  std::uint64_t cfg_address, cfg_seed;
  std::uint8_t cfg_access_mode, cfg_no_mac_ack;
  std::uint32_t cfg_vacation_us, cfg_slot_us, cfg_sifs_us, cfg_difs_us, cfg_eifs_us, cfg_response_timeout_us, cfg_nav_reset_us;
  std::array<std::uint16_t, 1> cfg_cw_min, cfg_cw_max;
  std::uint8_t cfg_short_retry_limit, cfg_long_retry_limit, cfg_average_shift;
  std::uint32_t cfg_rts_rate, cfg_rts_airtime_us;
  std::array<std::uint32_t, rate_slots> cfg_response_rate, cfg_response_airtime_us;
  bool cfg_quirk_eifs_as_nav, cfg_quirk_no_nav_reset, cfg_quirk_fixed_timeout, cfg_quirk_draw_below_cw, cfg_quirk_backoff_at_once;
};

/// A register's value from its fields.
template <typename... Pairs>
std::uint64_t word_of(const Pairs&... pairs) {
  std::uint64_t word = 0;
  ((word = pairs.first.put(word, pairs.second)), ...);
  return word;
}

std::pair<const reg::field&, std::uint64_t> of(const reg::field& field, std::uint64_t value) { return {field, value}; }

}  // namespace

void mac_statistics::note_sent(const air::transmission& frame) {
  switch (frame.kind) {
    case frame_kind::rts:
      ++rts_sent;
      break;
    case frame_kind::cts:
      ++cts_sent;
      break;
    case frame_kind::mac_ack:
      ++mac_ack_sent;
      break;
    case frame_kind::data:
      ++data_sent;
      if (frame.retry) ++data_retries_sent;
      break;
    default:
      break;
  }
}

void mac_statistics::note_done(const air::completion& record) {
  switch (record.result) {
    case tx_result::delivered:
      ++delivered;
      break;
    case tx_result::group_sent:
      ++group_sent;
      return;  // nobody answers
    case tx_result::short_retry_limit:
      ++short_retry_limit;
      break;
    case tx_result::long_retry_limit:
      ++long_retry_limit;
      break;
  }
  // Each frame was answered or timed out. Behind an RTS comes DATA if it was answered.
  const unsigned first = record.rts_attempts != 0 ? record.rts_attempts : record.data_attempts;
  timeouts += first - (record.result == tx_result::delivered ? 1 : 0);
}

void mac_registers::set(std::uint32_t address, std::uint64_t value, unsigned words) {
  for (unsigned word = 0; word < words; ++word) words_[address + 4 * word] = static_cast<std::uint32_t>(value >> 32 * word);
}

mac_registers::mac_registers(const air::air_config& config, air::node_id node) : node_(node) {
  settings pins{};
  air::configure_core(pins, config, node);
  const timing_profile& profile = *config.mac.profile;
  set(reg::id::address, reg::id::value.reset);
  set(reg::version::address, word_of(of(reg::version::version_minor, reg::version::version_minor.reset),
                                     of(reg::version::version_major, reg::version::version_major.reset)));
  set(reg::capabilities::address,
      word_of(of(reg::capabilities::neighbour_slots, neighbour_slots), of(reg::capabilities::rate_slots, rate_slots)));
  set(reg::control::address, word_of(of(reg::control::enable, 1)));
  set(reg::error::address, 0);  // a write that is refused is answered so
  set(reg::address::address, pins.cfg_address, 2);
  set(reg::seed::address, pins.cfg_seed, 2);
  set(reg::slot::address, pins.cfg_slot_us);
  set(reg::sifs::address, pins.cfg_sifs_us);
  set(reg::difs::address, pins.cfg_difs_us);
  set(reg::eifs::address, pins.cfg_eifs_us);
  set(reg::response_timeout::address, pins.cfg_response_timeout_us);
  set(reg::nav_reset::address, pins.cfg_nav_reset_us);
  set(reg::rts::address, word_of(of(reg::rts::rate, pins.cfg_rts_rate), of(reg::rts::airtime_us, pins.cfg_rts_airtime_us)));
  set(reg::average::address, word_of(of(reg::average::shift, pins.cfg_average_shift)));
  set(reg::quirks::address,
      word_of(of(reg::quirks::eifs_as_nav, pins.cfg_quirk_eifs_as_nav), of(reg::quirks::no_nav_reset, pins.cfg_quirk_no_nav_reset),
              of(reg::quirks::fixed_timeout, pins.cfg_quirk_fixed_timeout), of(reg::quirks::draw_below_cw, pins.cfg_quirk_draw_below_cw),
              of(reg::quirks::backoff_at_once, pins.cfg_quirk_backoff_at_once)));
  set(reg::access_mode::address,
      word_of(of(reg::access_mode::mode, pins.cfg_access_mode), of(reg::access_mode::no_mac_ack, pins.cfg_no_mac_ack),
              of(reg::access_mode::vacation_us, pins.cfg_vacation_us)));
  for (unsigned rate = 0; rate < rate_slots; ++rate) {
    set(reg::response::address(rate),
        word_of(of(reg::response::rate, pins.cfg_response_rate[rate]), of(reg::response::airtime_us, pins.cfg_response_airtime_us[rate])));
    const auto known = std::min<std::size_t>(rate, profile.rates.size() - 1);
    const airtime_coefficients airtime = coefficients_of(profile, static_cast<unsigned>(known));
    set(reg::airtime::address(rate),
        word_of(of(reg::airtime::base_us, airtime.base_us), of(reg::airtime::half_bits_per_unit, airtime.half_bits_per_unit),
                of(reg::airtime::unit_shift, airtime.unit_shift), of(reg::airtime::overhead_half_bits, airtime.overhead_half_bits)));
  }
  set(reg::contention_window::address(0),
      word_of(of(reg::contention_window::cw_min, pins.cfg_cw_min[0]), of(reg::contention_window::cw_max, pins.cfg_cw_max[0])));
  set(reg::retry_limits::address, word_of(of(reg::retry_limits::short_retry_limit, pins.cfg_short_retry_limit),
                                          of(reg::retry_limits::long_retry_limit, pins.cfg_long_retry_limit)));
  set(reg::rts_threshold::address, word_of(of(reg::rts_threshold::value_bytes, config.mac.rts_threshold_bytes)));
}

std::optional<std::uint32_t> mac_registers::read_statistics(std::uint32_t address, const mac_statistics& s) const {
  const auto low = [](std::uint64_t count) { return static_cast<std::uint32_t>(count); };
  switch (address) {
    case reg::stat_tx_refused::address:
      return low(s.tx_refused);
    case reg::stat_done_overflow::address:
      return low(s.done_overflow);
    case reg::stat_rts_sent::address:
      return low(s.rts_sent);
    case reg::stat_cts_sent::address:
      return low(s.cts_sent);
    case reg::stat_data_sent::address:
      return low(s.data_sent);
    case reg::stat_data_retries_sent::address:
      return low(s.data_retries_sent);
    case reg::stat_mac_ack_sent::address:
      return low(s.mac_ack_sent);
    case reg::stat_timeouts::address:
      return low(s.timeouts);
    case reg::stat_delivered::address:
      return low(s.delivered);
    case reg::stat_group_sent::address:
      return low(s.group_sent);
    case reg::stat_short_retry_limit::address:
      return low(s.short_retry_limit);
    case reg::stat_long_retry_limit::address:
      return low(s.long_retry_limit);
    case reg::stat_rx_delivered::address:
      return low(s.rx_delivered);
    case reg::stat_rx_overflow::address:
      return low(s.rx_overflow);
    default:
      return std::nullopt;
  }
}

std::optional<std::uint32_t> mac_registers::read(std::uint32_t address, air::tick now, const mac_statistics& statistics) {
  // The low word holds the high one until it is read, as in mac_registers.sv.
  if (address == reg::tsf::address) {
    tsf_high_ = static_cast<std::uint32_t>(now >> 32);
    return static_cast<std::uint32_t>(now);
  }
  if (address == reg::tsf::address + 4) return tsf_high_;
  if (const auto found = words_.find(address); found != words_.end()) return found->second;
  return read_statistics(address, statistics);
}

bool mac_registers::write(std::uint32_t address, std::uint32_t value, air::air& air) {
  using namespace reg::neighbour_select;
  if (address != reg::neighbour_select::address) return false;
  const auto slot = static_cast<std::uint8_t>(index.get(value));
  const auto bin = static_cast<std::uint8_t>(histogram_bin.get(value));
  set(reg::neighbour_select::address, word_of(of(index, slot), of(histogram_bin, bin)));
  if (take.get(value) == 0) return true;
  const air::neighbour_snapshot taken = air.take_neighbour(node_, slot, bin);
  set(reg::neighbour_contention::address, word_of(of(reg::neighbour_contention::average_us16, taken.avg_contention_us16)));
  set(reg::neighbour_overhead::address, word_of(of(reg::neighbour_overhead::average_us16, taken.avg_overhead_us16)));
  set(reg::neighbour_data_attempts::address, word_of(of(reg::neighbour_data_attempts::average_256, taken.avg_data_attempts_256),
                                                     of(reg::neighbour_data_attempts::histogram_packets, taken.histogram_packets)));
  set(reg::neighbour_packets::address, taken.packets);
  set(reg::neighbour_drops::address, taken.drops);
  set(reg::neighbour_service::address, taken.service_us, 2);
  return true;
}

}  // namespace perhop::live
