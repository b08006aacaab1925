// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/bench/mac_top/mac_device.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "Vmac_top.h"
#include "Vmac_top___024root.h"
#include "host/core/wire/generated/frames.hpp"
#include "host/core/wire/generated/registers.hpp"
#include "host/core/wire/profile_settings.hpp"
#include "sim/air/register_setting.hpp"
#include "verilated.h"

namespace perhop::bench {

mac_device::mac_device() : context_(std::make_unique<VerilatedContext>()) {
  context_->randReset(0);
  pins_ = std::make_unique<Vmac_top>(context_.get());
  pins_->s_axil_bready = pins_->s_axil_rready = 1;
  pins_->m_axis_rx_tready = 1;
  pins_->m_done_tready = 1;
}

mac_device::~mac_device() = default;

std::uint32_t mac_device::clocks_per_us() { return PERHOP_CLOCKS_PER_US; }

std::uint32_t mac_device::read(std::uint32_t address) {
  return bus_.read(*pins_, address, [this] { started_ |= clock(); });
}

void mac_device::write(std::uint32_t address, std::uint32_t word, std::uint32_t strobes) {
  bus_.write(*pins_, address, word, strobes, [this] { started_ |= clock(); });
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

/// Every register that a station and its profile need.
std::vector<air::register_setting> settings_of(const station_settings& station) {
  mac_settings settings = profile_settings(*station.profile);
  settings.address = station.address;
  settings.bssid = station.bssid;
  settings.seed = station.seed;
  settings.response_timeout_us = static_cast<std::uint16_t>(settings.response_timeout_us + station.more_response_timeout_us);
  settings.phy_tx_delay_clocks = station.tx_delay_clocks;
  settings.phy_rx_delay_clocks = station.rx_delay_clocks;
  settings.short_retry_limit = station.short_retry_limit;
  settings.long_retry_limit = station.long_retry_limit;
  settings.rts_threshold_bytes = station.rts_threshold_bytes;
  std::vector<air::register_setting> list;
  for_each_setting_word(settings, [&](std::uint32_t address, std::uint32_t word) { list.push_back({address, word}); });
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
  const auto refused = air::write_settings(settings_of(station), [this](const air::register_setting& each) {
    write(each.address, each.word);
    if ((read(registers::error::address) & every_error) == 0) return true;
    write(registers::error::address, every_error);
    return false;
  });
  if (refused) throw std::runtime_error("register " + std::to_string(refused->address) + " refuses its setting");
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
  bus_.before_edge(pins);
  pins.clk = 1;
  pins.eval();
  bus_.after_edge(pins);
  ++now_;
  return starts;
}

}  // namespace perhop::bench
