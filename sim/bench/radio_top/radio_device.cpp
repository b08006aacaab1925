// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/bench/radio_top/radio_device.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include "Vradio_top.h"
#include "Vradio_top___024root.h"
#include "host/core/wire/generated/frames.hpp"
#include "verilated.h"

namespace perhop::bench {

namespace {

constexpr std::uint32_t sample_bits = 12;

/// A converter of 16 bits.
std::uint16_t converted(double value) {
  return static_cast<std::uint16_t>(static_cast<std::int16_t>(std::lround(std::clamp(value, -32768.0, 32767.0))));
}

int as_signed(std::uint32_t value) { return static_cast<int>(value ^ 1U << (sample_bits - 1)) - (1 << (sample_bits - 1)); }

}  // namespace

radio_device::radio_device() : context_(std::make_unique<VerilatedContext>()) {
  context_->randReset(0);
  pins_ = std::make_unique<Vradio_top>(context_.get());
  pins_->s_axil_bready = pins_->s_axil_rready = 1;
  pins_->m_axis_rx_tready = 1;
  pins_->m_done_tready = 1;
  pins_->rst = 1;
  for (int clocks = 0; clocks < 4; ++clocks) clock();
  pins_->rst = 0;
}

radio_device::~radio_device() = default;

void radio_device::write(std::uint32_t address, std::uint32_t word) {
  bus_.write(*pins_, address, word, 0xF, [this] { clock(); });
}

std::uint32_t radio_device::read(std::uint32_t address) {
  return bus_.read(*pins_, address, [this] { clock(); });
}

unsigned radio_device::gain_below_db() const { return pins_->rx_gain_below_db; }

air_sample radio_device::sample(std::complex<double> heard, std::uint32_t clocks) {
  auto& pins = *pins_;
  const air_sample sent{.value = {static_cast<double>(as_signed(pins.tx_i)), static_cast<double>(as_signed(pins.tx_q))},
                        .active = pins.tx_active != 0};
  pins.rx_i = converted(heard.real());
  pins.rx_q = converted(heard.imag());
  pins.rx_sample_valid = pins.tx_sample_take = 1;
  clock();
  pins.rx_sample_valid = pins.tx_sample_take = 0;
  for (std::uint32_t left = clocks; left > 1; --left) clock();
  return sent;
}

void radio_device::clock() {
  auto& pins = *pins_;
  const bool packet = !packets_.empty();
  pins.s_desc_valid = packet && describing_;
  pins.s_axis_tx_tvalid = packet && !describing_;
  if (packet) {
    const radio_packet& head = packets_.front();
    pins.s_desc_ra = head.ra;
    pins.s_desc_bytes = head.msdu.size();
    pins.s_desc_rate = head.rate;
    pins.s_desc_force_rts = head.force_rts;
    pins.s_axis_tx_tkeep = 1;
    pins.s_axis_tx_tdata = head.msdu[byte_index_];
    pins.s_axis_tx_tlast = byte_index_ + 1 == head.msdu.size();
  }
  pins.clk = 0;
  pins.eval();
  if (pins.s_desc_valid && pins.s_desc_ready) {
    describing_ = false;
    byte_index_ = 0;
  } else if (pins.s_axis_tx_tvalid && pins.s_axis_tx_tready && ++byte_index_ == packets_.front().msdu.size()) {
    describing_ = true;
    packets_.pop_front();
    byte_index_ = 0;
  }
  if (pins.m_done_tvalid) {
    words_.push_back(pins.m_done_tdata);
    if (pins.m_done_tlast) {
      if (words_.size() != completion_record_words) throw std::runtime_error("a completion record of a wrong length");
      const completion_record record = decode_completion_record(std::span(words_).first<completion_record_words>());
      results_.push_back(static_cast<std::uint32_t>(record.result));
      words_.clear();
    }
  }
  bus_.before_edge(pins);
  pins.clk = 1;
  pins.eval();
  bus_.after_edge(pins);
}

}  // namespace perhop::bench
