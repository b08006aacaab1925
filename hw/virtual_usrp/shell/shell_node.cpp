// SPDX-License-Identifier: GPL-2.0-or-later
//
// Only rising edges are evaluated for their own sake. A clock falls with the next edge of another one, or by itself where there is none
// before it rises again: nothing here happens in a falling edge.
#include "hw/virtual_usrp/shell/shell_node.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "Vshell_top.h"
#include "verilated.h"

namespace perhop::virtual_usrp {

namespace {

enum clock_number { host, mac, radio };
constexpr double host_mhz = 10, mac_mhz = 60;
constexpr unsigned reset_samples = 64, settle_samples = 256;
/// The control port takes the next request so many clocks after an answer.
constexpr unsigned clocks_between_accesses = 4;

std::uint64_t period_ps(double mhz) { return static_cast<std::uint64_t>(std::llround(1e6 / mhz)); }

std::uint32_t word_of(sample of) {
  return static_cast<std::uint32_t>(static_cast<std::uint16_t>(of.i)) << 16 | static_cast<std::uint16_t>(of.q);
}

}  // namespace

struct shell_node::model {
  VerilatedContext context;
  Vshell_top top{&context};
  CData* clock[clocks] = {&top.host_clk, &top.mac_clk, &top.radio_clk};
};

shell_node::shell_node(double samples_per_us)
    : model_(std::make_unique<model>()), period_ps_{period_ps(host_mhz), period_ps(mac_mhz), period_ps(samples_per_us)} {
  auto& top = model_->top;
  top.host_rst = 1;
  top.radio_rx_stb = top.radio_tx_stb = 1;
  for (unsigned count = 0; count < reset_samples; ++count) step({});
  top.host_rst = 0;
  for (unsigned count = 0; count < settle_samples; ++count) step({});
}

shell_node::~shell_node() = default;
shell_node::shell_node(shell_node&&) noexcept = default;

sample shell_node::step(sample heard, std::optional<sample> other) {
  for (;;) {
    switch (std::ranges::min_element(next_ps_) - next_ps_) {
      case host:
        host_edge();
        break;
      case mac:
        rise(mac);
        break;
      default:
        return radio_edge(heard, other);
    }
  }
}

/// Whoever has been high for half of its period falls with the next evaluation.
void shell_node::let_fall(std::uint64_t now_ps) {
  for (std::size_t each = 0; each < clocks; ++each) {
    CData& clock = *model_->clock[each];
    if (clock != 0 && next_ps_[each] - period_ps_[each] / 2 <= now_ps) clock = 0;
  }
}

/// The clock is low, and all that hangs on what was set since its last edge has its value.
void shell_node::settle(std::size_t number) {
  if (!is_high_[number]) return;
  *model_->clock[number] = 0;
  evaluate();
}

void shell_node::rise(std::size_t number) {
  settle(number);
  const std::uint64_t now_ps = next_ps_[number];
  model_->context.time(now_ps);
  let_fall(now_ps);
  *model_->clock[number] = 1;
  evaluate();
  next_ps_[number] += period_ps_[number];
}

void shell_node::evaluate() {
  model_->top.eval();
  for (std::size_t each = 0; each < clocks; ++each) is_high_[each] = *model_->clock[each] != 0;
}

sample shell_node::radio_edge(sample heard, std::optional<sample> other) {
  auto& top = model_->top;
  settle(radio);
  // What the port shows until this edge is what the converter takes with it.
  sends_ = top.radio_tx_running != 0;
  const std::uint32_t word = sends_ ? top.radio_tx_data : 0;
  top.radio_rx_data = word_of(heard);
  top.radio_time = ticks_++;
  top.other_tx_running = other.has_value();
  top.other_tx_data = word_of(other.value_or(sample{}));
  rise(radio);
  return {static_cast<std::int16_t>(word >> 16), static_cast<std::int16_t>(word & 0xFFFF)};
}

void shell_node::host_edge() {
  auto& top = model_->top;
  settle(host);
  // What both sides agree on in the rising edge is what they show before it.
  const bool taken = top.s_packet_tvalid && top.s_packet_tready;
  const bool given = top.m_packet_tvalid && top.m_packet_tready;
  const bool last = top.m_packet_tlast, ends_burst = top.m_packet_tends;
  const std::uint32_t word = top.m_packet_tdata;
  const std::optional<std::uint64_t> ticks = top.m_packet_thas_time ? std::optional<std::uint64_t>(top.m_packet_ttimestamp) : std::nullopt;
  rise(host);
  if (taken && ++at_ == to_mac_.front().words.size()) {
    to_mac_.pop_front();
    at_ = 0;
  }
  if (given) {
    coming_.push_back(word);
    if (last) come_.push_back({.words = std::exchange(coming_, {}), .ends_burst = ends_burst, .ticks = ticks});
  }
  if (asked_ && top.s_ctrlport_resp_ack) {
    answers_.push_back({accesses_.front().tag, top.s_ctrlport_resp_status, top.s_ctrlport_resp_data});
    accesses_.pop_front();
    asked_ = false;
    pause_ = clocks_between_accesses;
  }
  drive_host();
}

/// What the host shows for the next rising edge.
void shell_node::drive_host() {
  auto& top = model_->top;
  top.s_ctrlport_req_wr = top.s_ctrlport_req_rd = 0;
  if (pause_ != 0) {
    --pause_;
  } else if (!asked_ && !accesses_.empty() && !top.host_rst) {
    const access& next = accesses_.front();
    top.s_ctrlport_req_addr = next.address;
    top.s_ctrlport_req_data = next.word;
    (next.write ? top.s_ctrlport_req_wr : top.s_ctrlport_req_rd) = 1;
    asked_ = true;
  }
  top.m_packet_tready = host_takes_;
  top.s_packet_tvalid = !to_mac_.empty();
  if (!to_mac_.empty()) {
    top.s_packet_tdata = to_mac_.front().words[at_];
    top.s_packet_tlast = at_ + 1 == to_mac_.front().words.size();
    top.s_packet_tends = to_mac_.front().ends_burst;
    top.s_packet_tlength = to_mac_.front().bytes;
  }
}

void shell_node::give(const std::vector<std::uint8_t>& packet, bool ends_burst) {
  if (packet.empty()) return;
  given next{std::vector<std::uint32_t>((packet.size() + 3) / 4), static_cast<std::uint16_t>(packet.size()), ends_burst};
  std::memcpy(next.words.data(), packet.data(), packet.size());
  to_mac_.push_back(std::move(next));
}

std::vector<shell_node::answer> shell_node::take_answers() { return std::exchange(answers_, {}); }

std::vector<shell_node::to_host> shell_node::take_packets() { return std::exchange(come_, {}); }

}  // namespace perhop::virtual_usrp
