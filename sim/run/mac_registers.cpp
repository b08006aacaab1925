// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/run/mac_registers.hpp"

#include <utility>

#include "host/core/wire/generated/registers.hpp"
#include "sim/air/node_settings.hpp"

namespace perhop::run {

namespace {

namespace reg = perhop::registers;

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
  set(reg::id::address, reg::id::value.reset);
  set(reg::version::address, word_of(of(reg::version::version_minor, reg::version::version_minor.reset),
                                     of(reg::version::version_major, reg::version::version_major.reset)));
  set(reg::capabilities::address,
      word_of(of(reg::capabilities::neighbour_slots, neighbour_slots), of(reg::capabilities::rate_slots, rate_slots)));
  set(reg::control::address, word_of(of(reg::control::enable, 1)));
  set(reg::error::address, 0);  // a write that is refused is answered so
  for_each_setting_word(air::settings_of(config, node), [this](std::uint32_t address, std::uint32_t word) {
    if (address != reg::contention_window::address(1)) set(address, word);  // it has one queue
  });
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

}  // namespace perhop::run
