// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/medium.hpp"

#include <cassert>
#include <utility>

#include "sim/air/loss_model.hpp"
#include "sim/air/reception_ns2.hpp"
#include "sim/air/reception_sinr.hpp"

namespace perhop::air {

namespace {

std::unique_ptr<reception> make_reception(const air_config& config, const link_table& links) {
  const medium_config& settings = config.medium;
  const frame_errors errors(config.seed, settings.frame_error_rate);
  if (settings.reception == reception_kind::ns2) {
    const bool nav_on_capture = config.mac.compatibility == mac_compatibility::ns2;
    return std::make_unique<reception_ns2>(config.nodes.size(), links.sensitivity_w(), ratio_from_db(settings.capture_ratio_db),
                                           nav_on_capture ? static_cast<std::uint16_t>(config.mac.profile->eifs_us) : 0, errors);
  }
  reception_sinr::settings sinr{.sensitivity_w = links.sensitivity_w(),
                                .carrier_sense_w = links.carrier_sense_w(),
                                .noise_w = links.noise_w(),
                                .threshold_ratio = {},
                                .relock_ratio = {}};
  for (const double threshold_db : settings.sinr_threshold_db) sinr.threshold_ratio.push_back(ratio_from_db(threshold_db));
  if (settings.relock_ratio_db) sinr.relock_ratio = ratio_from_db(*settings.relock_ratio_db);
  return std::make_unique<reception_sinr>(config.nodes.size(), std::move(sinr), errors);
}

}  // namespace

medium::medium(const air_config& config)
    : seed_(config.seed),
      links_(config),
      board_(config.nodes.size()),
      reception_(make_reception(config, links_)),
      rates_(config.mac.profile->rates),
      wants_rx_start_(config.nodes.size(), true),
      wanting_(config.nodes.size()) {}

void medium::set_frame_error_rate(double frame_error_rate) { reception_->set_frame_errors({seed_, frame_error_rate}); }

frame_slot medium::start(const transmission& frame, byte_span psdu) {
  assert(frame.end > frame.start);
  frame_slot slot;
  if (free_slots_.empty()) {
    slot = static_cast<frame_slot>(flights_.size());
    flights_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  flight& flight = flights_[slot];
  flight.frame = frame;
  flight.airtime_us = static_cast<std::uint16_t>(frame.end - frame.start);
  flight.row = links_.row(frame.node, frame.start);
  flight.next_start = flight.next_end = 0;
  if (!psdu.empty()) flight.psdu.assign(psdu.begin(), psdu.end());
  reception_->node_transmits(frame.node, frame.end);
  if (losses_) losses_->node_transmits(frame.node, frame.end);
  if (flight.row->groups().empty()) {
    landed_.push_back(slot);
  } else {
    push(next_arrival(slot));
  }
  return slot;
}

void medium::process(tick now) {
  for (const frame_slot slot : landed_) flights_[slot].row.reset();
  free_slots_.insert(free_slots_.end(), landed_.begin(), landed_.end());
  landed_.clear();
  while (!events_.empty() && events_.front().key >> phase_bits == now) {
    const event first = events_.front();
    if ((first.key & ((1U << phase_bits) - 1)) == phase_header) {
      remove_first();
      if (reception_->locked(first.node) == first.slot && reception_->header_good(first.node)) board_.start_frame(first.node, first.slot);
    } else {
      arrive(now, first);
    }
  }
}

medium::event medium::next_arrival(frame_slot slot) const {
  const flight& flight = flights_[slot];
  const auto groups = flight.row->groups();
  const tick end_at = flight.frame.end + groups[flight.next_end].delay;
  const auto serial = static_cast<std::uint32_t>(flight.frame.id);
  if (flight.next_start < groups.size()) {
    const tick start_at = flight.frame.start + groups[flight.next_start].delay;
    if (start_at < end_at) return {start_at << phase_bits | phase_start, serial, 0, slot};
  }
  return {end_at << phase_bits | phase_end, serial, 0, slot};
}

void medium::arrive(tick now, const event& event) {
  flight& flight = flights_[event.slot];
  const auto groups = flight.row->groups();
  const bool starts = (event.key & ((1U << phase_bits) - 1)) == phase_start;
  const link_group& group = groups[starts ? flight.next_start++ : flight.next_end++];
  const auto receivers = flight.row->members(group);
  const incoming_frame incoming{event.slot,        flight.frame.id,         flight.frame.end + group.delay,
                                flight.airtime_us, flight.frame.rate_index, flight.frame.kind == frame_kind::data};
  if (flight.next_end == groups.size()) {
    landed_.push_back(event.slot);
    remove_first();
  } else {
    replace_first(next_arrival(event.slot));
  }

  if (!starts) {
    reception_->frame_ends(now, incoming, receivers, board_);
    if (losses_) losses_->frame_ends(flight.frame, event.slot, receivers, board_);
    if (overheard_) tell_overheard(flight.frame, event.slot, receivers);
    return;
  }
  reception_->frame_starts(now, incoming, receivers, board_);
  if (losses_) losses_->frame_starts(now, flight.frame, receivers);
  if (wanting_ == 0 || preamble_us(flight) >= flight.airtime_us) return;
  for (const link& to : receivers) {
    if (wants_rx_start_[to.node] && reception_->locked(to.node) == event.slot) {
      push({(now + preamble_us(flight)) << phase_bits | phase_header, event.serial, to.node, event.slot});
    }
  }
}

void medium::tell_overheard(const transmission& frame, frame_slot slot, std::span<const link> receivers) {
  if (frame.kind != frame_kind::data || (frame.ra >> group_address_bit & 1) != 0) return;
  for (const link& to : receivers) {
    const indication& news = board_[to.node];
    if (news.rx_end && news.rx_slot == slot && news.rx_ok && frame.ra != mac_address(to.node)) overheard_(to.node, frame);
  }
}

void medium::set_wants_rx_start(node_id node, bool wants, tick now) {
  if (wants_rx_start_[node] == wants) return;
  wants_rx_start_[node] = wants;
  wanting_ += wants ? 1 : -1;
  const frame_slot slot = reception_->locked(node);
  if (!wants || slot == no_frame) return;
  const flight& flight = flights_[slot];
  if (preamble_us(flight) >= flight.airtime_us) return;
  const tick header_at = flight.frame.start + flight.row->delay(node) + preamble_us(flight);
  if (header_at > now) {
    push({header_at << phase_bits | phase_header, static_cast<std::uint32_t>(flight.frame.id), node, slot});
  }
}

void medium::push(const event& event) {
  std::size_t index = events_.size();
  events_.push_back(event);
  while (index > 0) {
    const std::size_t parent = (index - 1) / 2;
    if (!(event < events_[parent])) break;
    events_[index] = events_[parent];
    index = parent;
  }
  events_[index] = event;
}

void medium::replace_first(const event& event) {
  events_.front() = event;
  sift_down(0);
}

void medium::remove_first() {
  events_.front() = events_.back();
  events_.pop_back();
  if (!events_.empty()) sift_down(0);
}

void medium::sift_down(std::size_t index) {
  const event moving = events_[index];
  const std::size_t size = events_.size();
  for (;;) {
    std::size_t child = 2 * index + 1;
    if (child >= size) break;
    if (child + 1 < size && events_[child + 1] < events_[child]) ++child;
    if (!(events_[child] < moving)) break;
    events_[index] = events_[child];
    index = child;
  }
  events_[index] = moving;
}

}  // namespace perhop::air
