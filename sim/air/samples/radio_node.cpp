// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/samples/radio_node.hpp"

#include <stdexcept>
#include <utility>

#include "Vradio_top.h"
#include "Vradio_top___024root.h"

#include "host/core/wire/generated/registers.hpp"
#include "sim/air/frame_fields.hpp"
#include "sim/air/samples/radio_settings.hpp"

namespace perhop::air::samples {

namespace {

constexpr std::uint32_t every_error = 0xF;
constexpr int reset_clocks = 4;

/// A value of 12 bits in two's complement.
float from_12_bits(unsigned bits) { return static_cast<float>(static_cast<int>(bits << 20) >> 20); }
std::int8_t from_7_bits(unsigned bits) { return static_cast<std::int8_t>(static_cast<std::int8_t>(bits << 1) >> 1); }

}  // namespace

struct radio_node::model {
  model(VerilatedContext& context, const std::string& name) : top(&context, name.c_str()), pins(*top.rootp) {}
  Vradio_top top;
  Vradio_top___024root& pins;
};

radio_node::radio_node(VerilatedContext& context, const air_config& config, node_id node)
    : model_(std::make_unique<model>(context, "radio" + std::to_string(node))),
      node_(node),
      rts_threshold_bytes_(config.mac.rts_threshold_bytes) {
  auto& pins = model_->pins;
  pins.s_axil_bready = pins.s_axil_rready = 1;
  pins.m_axis_rx_tready = pins.m_done_tready = 1;
  pins.s_axis_tx_tkeep = 1;
  pins.rst = 1;
  for (int count = 0; count < reset_clocks; ++count) clock(nullptr, 0);
  pins.rst = 0;
  configure(config);
  clocks_ = 0;
}

radio_node::~radio_node() = default;
radio_node::radio_node(radio_node&&) noexcept = default;

void radio_node::fail(const std::string& what) const { throw std::logic_error("node " + std::to_string(node_) + ": " + what); }

// ---- Registers

void radio_node::write(std::uint32_t address, std::uint32_t word) {
  bus_.write(model_->pins, address, word, 0xF, [this] { clock(nullptr, 0); });
}

std::uint32_t radio_node::read(std::uint32_t address) {
  return bus_.read(model_->pins, address, [this] { clock(nullptr, 0); });
}

void radio_node::configure(const air_config& config) {
  write(registers::control::address, 0);
  write(registers::error::address, every_error);
  const auto refused = write_settings(radio_settings(config, node_), [this](const register_setting& each) {
    write(each.address, each.word);
    // The MAC's registers and the modem's refuse by themselves.
    const std::uint32_t error_address = each.address < radio_registers_base ? registers::error::address : registers::radio::error::address;
    if ((read(error_address) & every_error) == 0) return true;
    write(error_address, every_error);
    return false;
  });
  if (refused) {
    throw std::runtime_error("node " + std::to_string(node_) + ": register " + std::to_string(refused->address) +
                             " of the radio refuses the setting " + std::to_string(refused->word));
  }
  write(registers::control::address, 1);
}

// ---- Packets

void radio_node::give(const tx_request& request, std::uint16_t tag, std::vector<std::uint8_t> msdu) {
  if (msdu.size() != msdu_bytes(request)) {
    fail("a packet of " + std::to_string(msdu.size()) + " bytes was given for an MPDU of " + std::to_string(request.mpdu_bytes));
  }
  packets_.push_back({request, tag, std::move(msdu)});
}

void radio_node::drive_host() {
  auto& pins = model_->pins;
  const bool waits = given_ < packets_.size();
  pins.s_desc_valid = waits && describing_;
  pins.s_axis_tx_tvalid = waits && !describing_;
  if (!waits) return;
  const packet& next = packets_[given_];
  if (describing_) {
    const tx_request& request = next.request;
    pins.s_desc_ra = request.ra;
    pins.s_desc_four_address = request.four_address;
    pins.s_desc_a3 = request.destination;
    pins.s_desc_a4 = request.source;
    pins.s_desc_peer = request.peer;
    pins.s_desc_bytes = static_cast<std::uint16_t>(next.msdu.size());
    pins.s_desc_rate = request.rate_index;
    pins.s_desc_force_rts = request.use_rts && request.mpdu_bytes <= rts_threshold_bytes_;
    pins.s_desc_tag = next.tag;
  } else {
    pins.s_axis_tx_tdata = next.msdu[byte_];
    pins.s_axis_tx_tlast = byte_ + 1 == next.msdu.size();
  }
}

// ---- Clocks

std::complex<float> radio_node::step(converted_sample heard, radio_listener& listener) {
  auto& pins = model_->pins;
  pins.rx_i = static_cast<std::uint16_t>(heard.i);
  pins.rx_q = static_cast<std::uint16_t>(heard.q);
  pins.rx_sample_valid = pins.tx_sample_take = 1;
  clock(&listener, 0);
  pins.rx_sample_valid = pins.tx_sample_take = 0;
  for (unsigned number = 1; number < clocks_per_sample; ++number) clock(&listener, number);
  return sample_;
}

void radio_node::clock(radio_listener* listener, unsigned number) {
  auto& pins = model_->pins;
  drive_host();
  pins.clk = 0;
  model_->top.eval();
  if (listener != nullptr) {
    if (pins.tx_sample_take != 0) see_sample(*listener);
    see_phy(*listener, number);
    see_host(*listener);
  }
  bus_.before_edge(pins);
  pins.clk = 1;
  model_->top.eval();
  ++clocks_;
  bus_.after_edge(pins);
}

void radio_node::see_sample(radio_listener& listener) {
  auto& pins = model_->pins;
  const bool sends = pins.tx_active != 0;
  if (sends && !sends_) {
    if (!started_) fail("the PHY sends what the MAC did not ask for");
    listener.on_frame_start(node_, started_->rate_index, started_->bytes, started_->sequence);
    started_.reset();
  }
  sends_ = sends;
  sample_ = {from_12_bits(pins.tx_i), from_12_bits(pins.tx_q)};
}

/// What MAC and PHY say to each other.
void radio_node::see_phy(radio_listener& listener, unsigned number) {
  const auto& pins = model_->pins;
  if (pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__phy_tx_start != 0) {
    if (started_) fail("the PHY did not send a frame: its rate is none of the DSSS PHY's");
    started_ = {static_cast<std::uint8_t>(pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__phy_tx_rate),
                static_cast<std::uint16_t>(pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__phy_tx_bytes),
                static_cast<std::uint16_t>(pins.radio_top_pins__DOT__u_radio_top__DOT__u_mac_top__DOT__u_mac_bytes__DOT__tx_sequence)};
    psdu_.clear();
  }
  if (pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__phy_tx_valid != 0 &&
      pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__phy_tx_ready != 0) {
    psdu_.push_back(pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__phy_tx_data);
    if (pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__phy_tx_last != 0) listener.on_frame_bytes(node_, psdu_);
  }
  const bool busy = pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__phy_cca_busy != 0;
  if (busy != busy_) listener.on_phy({.kind = busy ? phy_event::what::busy : phy_event::what::idle, .node = node_}, number);
  busy_ = busy;
  if (pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__phy_rx_start != 0) {
    listener.on_phy({.kind = phy_event::what::rx_start,
                     .node = node_,
                     .rate_index = pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__phy_rx_rate,
                     .bytes = pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__phy_rx_bytes},
                    number);
  }
  if (pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__phy_rx_end != 0) {
    listener.on_phy({.kind = phy_event::what::rx_end,
                     .node = node_,
                     .error = pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__phy_rx_error != 0,
                     .rssi_dbm = static_cast<std::int8_t>(pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__phy_rx_rssi_dbm),
                     .snr_db = from_7_bits(pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__rx_snr_db),
                     .tangent_128 = static_cast<std::int8_t>(pins.radio_top_pins__DOT__u_radio_top__DOT__u_dsss_phy__DOT__rx_tangent_128)},
                    number);
  }
}

/// What this clock hands over between MAC and host.
void radio_node::see_host(radio_listener& listener) {
  auto& pins = model_->pins;
  if (pins.s_desc_valid != 0 && pins.s_desc_ready != 0) {
    describing_ = false;
    byte_ = 0;
  } else if (pins.s_axis_tx_tvalid != 0 && pins.s_axis_tx_tready != 0 && ++byte_ == packets_[given_].msdu.size()) {
    describing_ = true;
    ++given_;
  }
  if (pins.m_axis_rx_tvalid != 0) {
    if (pins.m_axis_rx_tkeep != 0) msdu_.push_back(pins.m_axis_rx_tdata);
    if (pins.m_axis_rx_tlast != 0) {
      listener.on_msdu(node_, unpack_rx_status(pins.m_rx_status.data()), msdu_);
      msdu_.clear();
    }
  }
  if (pins.m_done_tvalid != 0) {
    if (words_come_ == words_.size()) fail("a completion record is too long");
    words_[words_come_++] = pins.m_done_tdata;
    if (pins.m_done_tlast != 0) {
      if (words_come_ != words_.size()) fail("a completion record is too short");
      words_come_ = 0;
      const completion_record record = decode_completion_record(words_);
      if (given_ == 0 || packets_.front().tag != record.tag) fail("a packet is done that was not given");
      packets_.pop_front();
      --given_;
      listener.on_record(node_, record);
    }
  }
}

}  // namespace perhop::air::samples
