// SPDX-License-Identifier: GPL-2.0-or-later
//
// Every node has a clock of its own; the one whose next sample is due first is given its clocks, again and again. It needs
// only what the others sent before (channel.hpp), so no order of nodes can be seen from outside. Nothing is skipped: a
// receiver hears noise at any time.
//
// A frame is told of when its bytes have gone to the PHY and all that began before it have been told of: in order of their
// starts, but up to a frame late. Its start is the begin of its first chip at the antenna, rounded to a microsecond.
#include "sim/air/samples/samples_air.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/air/frame_fields.hpp"
#include "sim/air/link_table.hpp"
#include "sim/air/node_settings.hpp"
#include "sim/air/samples/channel.hpp"
#include "sim/air/samples/radio_node.hpp"
#include "sim/air/samples/radio_settings.hpp"
#include "sim/air/stopwatch.hpp"

namespace perhop::air::samples {

namespace {

/// Energy detection needs a threshold that noise does not cross, measured over 22 samples.
constexpr double threshold_above_noise_db = 4;

/// The time nearest to `now` whose lower 32 bits are `low`: a node's own clock may be ahead.
tick nearest(tick now, std::uint32_t low) {
  return now + static_cast<tick>(static_cast<std::int64_t>(static_cast<std::int32_t>(low - static_cast<std::uint32_t>(now))));
}

class samples_air final : public air::impl, private radio_listener {
public:
  samples_air(const air_config& config, listener& listener);

  tick next_event() const override { return now_ + 1; }
  void advance(tick until) override;
  bool can_submit(node_id node) const override { return stations_[node].radio.has_room(); }
  void submit(node_id node, const tx_request& request) override;
  void move(node_id node, node_position to, double speed_mps) override;
  void set_blocked(node_id one, node_id other, bool blocked) override { channel_.set_blocked(one, other, blocked); }
  void set_silent(node_id node, bool silent) override { channel_.set_silent(node, silent); }
  bool in_range(node_id from, node_id to) override {
    link_table links(channel_.config());
    return links.row(from, now_)->power_w(to) >= links.sensitivity_w();
  }
  node_position position(node_id node, tick) const override { return channel_.config().nodes[node]; }
  void set_frame_error_rate(double frame_error_rate) override;
  neighbour_snapshot take_neighbour(node_id, std::uint8_t, std::uint8_t) override {
    throw std::logic_error("neighbours of a MAC at fidelity samples can be read from its registers only");
  }
  const air_counters& counters() override;

private:
  struct packet {
    std::uint64_t payload = 0;
    std::uint64_t ra = 0;
  };
  static constexpr std::size_t packet_ring = 16;

  /// A frame between its start and the moment at which it is told of.
  struct sent_frame {
    transmission frame{};
    std::vector<std::uint8_t> psdu{};
    bool complete = false;
  };

  struct station {
    station(VerilatedContext& context, const air_config& config, node_id id) : radio(context, config, id) {}

    radio_node radio;
    double samples = 0;  // that it has had
    sample_time next = 0;
    std::uint16_t next_tag = 0;
    std::array<packet, packet_ring> packets;
    sent_frame* sending = nullptr;
    std::deque<sent_frame> data;  // its newest DATA frames: what a receiver delivers is one of them
  };

  void step(node_id id);
  void tell_of_frames();

  void on_frame_start(node_id node, std::uint8_t rate_index, std::uint16_t bytes, std::uint16_t sequence) override;
  void on_frame_bytes(node_id node, byte_span psdu) override;
  void on_msdu(node_id node, const rx_status& status, byte_span msdu) override;
  void on_record(node_id node, const completion_record& record) override;
  void on_phy(const phy_event& event, unsigned clock) override;

