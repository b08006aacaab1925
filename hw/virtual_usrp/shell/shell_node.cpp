// SPDX-License-Identifier: GPL-2.0-or-later
#include "hw/virtual_usrp/shell/shell_node.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "Vshell_top.h"
#include "verilated.h"

namespace perhop::virtual_usrp {

namespace {

enum which { host, mac, radio };
constexpr double host_mhz = 50, mac_mhz = 60;
constexpr unsigned reset_samples = 64, settle_samples = 256;
/// The control port takes the next request so many clocks after an answer.
constexpr unsigned clocks_between_accesses = 4;

std::uint64_t half_period_ps(double mhz) { return static_cast<std::uint64_t>(std::llround(0.5e6 / mhz)); }

std::uint32_t word_of(sample of) {
  return static_cast<std::uint32_t>(static_cast<std::uint16_t>(of.i)) << 16 | static_cast<std::uint16_t>(of.q);
}

}  // namespace

struct shell_node::model {
  VerilatedContext context;
  Vshell_top top{&context};
};

shell_node::shell_node(double samples_per_us)
    : model_(std::make_unique<model>()), half_ps_{half_period_ps(host_mhz), half_period_ps(mac_mhz), half_period_ps(samples_per_us)} {
  auto& top = model_->top;
  top.host_rst = 1;
  top.m_packet_tready = 1;
  top.radio_rx_stb = top.radio_tx_stb = 1;
  for (unsigned count = 0; count < reset_samples; ++count) step({});
  top.host_rst = 0;
  for (unsigned count = 0; count < settle_samples; ++count) step({});
}

shell_node::~shell_node() = default;
shell_node::shell_node(shell_node&&) noexcept = default;

sample shell_node::step(sample heard) {
  heard_ = heard;
  for (sampled_ = false; !sampled_;) next_clock() == host ? host_edge() : edge();
  return sent_;
}

std::ptrdiff_t shell_node::next_clock() const { return std::ranges::min_element(next_ps_) - next_ps_; }

void shell_node::edge() {
  auto& top = model_->top;
  const auto next = next_clock();
  model_->context.time(next_ps_[next]);
  next_ps_[next] += half_ps_[next];
  if (next == host) top.host_clk = !top.host_clk;
  if (next == mac) top.mac_clk = !top.mac_clk;
  if (next == radio) {
    top.radio_clk = !top.radio_clk;
    if (top.radio_clk) {
      // What the port shows until this edge is what the converter takes with it.
      const std::uint32_t word = top.radio_tx_running ? top.radio_tx_data : 0;
      sent_ = {static_cast<std::int16_t>(word >> 16), static_cast<std::int16_t>(word & 0xFFFF)};
      sampled_ = true;
    } else {
      top.radio_rx_data = word_of(heard_);
    }
  }
  top.eval();
}

void shell_node::host_edge() {
  auto& top = model_->top;
  if (top.host_clk) {
    edge();
    drive_host();
    return;
  }
  // What both sides agree on in the rising edge is what they show before it.
  const bool taken = top.s_packet_tvalid && top.s_packet_tready;
  const bool given = top.m_packet_tvalid && top.m_packet_tready;
  const bool last = top.m_packet_tlast;
  const std::uint32_t word = top.m_packet_tdata;
  edge();
  if (taken && ++at_ == to_mac_.front().words.size()) {
    to_mac_.pop_front();
    at_ = 0;
  }
  if (given) {
    coming_.push_back(word);
    if (last) come_.push_back(std::exchange(coming_, {}));
  }
  if (asked_ && top.s_ctrlport_resp_ack) {
    answers_.push_back({accesses_.front().tag, top.s_ctrlport_resp_status, top.s_ctrlport_resp_data});
    accesses_.pop_front();
    asked_ = false;
    pause_ = clocks_between_accesses;
  }
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
  top.s_packet_tvalid = !to_mac_.empty();
  if (!to_mac_.empty()) {
    top.s_packet_tdata = to_mac_.front().words[at_];
    top.s_packet_tlast = at_ + 1 == to_mac_.front().words.size();
    top.s_packet_tlength = to_mac_.front().bytes;
  }
  top.eval();
}

void shell_node::give(const std::vector<std::uint8_t>& packet) {
  if (packet.empty()) return;
  given next{std::vector<std::uint32_t>((packet.size() + 3) / 4), static_cast<std::uint16_t>(packet.size())};
  std::memcpy(next.words.data(), packet.data(), packet.size());
  to_mac_.push_back(std::move(next));
}

std::vector<shell_node::answer> shell_node::take_answers() { return std::exchange(answers_, {}); }

std::vector<std::vector<std::uint32_t>> shell_node::take_packets() { return std::exchange(come_, {}); }

}  // namespace perhop::virtual_usrp
