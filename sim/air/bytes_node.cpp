// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/bytes_node.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <stdexcept>
#include <string>

#include "Vmac_bytes.h"
#include "Vmac_bytes___024root.h"

#include "sim/air/fcs.hpp"
#include "sim/air/frame_damage.hpp"
#include "sim/air/frame_fields.hpp"
#include "sim/air/node_settings.hpp"

namespace perhop::air {

namespace {

/// Descriptors that wait in the MAC of a core_node behind the one that is served: QUEUE_DEPTH of mac_core.
constexpr std::size_t core_queue_depth = 4;

/// More than any frame or packet takes.
constexpr std::uint32_t clock_limit = 10'000;

/// First octet of Frame Control: a control frame of a reserved subtype, of which a station knows the Duration only.
constexpr std::uint8_t reserved_control = 0x04;

}  // namespace

struct bytes_node::model {
  model(VerilatedContext& context, const std::string& name) : top(&context, name.c_str()), pins(*top.rootp) {}
  Vmac_bytes top;
  Vmac_bytes___024root& pins;
};

bytes_node::bytes_node(VerilatedContext& context, const air_config& config, node_id node)
    : model_(std::make_unique<model>(context, "node" + std::to_string(node))),
      seed_(config.seed),
      node_(node),
      rts_threshold_bytes_(config.mac.rts_threshold_bytes) {
  mac_settings settings = settings_of(config, node);
  settings.phy_rx_start_delay_us = static_cast<std::uint16_t>(config.mac.profile->preamble_us);
  put_settings(model_->pins, settings);
  model_->pins.desc_window = 1;
  // PHY and host take what comes at once.
  model_->pins.phy_tx_ready = 1;
  model_->pins.m_axis_rx_tready = 1;
  model_->pins.m_done_tready = 1;
  model_->pins.clk = 0;
  model_->pins.rst = 1;
  step(0);
  model_->pins.rst = 0;
  model_->pins.cfg_seed_load = 1;
  step(0);
  model_->pins.cfg_seed_load = 0;
  step(0);
}

bytes_node::~bytes_node() = default;
bytes_node::bytes_node(bytes_node&&) noexcept = default;

void bytes_node::fail(const std::string& what) const { throw std::logic_error("node " + std::to_string(node_) + ": " + what); }

// ---- Inputs

void bytes_node::strobe_rx_start(const transmission& frame, byte_span psdu, double power_dbm) {
  start_ = true;
  receiving_ = true;
  rx_frame_ = frame;
  rx_psdu_.assign(psdu.begin(), psdu.end());
  rx_dbm_ = static_cast<std::int8_t>(std::lround(std::clamp(power_dbm, -128.0, 127.0)));
}

void bytes_node::strobe_rx_end(const transmission& frame, bool ok) {
  end_ = ok ? end::good : end::bad;
  if (ok && !(receiving_ && rx_frame_.id == frame.id)) fail("a frame was received whose header was not");
}

void bytes_node::strobe_overheard(std::uint16_t duration_us, bool ok) {
  if (!ok) fail("a frame in error reserves nothing");
  reserve_ = true;
  reserve_us_ = duration_us;
}

void bytes_node::strobe_descriptor(const tx_request& request, std::uint16_t tag, std::uint32_t, byte_span msdu) {
  if (msdu.size() != msdu_bytes(request)) {
    fail("a packet of " + std::to_string(msdu.size()) + " bytes was given for an MPDU of " + std::to_string(request.mpdu_bytes));
  }
  descriptor_ = true;
  request_ = request;
  packets_.push_back({tag, request.four_address, {msdu.begin(), msdu.end()}});
}

void bytes_node::tell(const medium_summary& summary) { put_summary(model_->pins, summary); }

// ---- Clocks

/// One clock of the model.
neighbour_snapshot bytes_node::take_neighbour(std::uint8_t slot, std::uint8_t bin) {
  model_->pins.nbr_take = 1;
  model_->pins.nbr_index = slot;
  model_->pins.nbr_bin = bin;
  step(0);
  model_->pins.nbr_take = 0;
  return snapshot_of(model_->pins);
}

void bytes_node::step(std::uint32_t ticks) {
  take_what_comes();
  model_->pins.tick_n = ticks;
  model_->pins.clk = 1;
  model_->top.eval();
  model_->pins.clk = 0;
  model_->top.eval();
  if (++clocks_ > clock_limit) fail("the MAC does not settle");
  see_what_begins();
}

/// Bytes and words that this clock hands over.
void bytes_node::take_what_comes() {
  if (model_->pins.phy_tx_valid != 0) {
    event& frame = open(kind::frame);
    frame.bytes.push_back(model_->pins.phy_tx_data);
    if (model_->pins.phy_tx_last != 0) {
      check_sent(frame);
      frame.complete = true;
    }
  }
  if (model_->pins.m_axis_rx_tvalid != 0) {
    event& delivery = open(kind::delivery);
    if (model_->pins.m_axis_rx_tkeep != 0) delivery.bytes.push_back(model_->pins.m_axis_rx_tdata);
    if (model_->pins.m_axis_rx_tlast != 0) {
      check_delivered(delivery);
      delivery.complete = true;
    }
  }
  if (model_->pins.m_done_tvalid != 0) {
    event& completion = open(kind::completion);
    if (completion.words_come == completion.words.size()) fail("a completion record is too long");
    completion.words[completion.words_come++] = model_->pins.m_done_tdata;
    if (model_->pins.m_done_tlast != 0) {
      if (completion.words_come != completion.words.size()) fail("a completion record is too short");
      completion.complete = true;
    }
  }
}

/// In the order of core_node's outputs: what mac_core says in one clock is told in this order.
void bytes_node::see_what_begins() {
  const bool done = model_->pins.mac_bytes_pins__DOT__u_mac_bytes__DOT__done_valid != 0;
  if (done) {
    if (packets_.empty()) fail("a packet is done that was not given");
    packets_.pop_front();
  }
  if (model_->pins.mac_bytes_pins__DOT__u_mac_bytes__DOT__rx_deliver != 0) begin(kind::delivery);
  if (done) begin(kind::completion);
  if (model_->pins.phy_tx_start != 0) {
    event& frame = begin(kind::frame);
    frame.rate_index = model_->pins.phy_tx_rate;
    frame.told_bytes = model_->pins.phy_tx_bytes;
    frame.airtime_us = model_->pins.phy_tx_airtime_us;
    frame.sequence = model_->pins.mac_bytes_pins__DOT__u_mac_bytes__DOT__tx_sequence;
    frame.tag = packets_.empty() ? 0 : packets_.front().tag;
    frame.bytes.reserve(frame.told_bytes);
    receiving_ = false;  // the radio is busy with this
  }
  if (model_->pins.stat_tx_refused != 0) fail("a packet was refused");
  if (model_->pins.stat_rx_overflow != 0) fail("a received frame was lost for want of room");
  if (model_->pins.stat_done_overflow != 0) fail("a completion record was lost for want of room");
}

bytes_node::event& bytes_node::begin(kind what) {
  events_.push_back({.what = what, .room = room(packets_.size(), model_->pins.mac_bytes_pins__DOT__u_mac_bytes__DOT__done_valid != 0)});
  return events_.back();
}

bytes_node::event& bytes_node::open(kind what) {
  const auto found = std::find_if(events_.begin(), events_.end(), [&](const event& each) { return each.what == what && !each.complete; });
  if (found == events_.end()) fail("bytes came of nothing that had begun");
  return *found;
}

/// Whether a core_node would take one more packet. The head of line leaves the queue in the clock after its forerunner is done.
bool bytes_node::room(std::size_t packets, bool head_still_waits) const {
  const std::size_t waiting = packets - (packets != 0 && !head_still_waits ? 1 : 0);
  return waiting < core_queue_depth;
}

std::uint32_t bytes_node::clock(std::uint32_t ticks) {
  clocks_ = 0;
  happened_ = kind::nothing;
  if (!events_.empty()) {
    assert(ticks == 0 && !start_ && end_ == end::none && !reserve_ && !descriptor_);
    while (!events_.front().complete) step(0);
    now_ = std::move(events_.front());
    events_.pop_front();
    happened_ = now_.what;
    return clocks_;
  }

  // A frame's bytes come before its end, and before the time that passes until then.
  if (end_ != end::none && receiving_) {
    bool error = false;
    if (end_ == end::good) {
      give_frame(rx_psdu_);
    } else {
      damaged_ = rx_psdu_;
      error = damage_frame(damaged_, seed_, rx_frame_.id, node_);
      give_frame(damaged_);
    }
    model_->pins.phy_rx_error = error;
  }
  model_->pins.phy_cca_busy = carrier_;
  model_->pins.phy_rx_start = start_;
  if (start_) {
    model_->pins.phy_rx_rate = rx_frame_.rate_index;
    model_->pins.phy_rx_bytes = static_cast<std::uint16_t>(rx_psdu_.size());
  }
  model_->pins.phy_rx_end = end_ != end::none;
  model_->pins.phy_rx_rssi_dbm = static_cast<std::uint8_t>(rx_dbm_);
  step(ticks);
  tell({});
  model_->pins.phy_rx_start = 0;
  model_->pins.phy_rx_end = 0;
  model_->pins.phy_rx_error = 0;
  if (end_ != end::none) receiving_ = false;
  if (reserve_) hear_reservation();
  if (descriptor_) give_packet();
  start_ = reserve_ = descriptor_ = false;
  end_ = end::none;
  return clocks_;
}

void bytes_node::give_frame(byte_span psdu) {
  model_->pins.phy_rx_valid = 1;
  for (const std::uint8_t byte : psdu) {
    model_->pins.phy_rx_data = byte;
    step(0);
  }
  model_->pins.phy_rx_valid = 0;
}

/// ns-2's capture() sets the NAV without a frame. Here it needs one, which the deframer hears between header and bytes of
/// the frame that it is receiving.
void bytes_node::hear_reservation() {
  std::vector<std::uint8_t> frame(cts_bytes);
  frame[0] = reserved_control;
  frame[2] = static_cast<std::uint8_t>(reserve_us_);
  frame[3] = static_cast<std::uint8_t>(reserve_us_ >> 8);
  const std::uint32_t fcs = crc32_ieee(byte_span(frame).first(cts_bytes - fcs_bytes));
  for (unsigned index = 0; index < fcs_bytes; ++index) frame[cts_bytes - fcs_bytes + index] = static_cast<std::uint8_t>(fcs >> (8 * index));
  model_->pins.phy_rx_start = 1;
  model_->pins.phy_rx_rate = 0;
  model_->pins.phy_rx_bytes = static_cast<std::uint16_t>(frame.size());
  step(0);
  model_->pins.phy_rx_start = 0;
  give_frame(frame);
  model_->pins.phy_rx_end = 1;
  step(0);
  model_->pins.phy_rx_end = 0;
  step(0);
  if (!receiving_) return;
  model_->pins.phy_rx_start = 1;
  model_->pins.phy_rx_rate = rx_frame_.rate_index;
  model_->pins.phy_rx_bytes = static_cast<std::uint16_t>(rx_psdu_.size());
  step(0);
  model_->pins.phy_rx_start = 0;
}

void bytes_node::give_packet() {
  const packet& given = packets_.back();
  const bool group = (request_.ra >> group_address_bit & 1) != 0;
  const bool long_enough = request_.mpdu_bytes > rts_threshold_bytes_;
  if (long_enough && !request_.use_rts && !group) fail("a packet above the RTS threshold was to go without RTS");
  model_->pins.s_desc_valid = 1;
  model_->pins.s_desc_ra = request_.ra;
  model_->pins.s_desc_four_address = request_.four_address;
  model_->pins.s_desc_a3 = request_.destination;
  model_->pins.s_desc_a4 = request_.source;
  model_->pins.s_desc_peer = request_.peer;
  model_->pins.s_desc_bytes = static_cast<std::uint16_t>(given.msdu.size());
  model_->pins.s_desc_rate = request_.rate_index;
  model_->pins.s_desc_force_rts = request_.use_rts && !long_enough;
  model_->pins.s_desc_tag = given.tag;
  model_->top.eval();
  if (model_->pins.s_desc_ready == 0) fail("there is no room for a packet");
  step(0);
  model_->pins.s_desc_valid = 0;
  model_->pins.s_axis_tx_tvalid = 1;
  model_->pins.s_axis_tx_tkeep = 1;
  for (std::size_t index = 0; index < given.msdu.size(); ++index) {
    model_->pins.s_axis_tx_tdata = given.msdu[index];
    model_->pins.s_axis_tx_tlast = index + 1 == given.msdu.size();
    if (model_->pins.s_axis_tx_tready == 0) fail("a packet's bytes are held up");
    step(0);
  }
  model_->pins.s_axis_tx_tvalid = 0;
  model_->pins.s_axis_tx_tlast = 0;
}

// ---- Checks

void bytes_node::check_sent(const event& frame) const {
  const frame_fields parsed = read_frame(frame.bytes);
  if (parsed.kind == frame_kind::other) fail("the framer made a frame that is none of ours");
  if (frame.bytes.size() != frame.told_bytes) {
    fail("the framer made " + std::to_string(frame.bytes.size()) + " bytes of a frame of " + std::to_string(frame.told_bytes));
  }
  if (parsed.kind != frame_kind::data) return;
  const byte_span body = byte_span(frame.bytes).subspan(parsed.header_bytes, frame.bytes.size() - parsed.header_bytes - fcs_bytes);
  if (packets_.empty() || !std::ranges::equal(body, packets_.front().msdu)) fail("a DATA frame does not hold the packet's bytes");
}

void bytes_node::check_delivered(const event& delivery) {
  const frame_fields parsed = read_frame(rx_psdu_);
  const byte_span body = byte_span(rx_psdu_).subspan(parsed.header_bytes, rx_psdu_.size() - parsed.header_bytes - fcs_bytes);
  if (!std::ranges::equal(body, delivery.bytes)) fail("the host got other bytes than were sent");
  rx_status status = unpack_rx_status(model_->pins.m_rx_status.data());
  status.tsf_us = 0;  // of the first bit, by a setting that holds for one of the profile's preambles
  const rx_status right{.tsf_us = 0,
                        .bytes = static_cast<std::uint16_t>(rx_psdu_.size()),
                        .rate = rx_frame_.rate_index,
                        .rssi_dbm = static_cast<std::uint8_t>(rx_dbm_),
                        .fcs_ok = true,
                        .kind = static_cast<std::uint8_t>(parsed.kind),
                        .ra = parsed.ra,
                        .ta = parsed.ta,
                        .a3 = parsed.a3,
                        .a4 = parsed.a4,
                        .sequence = parsed.sequence,
                        .retry = parsed.retry};
  if (status != right) fail("the host got another status than the frame's");
}

// ---- Outputs

bool bytes_node::quiescent() const { return happened_ == kind::nothing && events_.empty() && model_->pins.quiescent != 0; }
std::uint32_t bytes_node::next_timer() const { return model_->pins.next_timer; }
std::uint16_t bytes_node::nav_left_us() const { return model_->pins.nav_left_us; }
bool bytes_node::contending() const { return model_->pins.contending != 0; }
bool bytes_node::sending() const { return model_->pins.sending != 0; }
bool bytes_node::backoff_running() const { return model_->pins.evt_backoff_running[0] != 0; }
std::uint16_t bytes_node::backoff_slots() const { return model_->pins.evt_backoff_slots[0]; }

transmission bytes_node::read_transmission(tick now) const {
  const frame_fields parsed = read_frame(now_.bytes);
  return {.id = 0,
          .node = node_,
          .start = now,
          .end = now + now_.airtime_us,
          .kind = parsed.kind,
          .rate_index = now_.rate_index,
          .psdu_bytes = static_cast<std::uint16_t>(now_.bytes.size()),
          .duration_us = parsed.duration_us,
          .ra = parsed.ra,
          .ta = parsed.ta,
          // An RTS has no number; traces name that of its packet.
          .sequence = parsed.kind == frame_kind::rts ? now_.sequence : parsed.sequence,
          .retry = parsed.retry,
          .tag = parsed.kind == frame_kind::data ? now_.tag : std::uint32_t{0},
          .payload = 0};
}

completion bytes_node::read_completion(tick now) const {
  const completion_record record = decode_completion_record(now_.words);
  return completion_of(record, node_, [now](std::uint32_t low) { return widen(now, low); });
}

}  // namespace perhop::air