  VerilatedContext context_;  // before the models, which it must outlive
  const timing_profile& profile_;
  listener& listener_;
  channel channel_;
  std::vector<station> stations_;
  std::deque<sent_frame> frames_;  // that began and have not been told of, in order
  std::vector<std::uint8_t> msdu_;
  air_counters counters_;
  sampled_times times_{20'000'000};
};

samples_air::samples_air(const air_config& config, listener& listener)
    : profile_(*config.mac.profile), listener_(listener), channel_(config) {
  const std::string complaint = samples_complaint(config);
  if (!complaint.empty()) throw std::invalid_argument(complaint);
  stations_.reserve(config.nodes.size());
  for (node_id id = 0; id < config.nodes.size(); ++id) {
    stations_.emplace_back(context_, config, id).next = channel_.clock(id).first;
  }
}

void samples_air::advance(tick until) {
  const sample_time end = samples_of_us(static_cast<double>(until));
  const auto earliest = [&] {
    return std::min_element(stations_.begin(), stations_.end(),
                            [](const station& one, const station& other) { return one.next < other.next; });
  };
  for (auto next = earliest(); next->next < end; next = earliest()) {
    now_ = std::max(now_, static_cast<tick>(us_of(next->next)));
    times_.begin();
    step(static_cast<node_id>(next - stations_.begin()));
    times_.end();
  }
  now_ = until;
}

void samples_air::step(node_id id) {
  station& node = stations_[id];
  const converted_sample heard = channel_.receive(id, node.next);
  const bool sampling = times_.sampling();
  const std::uint64_t start = sampling ? stopwatch_now() : 0;
  const std::uint64_t listener_before = times_.listener();
  channel_.send(id, node.radio.step(heard, *this));
  if (sampling) times_.add_rtl(stopwatch_now() - start - (times_.listener() - listener_before));
  node.samples += 1;
  node.next = channel_.clock(id).time_of(node.samples);
}

void samples_air::submit(node_id id, const tx_request& request) {
  assert(can_submit(id));
  station& node = stations_[id];
  const std::uint16_t tag = node.next_tag++;
  node.packets[tag % packet_ring] = {request.payload, request.ra};
  msdu_.clear();
  listener_.write_msdu(id, request, msdu_);
  node.radio.give(request, tag, msdu_);
}

void samples_air::move(node_id node, node_position to, double speed_mps) {
  if (speed_mps != no_time_mps) throw std::logic_error("at fidelity samples nodes are elsewhere at once");
  channel_.set_position(node, to);
}

void samples_air::set_frame_error_rate(double frame_error_rate) {
  if (frame_error_rate != 0) throw std::logic_error("at fidelity samples no frame is lost but by its waveform");
}

const air_counters& samples_air::counters() {
  counters_.clocks = 0;
  for (const station& node : stations_) counters_.clocks += node.radio.clocks();
  counters_.wakes = counters_.clocks / clocks_per_sample;
  counters_.rtl_s = times_.rtl_s();
  counters_.medium_s = times_.medium_s();
  return counters_;
}

// ---- What radios do

void samples_air::on_frame_start(node_id id, std::uint8_t rate_index, std::uint16_t bytes, std::uint16_t sequence) {
  station& node = stations_[id];
  sample_time start = channel_.clock(id).time_of(node.samples + samples_before_first_chip);
  sent_frame& added = frames_.emplace_back();
  node.sending = &added;
  const tick start_us = nearest_tick(start);
  added.frame = {.id = counters_.transmissions++,
                 .node = id,
                 .start = start_us,
                 .end = start_us + airtime_us(profile_, rate_index, bytes),
                 .rate_index = rate_index,
                 .psdu_bytes = bytes,
                 .sequence = sequence,
                 .tag = node.radio.tag_in_service()};
  listener_.on_phy({.kind = phy_event::what::tx_start, .node = id, .time_us = us_of(start), .rate_index = rate_index, .bytes = bytes});
}

void samples_air::on_frame_bytes(node_id id, byte_span psdu) {
  station& node = stations_[id];
  assert(node.sending != nullptr);
  sent_frame& sent = *node.sending;
  node.sending = nullptr;
  transmission& frame = sent.frame;
  const frame_fields fields = read_frame(psdu);
  if (fields.kind == frame_kind::other || psdu.size() != frame.psdu_bytes) {
    throw std::logic_error("node " + std::to_string(id) + ": a frame was sent that is none of ours");
  }
  frame.kind = fields.kind;
  frame.duration_us = fields.duration_us;
  frame.ra = fields.ra;
  frame.ta = fields.ta;
  // An RTS has no number; traces name that of its packet.
  if (fields.kind != frame_kind::rts) frame.sequence = fields.sequence;
  frame.retry = fields.retry;
  if (fields.kind != frame_kind::data) frame.tag = 0;
  if (fields.kind == frame_kind::data) frame.payload = node.packets[frame.tag % packet_ring].payload;
  sent.psdu.assign(psdu.begin(), psdu.end());
  sent.complete = true;
  if (fields.kind == frame_kind::data) {
    node.data.push_back(sent);
    if (node.data.size() > packet_ring) node.data.pop_front();
  }
  tell_of_frames();
}

void samples_air::tell_of_frames() {
  while (!frames_.empty() && frames_.front().complete) {
    const sent_frame sent = std::move(frames_.front());
    frames_.pop_front();
    listener_.on_transmission(sent.frame);
    listener_.on_frame_bytes(sent.frame, sent.psdu);
  }
}

void samples_air::on_msdu(node_id id, const rx_status& status, byte_span msdu) {
  const auto unknown = [&](const std::string& what) { throw std::logic_error("node " + std::to_string(id) + ": the host got " + what); };
  const std::uint64_t sender = status.ta - node_address_base - 1;
  if (sender >= stations_.size()) unknown("a packet of a node that is not there");
  const std::deque<sent_frame>& data = stations_[sender].data;
  const auto found =
      std::find_if(data.rbegin(), data.rend(), [&](const sent_frame& sent) { return sent.frame.sequence == status.sequence; });
  if (found == data.rend()) unknown("a packet that nobody sent");
  const std::size_t header_bytes = read_frame(found->psdu).header_bytes;
  const byte_span body = byte_span(found->psdu).subspan(header_bytes, found->psdu.size() - header_bytes - fcs_bytes);
  if (!std::ranges::equal(body, msdu)) unknown("other bytes than were sent");
  listener_.on_delivery(now_, id, found->frame);
}

void samples_air::on_record(node_id id, const completion_record& record) {
  completion done = completion_of(record, id, [this](std::uint32_t low) { return nearest(now_, low); });
  const packet& of = stations_[id].packets[record.tag % packet_ring];
  done.payload = of.payload;
  done.ra = of.ra;
  listener_.on_completion(now_, done);
}

void samples_air::on_phy(const phy_event& event, unsigned clock) {
  phy_event timed = event;
  const node_clock& of = channel_.clock(event.node);
  timed.time_us = us_of(of.time_of(stations_[event.node].samples + static_cast<double>(clock) / clocks_per_sample));
  listener_.on_phy(timed);
}

}  // namespace

std::string samples_complaint(const air_config& config) {
  const mac_config& mac = config.mac;
  const timing_profile& profile = *mac.profile;
  if (profile.name != "dsss_long" && profile.name != "dsss_short") {
    return "mac.profile: fidelity samples has a DSSS PHY; give dsss_long or dsss_short, or another mac.fidelity";
  }
  if (profile.rates[mac.data_rate_index].bps > 2'000'000) {
    return "mac.data_rate_index: the DSSS PHY of fidelity samples sends 1 and 2 Mb/s; give 0 or 1";
  }
  for (std::size_t index = 0; index < mac.link_rates.size(); ++index) {
    if (profile.rates[mac.link_rates[index].data_rate_index].bps <= 2'000'000) continue;
    return "links[" + std::to_string(index) + "].data_rate_index: the DSSS PHY of fidelity samples sends 1 and 2 Mb/s; give 0 or 1";
  }
  if (config.medium.frame_error_rate != 0) {
    return "medium.frame_error_rate: at fidelity samples no frame is lost but by its waveform; give 0";
  }
  const double noise_dbm = receiver_noise_dbm(config.medium), threshold_dbm = energy_threshold_dbm(config.medium);
  if (threshold_dbm < noise_dbm + threshold_above_noise_db) {
    return "medium.cs_range_m: what arrives from there, " + std::to_string(static_cast<int>(std::lround(threshold_dbm))) +
           " dBm, is no more than 4 dB above the receiver's noise, " + std::to_string(static_cast<int>(std::lround(noise_dbm))) +
           " dBm, which would be heard as carrier; give a smaller range, more medium.tx_power_dbm, or less noise "
           "(medium.noise_dbm, medium.samples.noise_figure_db)";
  }
  return {};
}

std::unique_ptr<air::impl> make_samples_air(const air_config& config, listener& listener) {
  return std::make_unique<samples_air>(config, listener);
}

}  // namespace perhop::air::samples
