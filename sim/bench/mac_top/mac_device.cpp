// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/bench/mac_top/mac_device.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "Vmac_top.h"
#include "Vmac_top___024root.h"
#include "host/core/wire/generated/frames.hpp"
#include "host/core/wire/generated/registers.hpp"
#include "verilated.h"

namespace perhop::bench {

mac_device::mac_device() : context_(std::make_unique<VerilatedContext>()) {
  context_->randReset(0);
  pins_ = std::make_unique<Vmac_top>(context_.get());
  pins_->s_axil_bready = 1;
  pins_->s_axil_rready = 1;
  pins_->m_axis_rx_tready = 1;
  pins_->m_done_tready = 1;
}

mac_device::~mac_device() = default;

std::uint32_t mac_device::clocks_per_us() { return PERHOP_CLOCKS_PER_US; }

void mac_device::access(bool& waits, const char* what) {
  waits = true;
  for (int clocks = 0; waits; ++clocks) {
    if (clocks == 1000) throw std::runtime_error(std::string("the registers do not answer a ") + what);
    started_ |= clock();
  }
}

std::uint32_t mac_device::read(std::uint32_t address) {
  pins_->s_axil_araddr = address;
  pins_->s_axil_arvalid = 1;
  access(bus_read_, "read");
  return word_read_;
}

void mac_device::write(std::uint32_t address, std::uint32_t word, std::uint32_t strobes) {
  pins_->s_axil_awaddr = address;
  pins_->s_axil_awvalid = 1;
  pins_->s_axil_wdata = word;
  pins_->s_axil_wstrb = strobes;
  pins_->s_axil_wvalid = 1;
  access(bus_write_, "write");
}

void mac_device::set_taking(bool taking) {
  pins_->m_axis_rx_tready = taking;
  if (taking_completions_) pins_->m_done_tready = taking;
}

void mac_device::set_taking_completions(bool taking) {
  taking_completions_ = taking;
  pins_->m_done_tready = taking;
}

bool mac_device::busy() {
  if (!packets_.empty() || pins_->m_axis_rx_tvalid || (pins_->m_done_tvalid && taking_completions_)) return true;
  const std::uint32_t status = read(registers::status::address);
  return registers::status::contending.get(status) != 0 || registers::status::nav_left_us.get(status) != 0;
}

bool mac_device::take_start() { return std::exchange(started_, false); }

std::uint64_t mac_device::tsf_us() {
  const std::uint64_t low = read(registers::tsf::address);
  return static_cast<std::uint64_t>(read(registers::tsf::address + 4)) << 32 | low;
}

void mac_device::forget() {
  packets_.clear();
  describing_ = true;
  words_.clear();
  completions_.clear();
  events_.clear();
  pins_->phy_cca_busy = 0;
  pins_->s_desc_valid = 0;
  pins_->s_axis_tx_tvalid = 0;
  sent_ = {};
  started_ = false;
}

namespace {

struct setting {
  std::uint32_t address = 0;
  std::uint64_t word = 0;
  bool wide = false;
};

/// Every register that a station and its profile need.
std::vector<setting> settings_of(const station_settings& station) {
  const timing_profile& profile = *station.profile;
  std::vector<setting> list;
  const auto put = [&](std::uint32_t address, std::uint64_t word) { list.push_back({address, word}); };
  const auto put_wide = [&](std::uint32_t address, std::uint64_t word) { list.push_back({address, word, true}); };
  put_wide(registers::address::address, station.address);
  put_wide(registers::bssid::address, station.bssid);
  put_wide(registers::seed::address, station.seed);
  put(registers::slot::address, profile.slot_us);
  put(registers::sifs::address, profile.sifs_us);
  put(registers::difs::address, profile.difs_us);
  put(registers::eifs::address, profile.eifs_us);
  put(registers::response_timeout::address, profile.response_timeout_us + station.more_response_timeout_us);
  put(registers::nav_reset::address, profile.nav_reset_us);
  put(registers::phy_rx_start_delay::address, profile.phy_rx_start_delay_us);
  put(registers::phy_delay::address, registers::phy_delay::rx_clocks.put(station.tx_delay_clocks, station.rx_delay_clocks));
  put(registers::rts::address,
      registers::rts::airtime_us.put(profile.control_rate_index, airtime_us(profile, profile.control_rate_index, rts_bytes)));
  put(registers::quirks::address, 0);
  put(registers::access_mode::address, registers::access_mode::vacation_us.put(0, default_vacation_us));
  put(registers::average::address, default_average_shift);
  put(registers::retry_limits::address, registers::retry_limits::long_retry_limit.put(station.short_retry_limit, station.long_retry_limit));
  put(registers::rts_threshold::address, station.rts_threshold_bytes);
  put(registers::receive_filter::address, 0);
  for (std::uint32_t queue = 0; queue < registers::contention_window::count; ++queue) {
    put(registers::contention_window::address(queue), registers::contention_window::cw_max.put(profile.cw_min, profile.cw_max));
  }
  for (std::uint32_t rate = 0; rate < rate_slots; ++rate) {
    const auto known = std::min<std::uint32_t>(rate, static_cast<std::uint32_t>(profile.rates.size()) - 1);
    const std::uint32_t response = profile.rates[known].control_rate_index;
    put(registers::response::address(rate), registers::response::airtime_us.put(response, airtime_us(profile, response, cts_bytes)));
    const airtime_coefficients of_rate = coefficients_of(profile, known);
    std::uint64_t word = registers::airtime::base_us.put(0, of_rate.base_us);
    word = registers::airtime::half_bits_per_unit.put(word, of_rate.half_bits_per_unit);
    word = registers::airtime::unit_shift.put(word, of_rate.unit_shift);
    put(registers::airtime::address(rate), registers::airtime::overhead_half_bits.put(word, of_rate.overhead_half_bits));
  }
  return list;
}

constexpr std::uint32_t every_error = 0xF;

}  // namespace

void mac_device::configure(const station_settings& station) {
  if (now_ == 0) {
    pins_->rst = 1;
    for (int clocks = 0; clocks < 4; ++clocks) clock();
    pins_->rst = 0;
  }
  write(registers::control::address, 0);
  forget();
  write(registers::error::address, every_error);
  // A rule may join two settings: what is refused now may be right when others are there.
  std::vector<setting> waiting = settings_of(station), refused;
  while (!waiting.empty()) {
    refused.clear();
    for (const setting& each : waiting) {
      write(each.address, static_cast<std::uint32_t>(each.word));
      if (each.wide) write(each.address + 4, static_cast<std::uint32_t>(each.word >> 32));
      if ((read(registers::error::address) & every_error) == 0) continue;
      refused.push_back(each);
      write(registers::error::address, every_error);
    }
    if (refused.size() == waiting.size())
      throw std::runtime_error("register " + std::to_string(refused.front().address) + " refuses its setting");
    waiting.swap(refused);
  }
  write(registers::control::address, 1);
}

void mac_device::schedule(const phy_event& event) {
  if (event.at < now_) throw std::logic_error("the PHY speaks of the past");
  const auto later =
      std::upper_bound(events_.begin(), events_.end(), event.at, [](clock_number at, const phy_event& other) { return at < other.at; });
  events_.insert(later, event);
}

void mac_device::cancel_reception() {
  std::erase_if(events_,
                [](const phy_event& event) { return event.kind != phy_event::what::carrier && event.kind != phy_event::what::no_carrier; });
}

void mac_device::drive_phy() {
  auto& pins = *pins_;
  pins.phy_rx_start = 0;
  pins.phy_rx_valid = 0;
  pins.phy_rx_end = 0;
  while (!events_.empty() && events_.front().at == now_) {
    const phy_event& event = events_.front();
    switch (event.kind) {
      case phy_event::what::carrier:
        pins.phy_cca_busy = 1;
        break;
      case phy_event::what::no_carrier:
        pins.phy_cca_busy = 0;
        break;
      case phy_event::what::start:
        pins.phy_rx_start = 1;
        pins.phy_rx_rate = event.rate;
        pins.phy_rx_bytes = event.value;
        break;
      case phy_event::what::byte:
        pins.phy_rx_valid = 1;
        pins.phy_rx_data = event.value;
        break;
      case phy_event::what::end:
        pins.phy_rx_end = 1;
        pins.phy_rx_error = event.value;
        pins.phy_rx_rssi_dbm = 0xC4;
        break;
    }
    events_.pop_front();
  }
  pins.phy_tx_ready = byte_clocks_ == 1 || now_ % byte_clocks_ == 0;
}

void mac_device::drive_host() {
  auto& pins = *pins_;
  const bool packet = !packets_.empty();
  pins.s_desc_valid = packet && describing_;
  pins.s_axis_tx_tvalid = packet && !describing_;
  if (!packet) return;
  const host_packet& head = packets_.front();
  pins.s_desc_queue = head.queue;
  pins.s_desc_ra = head.ra;
  pins.s_desc_peer = head.peer;
  pins.s_desc_peer_series = head.peer_series;
  pins.s_desc_four_address = head.four_address;
  pins.s_desc_series_attempts = head.series_attempts;
  pins.s_desc_series_rate = head.series_rate;
  pins.s_desc_bytes = head.told_bytes.value_or(static_cast<std::uint32_t>(head.msdu.size()));
  pins.s_desc_rate = head.rate;
  pins.s_desc_force_rts = head.force_rts;
  pins.s_desc_tag = head.tag;
  pins.s_axis_tx_tkeep = 1;
  if (byte_index_ < head.msdu.size()) pins.s_axis_tx_tdata = head.msdu[byte_index_];
  pins.s_axis_tx_tlast = byte_index_ + 1 == head.msdu.size();
}

void mac_device::collect() {
  auto& pins = *pins_;
  if (pins.s_desc_valid && pins.s_desc_ready) {
    // No bytes belong to a packet of none.
    if (packets_.front().told_bytes == 0U)
      packets_.pop_front();
    else
      describing_ = false;
    byte_index_ = 0;
  } else if (pins.s_axis_tx_tvalid && pins.s_axis_tx_tready) {
    if (pins.s_axis_tx_tlast) {
      describing_ = true;
      packets_.pop_front();
    } else {
      ++byte_index_;
    }
  }
  if (pins.phy_tx_valid && pins.phy_tx_ready) {
    sent_.frame.push_back(pins.phy_tx_data);
    sent_.whole = pins.phy_tx_last;
  }
  if (pins.m_axis_rx_tvalid && pins.m_axis_rx_tready && pins.m_axis_rx_tlast) ++frames_received_;
  if (pins.m_done_tvalid && pins.m_done_tready) {
    words_.push_back(pins.m_done_tdata);
    if (pins.m_done_tlast) {
      if (words_.size() == completion_record_words) {
        const completion_record record = decode_completion_record(std::span(words_).first<completion_record_words>());
        completions_.push_back({.tag = record.tag, .result = record.result});
      } else {
        ++torn_records_;
      }
      words_.clear();
    }
  }
}

bool mac_device::clock() {
  auto& pins = *pins_;
  drive_phy();
  drive_host();
  pins.clk = 0;
  pins.eval();
  const bool starts = pins.phy_tx_start != 0;
  if (starts) {
    sent_ = {.at = now_, .rate = pins.phy_tx_rate, .told_bytes = pins.phy_tx_bytes, .airtime_us = pins.phy_tx_airtime_us};
  }
  collect();
  const bool address_written = pins.s_axil_awvalid && pins.s_axil_awready, word_written = pins.s_axil_wvalid && pins.s_axil_wready;
  const bool address_read = pins.s_axil_arvalid && pins.s_axil_arready;
  if (pins.s_axil_bvalid) bus_write_ = false;
  if (pins.s_axil_rvalid) {
    bus_read_ = false;
    word_read_ = pins.s_axil_rdata;
  }
  pins.clk = 1;
  pins.eval();
  if (address_written) pins.s_axil_awvalid = 0;
  if (word_written) pins.s_axil_wvalid = 0;
  if (address_read) pins.s_axil_arvalid = 0;
  ++now_;
  return starts;
}

}  // namespace perhop::bench
