// SPDX-License-Identifier: GPL-2.0-or-later
//
// It is one file because all of it works on the one table of flows: who joins, what each gets, and when it is forgotten.

#include "host/core/policy/exact_router.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "host/core/policy/time.hpp"

namespace perhop::policy {

namespace {

/// Effective bandwidth is stated for IP packets of this size.
constexpr std::uint32_t reference_ip_bytes = 1500;
constexpr std::uint32_t reference_mpdu_bytes = reference_ip_bytes + mac_header_bytes + llc_snap_bytes + path_header_bytes + fcs_bytes;

constexpr double smoothing = 1.0 / 8;             // of packet size and gap
constexpr double short_of_offer = 0.95;           // uses less than this share of what it is offered
constexpr double limited_probe = 1.05;            // offered above what a limited flow uses
constexpr double growing_probe = 1.25;            // and once it took that
constexpr double took_offer = 1.005;              // it uses more than this share of what it used before
constexpr double raise_limit = 1.5;               // allocations grow by this factor an interval at most
constexpr double changed_bandwidth_share = 0.10;  // of a next hop: allocate again
constexpr double risen_limit = 0.02;              // of a flow that its limit held back: allocate again
constexpr double told_change = 0.03;              // of what hellos say of a flow: smaller ones are not told
constexpr double cost_intervals = 32;             // time constant of M1's costs
constexpr double max_drain = 0.3;                 // share of an allocation that a standing queue can take
constexpr double least_budget_share = 0.1;        // of eta, that other traffic cannot take
constexpr std::uint64_t grace_intervals = 4;      // a flow may lag behind its offer for so long
constexpr std::uint64_t max_idle_us = 5'000'000;
constexpr std::uint64_t stale_us = 2'000'000;          // an estimate without completions for longer ...
constexpr double stale_half_life_us = 1'000'000;       // ... returns to the idle medium's
constexpr std::uint64_t early_allocation_us = 10'000;  // least time between allocations for a changed next hop
constexpr std::uint8_t drops_until_lost = 8;           // hidden nodes make a MAC give up three packets in a row now and then
constexpr std::uint32_t prompt_allocations = 64;       // an interval, for flows that come and go
constexpr std::size_t max_told_flows = 100;            // of this node, in a hello
constexpr double least_usable_share = 0.90;            // of eta
constexpr double usable_rise_s = 30;                   // time constant, where nothing speaks against it
constexpr double queue_cost_per_s = 0.30;              // of usable channel time, of a queue that takes max_drain
constexpr double give_up_cost_per_s = 1.50;            // the same where every frame is given up
constexpr double told_usable_step = 0.02;              // smaller changes are not told
constexpr double told_busy_step = 0.005;               // the same of other traffic
constexpr double hello_savings_us = 10'000'000;        // a router without anything to say saves its part of so much time

constexpr std::size_t first_buckets = 16;

constexpr std::uint32_t ledger_flow_of(std::uint64_t flow) { return static_cast<std::uint32_t>(flow); }

/// A limit as the ledger takes it.
std::uint64_t ledger_rate_bps(double rate_bps) {
  return rate_bps >= static_cast<double>(wire::unlimited_rate_bps) ? wire::unlimited_rate_bps : static_cast<std::uint64_t>(rate_bps);
}

}  // namespace

exact_router::exact_router(const exact_router_config& config)
    : config_(config),
      delays_((assert(config.profile != nullptr), *config.profile), config.rts_threshold_bytes),
      neighbourhood_(config.neighbourhood),
      mask_(first_buckets - 1),
      buckets_(first_buckets, none),
      usable_share_(config.eta),
      told_usable_share_(usable_share_) {}

// ---- Table of flows

// Identities are hashes already; the multiplication spreads what an attacker may have chosen over the upper bits.
std::size_t exact_router::home(std::uint64_t flow) const { return static_cast<std::size_t>(flow * 0x9e3779b97f4a7c15ULL >> 20) & mask_; }

std::uint32_t exact_router::find(std::uint64_t flow) const {
  for (std::size_t bucket = home(flow);; bucket = (bucket + 1) & mask_) {
    const std::uint32_t index = buckets_[bucket];
    if (index == none || states_[index].flow == flow) return index;
  }
}

void exact_router::append_newest(std::uint32_t index) {
  states_[index].older = newest_;
  states_[index].newer = none;
  if (newest_ != none) states_[newest_].newer = index;
  newest_ = index;
  if (oldest_ == none) oldest_ = index;
}

void exact_router::unlink(std::uint32_t index) {
  const allocated_flow& state = states_[index];
  (state.older != none ? states_[state.older].newer : oldest_) = state.newer;
  (state.newer != none ? states_[state.newer].older : newest_) = state.older;
}

std::uint32_t exact_router::insert(std::uint64_t flow) {
  if (size_ >= std::max<std::size_t>(config_.max_flows, 1)) {
    erase(oldest_);
    ++counters_.flows_evicted;
  }
  const std::uint32_t index = free_state();
  states_[index] = allocated_flow{};
  states_[index].flow = flow;
  append_newest(index);
  put_in_bucket(index);
  ++size_;
  return index;
}

std::uint32_t exact_router::free_state() {
  if (!free_.empty()) {
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  const auto index = static_cast<std::uint32_t>(states_.size());
  states_.emplace_back();
  // At most half full, so that probing stays short and always meets an empty bucket.
  if (2 * states_.size() > buckets_.size()) {
    mask_ = 2 * buckets_.size() - 1;
    buckets_.assign(mask_ + 1, none);
    for (std::uint32_t used = 0; used < index; ++used) put_in_bucket(used);
  }
  return index;
}

void exact_router::put_in_bucket(std::uint32_t index) {
  std::size_t bucket = home(states_[index].flow);
  while (buckets_[bucket] != none) bucket = (bucket + 1) & mask_;
  buckets_[bucket] = index;
}

void exact_router::erase(std::uint32_t index) {
  std::size_t hole = home(states_[index].flow);
  while (buckets_[hole] != index) hole = (hole + 1) & mask_;
  // Close the gap: move back every later entry of the run that the hole would cut off from its home bucket.
  for (std::size_t probe = (hole + 1) & mask_; buckets_[probe] != none; probe = (probe + 1) & mask_) {
    const std::size_t wanted = home(states_[buckets_[probe]].flow);
    if (((probe - wanted) & mask_) >= ((probe - hole) & mask_)) {
      buckets_[hole] = buckets_[probe];
      hole = probe;
    }
  }
  buckets_[hole] = none;
  unlink(index);
  free_.push_back(index);
  --size_;
}

// ---- Packets

std::uint64_t exact_router::on_packet(std::uint64_t now_us, const exact_packet& packet) {
  if (packet.current_rate_bps == 0) {
    on_other_packet(now_us, packet);
    return packet.explicit_rate_bps;
  }
  if (packet.peer >= peers_.size()) {
    ++counters_.unknown_peer;
    return packet.explicit_rate_bps;
  }
  ++counters_.packets;
  counters_.zero_rates += packet.explicit_rate_bps == 0 ? 1 : 0;
  std::uint32_t index = find(packet.flow);
  const bool arrived = index == none;
  if (arrived) {
    index = insert(packet.flow);
  } else if (index != newest_) {
    unlink(index);
    append_newest(index);
  }
  allocated_flow& state = states_[index];
  const auto ip_bytes = static_cast<double>(std::max(packet.ip_bytes, 1U));
  if (arrived) {
    state.bytes = ip_bytes;
  } else {
    const auto gap_us = static_cast<double>(now_us - state.last_seen_us);
    state.gap_us = state.gap_us == 0 ? gap_us : state.gap_us + smoothing * (gap_us - state.gap_us);
    state.bytes += smoothing * (ip_bytes - state.bytes);
  }
  const bool moved = !arrived && (state.peer != packet.peer || state.rate_index != packet.rate_index);
  if (moved) {
    // Another next hop: what it did over the old one says nothing, and it gets its share at once.
    state.cost_s_per_bit = 0;
    state.short_since_us = 0;
    state.state = demand::open;
    state.fresh = true;
  }
  state.last_seen_us = now_us;
  state.mpdu_overhead_bytes = static_cast<double>(packet.mpdu_bytes > packet.ip_bytes ? packet.mpdu_bytes - packet.ip_bytes : 0);
  state.current_bps = static_cast<double>(packet.current_rate_bps);
  state.arrived_bps = static_cast<double>(packet.explicit_rate_bps);
  state.weight = packet.weight > 0 ? packet.weight : 1;
  state.peer = packet.peer;
  state.rate_index = packet.rate_index < config_.profile->rates.size() ? packet.rate_index : std::uint8_t{0};
  note_use(state, now_us);
  if (arrived || moved) {
    allocate_promptly(now_us);
  } else if (state.at_limit && limit_bps(state) > (1 + risen_limit) * state.share_bps) {
    // What held the flow back has given way. Were this to wait for the next interval, a rise would take one at every router.
    allocate_soon(now_us);
  }

  // A flow that nothing limits is allocated more than 64 bits hold.
  constexpr auto most_bps = static_cast<double>(wire::unlimited_rate_bps);
  const auto allowed_bps = wire::quantise_rate_down_bps(static_cast<std::uint64_t>(std::clamp(state.allocation_bps, 1.0, most_bps)));
  if (allowed_bps < packet.explicit_rate_bps) {
    ++counters_.lowered;
    return allowed_bps;
  }
  return packet.explicit_rate_bps;
}

void exact_router::on_other_packet(std::uint64_t now_us, const exact_packet& packet, bool feedback) {
  ++counters_.other_packets;
  if (size_ != 0) {
    if (const std::uint32_t index = find(packet.flow); index != none) {
      erase(index);
      ++counters_.flows_ended;
      allocate_promptly(now_us);
    }
  }
  if (packet.peer >= peers_.size() || packet.mpdu_bytes == 0) return;
  const std::uint8_t rate_index = packet.rate_index < config_.profile->rates.size() ? packet.rate_index : std::uint8_t{0};
  if (config_.mode == exact_mode::m1) {
    other_busy_us_ += service_us(now_us, packet.peer, rate_index, packet.mpdu_bytes);
  } else if (!feedback) {
    other_busy_us_ += delays_.uncontended_delay_us(packet.mpdu_bytes, rate_index);
  }
}

// Whether the flow takes what it is offered.
void exact_router::note_use(allocated_flow& state, std::uint64_t now_us) {
  if (state.fresh) return;
  if (state.current_bps >= short_of_offer * state.allocation_bps) {
    state.short_since_us = 0;
  } else if (state.short_since_us == 0 || (state.state != demand::limited && state.current_bps > took_offer * state.reference_bps)) {
    // A flow that still rises is not held back for good: routers that took it for limited at different times give way in turn.
    state.short_since_us = now_us;
    if (state.state != demand::limited) state.reference_bps = state.current_bps;
  } else if (state.state != demand::limited && now_us - state.short_since_us > grace_intervals * config_.interval_us) {
    state.state = demand::limited;
    state.reference_bps = state.current_bps;
  }
  if (state.state == demand::limited) {
    state.reference_bps = std::min(state.reference_bps, state.current_bps);
    if (state.current_bps > took_offer * state.reference_bps) {
      state.state = demand::growing;
      state.short_since_us = 0;
    }
  }
}

bool exact_router::on_completion(std::uint64_t now_us, const exact_completion& completion) {
  if (!delays_.on_completion(completion.averages)) {
    ++counters_.unknown_peer;
    return false;
  }
  peer_state& peer = peers_[completion.averages.peer];
  peer.completed_us = now_us;
  peer.measured = true;
  ++completed_;
  if (!completion.delivered) {
    ++given_up_;
    if (peer.drops < drops_until_lost && ++peer.drops == drops_until_lost) {
      on_peer_lost(now_us, completion.averages.peer);
      return true;
    }
    return false;
  }
  const bool found_again = std::exchange(peer.lost, false);
  peer.drops = 0;
  if (size_ == 0) return false;
  const bool changed = config_.mode == exact_mode::m1 && peer.allocated_us != 0 &&
                       std::abs(service_us(now_us, completion.averages.peer, peer.rate_index, reference_mpdu_bytes) - peer.allocated_us) >
                           changed_bandwidth_share * peer.allocated_us;
  if (found_again || (changed && now_us - allocated_us_ >= early_allocation_us)) allocate(now_us);
  return false;
}

void exact_router::on_peer_lost(std::uint64_t now_us, std::uint8_t peer) {
  if (peer >= peers_.size()) {
    ++counters_.unknown_peer;
    return;
  }
  if (std::exchange(peers_[peer].lost, true)) return;
  ++counters_.peers_lost;
  if (size_ != 0) allocate(now_us);
}

void exact_router::on_peer_replaced(std::uint8_t peer) {
  if (peer >= peers_.size()) return;
  delays_.forget(peer);
  peers_[peer] = {};
}

void exact_router::set_peer_node(std::uint8_t peer, std::uint32_t node) {
  if (peer >= peers_.size()) {
    ++counters_.unknown_peer;
    return;
  }
  peers_[peer].node = node;
  peers_[peer].node_known = true;
}

void exact_router::on_hello(std::uint64_t now_us, const wire::hello& message) {
  if (config_.mode != exact_mode::m2) return;
  const bool changed = neighbourhood_.on_hello(now_us, message);
  if (neighbourhood_.own_part() == exact_neighbourhood::hello_part::none) return;
  if (hello_at_us_ == UINT64_MAX) hello_by(now_us, now_us + config_.hello_interval_us);
  if (!changed) return;
  if (allocating_) allocate_at_us_ = std::min(allocate_at_us_, now_us + early_allocation_us);
  if (neighbourhood_.has_news(now_us)) hello_soon(now_us);
}

// ---- Time

std::optional<std::uint64_t> exact_router::deadline() const {
  std::optional<std::uint64_t> next;
  if (allocating_) next = allocate_at_us_;
  if (hello_at_us_ != UINT64_MAX) next = std::min(next.value_or(UINT64_MAX), hello_at_us_);
  return next;
}

void exact_router::on_deadline(std::uint64_t now_us) {
  if (allocating_ && now_us >= allocate_at_us_) allocate(now_us);
  if (now_us >= hello_at_us_) {
    hello_due_ = true;
    hello_at_us_ = UINT64_MAX;
  }
}

std::optional<wire::hello> exact_router::take_hello(std::uint64_t now_us) {
  if (!std::exchange(hello_due_, false)) return std::nullopt;
  note_other_traffic(now_us);
  hello_sent_us_ = now_us;  // before news are looked for: this hello tells them
  tell_own(now_us);
  hello_at_us_ = UINT64_MAX;
  std::optional<wire::hello> message = neighbourhood_.make_hello(now_us);
  if (message) {
    // What does not fit counts as other traffic, at what it is allowed.
    wire::hello_node& own = message->nodes.front();
    for (std::size_t i = max_told_flows; i < own.flows.size(); ++i) {
      const std::uint32_t place = neighbourhood_.place_of_flow(own.flows[i].flow).value_or(0);
      if (place < shares_.size()) own.busy += own.flows[i].cost_s_per_bit * shares_[place].share_bps;
    }
    if (own.flows.size() > max_told_flows) own.flows.resize(max_told_flows);
    const auto mpdu_bytes = static_cast<std::uint32_t>(mac_header_bytes + llc_snap_bytes + wire::encode(*message).size() + fcs_bytes);
    hello_credit_us_ -= delays_.broadcast_delay_us(mpdu_bytes);
  }
  const std::uint64_t most_us = std::max<std::uint64_t>(config_.hello_interval_us, config_.neighbourhood.refresh_us);
  hello_rest_us_ = std::exchange(has_news_, false) ? config_.hello_interval_us : std::min<std::uint64_t>(2 * hello_rest_us_, most_us);
  if (neighbourhood_.own_part() != exact_neighbourhood::hello_part::none) {
    hello_by(now_us, now_us + hello_rest_us_ - hello_jitter_us(hello_rest_us_ / 4));
  }
  return message;
}

// The next hello goes then, or once what this router may take of the air pays for the last one.
void exact_router::hello_by(std::uint64_t now_us, std::uint64_t wanted_us) {
  if (!(config_.hello_share > 0)) return;
  const double part = config_.hello_share * neighbourhood_.hello_part_share();
  const auto passed_us = static_cast<double>(now_us - hello_credit_at_us_);
  hello_credit_us_ = std::min(hello_credit_us_ + part * passed_us, part * hello_savings_us);
  hello_credit_at_us_ = now_us;
  const double debt_us = std::max(-hello_credit_us_, 0.0);
  hello_at_us_ = std::min(hello_at_us_, std::max(wanted_us, now_us + static_cast<std::uint64_t>(debt_us / part)));
}

// Neighbours must not send their hellos at the same time again and again.
std::uint64_t exact_router::hello_jitter_us(std::uint64_t width_us) {
  hello_random_ = hello_random_ * 6364136223846793005ULL + 1442695040888963407ULL + config_.neighbourhood.node;
  return width_us == 0 ? 0 : (hello_random_ >> 33) % width_us;
}

// A relay leaves the others time to say it first.
void exact_router::hello_soon(std::uint64_t now_us) {
  has_news_ = true;
  const std::uint64_t earliest_us = std::max(now_us, hello_sent_us_ + config_.interval_us);
  const bool relay = neighbourhood_.own_part() == exact_neighbourhood::hello_part::relay;
  const std::uint64_t width_us = relay ? config_.hello_interval_us : config_.interval_us / 4;
  if (hello_at_us_ > earliest_us) hello_by(now_us, earliest_us + hello_jitter_us(width_us));
}

// ---- What things cost

double exact_router::service_us(std::uint64_t now_us, std::uint8_t peer, std::uint8_t rate_index, double mpdu_bytes) const {
  const auto bytes = static_cast<std::uint32_t>(std::lround(mpdu_bytes));
  const double idle_us = delays_.uncontended_delay_us(bytes, rate_index);
  const peer_state& state = peers_[peer];
  if (!state.measured) return idle_us;
  const double measured_us = std::max<double>(delays_.delay_us(peer, bytes, rate_index), 1);
  const std::uint64_t age_us = now_us - state.completed_us;
  if (age_us <= stale_us) return measured_us;
  return idle_us + (measured_us - idle_us) * std::exp2(-static_cast<double>(age_us - stale_us) / stale_half_life_us);
}

double exact_router::bandwidth_bps(std::uint64_t now_us, std::uint8_t peer, std::uint8_t rate_index) const {
  if (peer >= peers_.size() || rate_index >= config_.profile->rates.size()) return 0;
  return 8.0 * reference_ip_bytes * us_per_s / service_us(now_us, peer, rate_index, reference_mpdu_bytes);
}

// Channel time of a bit of the flow: M1 as measured to its next hop, M2 on an idle medium and with the feedback it causes.
double exact_router::cost_s_per_bit(std::uint64_t now_us, const allocated_flow& state) const {
  const double bits = 8 * state.bytes;
  const double mpdu_bytes = state.bytes + state.mpdu_overhead_bytes;
  if (config_.mode == exact_mode::m1) return service_us(now_us, state.peer, state.rate_index, mpdu_bytes) / us_per_s / bits;
  double delay_us = delays_.uncontended_delay_us(static_cast<std::uint32_t>(std::lround(mpdu_bytes)), state.rate_index);
  if (config_.feedback_every_packets != 0) {
    // A slow flow's feedback comes by time, not by packets.
    double a_packet = 1.0 / config_.feedback_every_packets;
    if (config_.feedback_interval_us != 0 && !state.fresh) {
      const double packets_per_s = std::max(std::min(state.current_bps, state.allocation_bps), 1.0) / bits;
      a_packet = std::clamp(1.0 * us_per_s / config_.feedback_interval_us / packets_per_s, a_packet, 1.0);
    }
    delay_us += a_packet * delays_.uncontended_delay_us(config_.feedback_mpdu_bytes, state.rate_index);
  }
  return delay_us / us_per_s / bits;
}

double exact_router::floor_bps(const allocated_flow& state) { return 8 * state.bytes; }  // one packet a second

// What the flow can use by what it does with its offers, whatever comes in from upstream.
double exact_router::demand_bps(const allocated_flow& state) {
  switch (state.state) {
    case demand::limited:
      return std::max(limited_probe * state.current_bps, floor_bps(state));
    case demand::growing:
      return std::max(growing_probe * state.current_bps, floor_bps(state));
    case demand::open:
      break;
  }
  return std::numeric_limits<double>::max();
}

double exact_router::limit_bps(const allocated_flow& state) const {
  if (peers_[state.peer].lost) return floor_bps(state);
  const bool unlimited = state.arrived_bps >= static_cast<double>(wire::unlimited_rate_bps);
  return std::min(demand_bps(state), unlimited ? std::numeric_limits<double>::max() : std::max(state.arrived_bps, 1.0));
}

// What a queue holds back, and what the MAC gives up, was more than the air carries.
void exact_router::measure_usable(double passed_s, double keep) {
  const double given_up = completed_ == 0 ? 0 : static_cast<double>(given_up_) / completed_;
  completed_ = given_up_ = 0;
  usable_share_ += passed_s * ((config_.eta - usable_share_) / usable_rise_s - queue_cost_per_s * (1 - keep) / max_drain -
                               give_up_cost_per_s * given_up);
  usable_share_ = std::clamp(usable_share_, least_usable_share * config_.eta, config_.eta);
}

// The share by which a standing queue lowers all allocations.
double exact_router::drain_share(std::uint64_t now_us) const {
  if (queued_bytes_ <= 0) return 0;
  double largest_us = 0;
  for (std::uint32_t index = newest_; index != none; index = states_[index].older) {
    const allocated_flow& state = states_[index];
    largest_us = std::max(largest_us, service_us(now_us, state.peer, state.rate_index, reference_mpdu_bytes));
  }
  const double queue_us = queued_bytes_ / reference_ip_bytes * largest_us;
  return std::clamp((queue_us - config_.queue_target_us) / std::max(config_.drain_us, 1U), 0.0, max_drain);
}

// ---- Allocation

std::uint64_t exact_router::idle_limit_us(const allocated_flow& state) const {
  // What it may send at, where its gaps are not known yet.
  const double allowed_bps = std::max(std::min(state.current_bps, state.allocation_bps), 1.0);
  const double gap_us = std::max(state.gap_us, 8 * state.bytes / allowed_bps * us_per_s);
  const double idle_us = std::min(3 * gap_us, static_cast<double>(max_idle_us));
  return std::min(std::max(static_cast<std::uint64_t>(idle_us), grace_intervals * config_.interval_us), max_idle_us);
}

void exact_router::forget_idle(std::uint64_t now_us) {
  for (std::uint32_t index = oldest_; index != none;) {
    const std::uint32_t newer = states_[index].newer;
    if (now_us - states_[index].last_seen_us >= idle_limit_us(states_[index])) {
      erase(index);
      ++counters_.flows_expired;
    }
    index = newer;
  }
}

// Flows came, went or moved. A storm of them is answered together: a flow that comes then waits for its first share.
void exact_router::allocate_promptly(std::uint64_t now_us) {
  if (now_us - prompt_since_us_ >= config_.interval_us) {
    prompt_since_us_ = now_us;
    prompt_ = 0;
  }
  if (++prompt_ <= prompt_allocations || now_us - allocated_us_ >= early_allocation_us) {
    allocate(now_us);
    return;
  }
  allocate_at_us_ = allocating_ ? std::min(allocate_at_us_, allocated_us_ + early_allocation_us) : now_us;
  allocating_ = true;
}

// Something changed that must not wait for the interval to end, but may come often.
void exact_router::allocate_soon(std::uint64_t now_us) {
  if (now_us - allocated_us_ >= early_allocation_us) {
    allocate(now_us);
  } else if (allocating_) {
    allocate_at_us_ = std::min(allocate_at_us_, allocated_us_ + early_allocation_us);
  }
}

void exact_router::note_other_traffic(std::uint64_t now_us) {
  const std::uint64_t passed_us = now_us - other_since_us_;
  if (passed_us < config_.interval_us) return;
  other_share_ += 0.25 * (other_busy_us_ / static_cast<double>(passed_us) - other_share_);
  if (other_share_ < 1e-3) other_share_ = 0;
  other_busy_us_ = 0;
  other_since_us_ = now_us;
}

void exact_router::allocate(std::uint64_t now_us) {
  forget_idle(now_us);
  ++counters_.allocations;
  note_other_traffic(now_us);
  const double passed_s = static_cast<double>(now_us - allocated_us_) / us_per_s;
  const double pace = std::min(static_cast<double>(now_us - allocated_us_) / (cost_intervals * config_.interval_us), 1.0);
  allocated_us_ = now_us;
  allocating_ = size_ != 0;
  allocate_at_us_ = now_us + config_.interval_us;
  for (std::uint32_t index = newest_; index != none; index = states_[index].older) {
    allocated_flow& state = states_[index];
    const double cost = cost_s_per_bit(now_us, state);
    // What M1 measures holds the contention that its own allocations make: followed slowly, or both would swing.
    const bool follow = config_.mode == exact_mode::m1 && state.cost_s_per_bit > 0;
    state.cost_s_per_bit = follow ? state.cost_s_per_bit + pace * (cost - state.cost_s_per_bit) : cost;
    peer_state& peer = peers_[state.peer];
    peer.rate_index = state.rate_index;
    peer.allocated_us = service_us(now_us, state.peer, state.rate_index, reference_mpdu_bytes);
  }
  load_ = 0;
  if (config_.mode == exact_mode::m1) {
    if (size_ == 0) return;
    share_own();
  } else {
    if (size_ != 0) measure_usable(std::min(passed_s, 1.0), 1 - drain_share(now_us));
    tell_own(now_us);
    if (size_ == 0) return;
    share_neighbourhoods(now_us);
  }
  settle(now_us);
}

// M1: the node's own flows share its own time.
void exact_router::share_own() {
  shares_.clear();
  costs_.clear();
  for (std::uint32_t index = newest_; index != none; index = states_[index].older) {
    const allocated_flow& state = states_[index];
    shares_.push_back({.gain = gain(state.weight, state.cost_s_per_bit), .floor_bps = floor_bps(state), .limit_bps = limit_bps(state)});
    costs_.push_back(state.cost_s_per_bit);
  }
  filling_.fill(shares_, costs_, std::max(config_.eta - other_share_, least_budget_share * config_.eta));
  std::size_t place = 0;
  for (std::uint32_t index = newest_; index != none; index = states_[index].older, ++place) {
    states_[index].share_bps = shares_[place].share_bps;
    states_[index].at_limit = shares_[place].limited;
    load_ += shares_[place].share_bps * costs_[place];
  }
}

// M2: all flows of the ledger share the neighbourhoods that this node knows.
void exact_router::share_neighbourhoods(std::uint64_t now_us) {
  neighbourhood_.update(now_us);
  const auto ledger = neighbourhood_.flows();
  const auto costs = neighbourhood_.costs();
  budgets_.assign(neighbourhood_.budgets().begin(), neighbourhood_.budgets().end());
  for (water_filling_budget& budget : budgets_) {
    budget.budget = std::max(std::min(budget.budget, config_.eta), least_budget_share * config_.eta);
  }
  std::uint64_t flows_around = neighbourhood_.links();
  for (const ledger_flow& flow : ledger) flows_around += flow.flow;
  // What was measured with other flows around, or while one went another way, says little.
  if (std::exchange(flows_around_, flows_around) != flows_around) usable_share_ = config_.eta;

  shares_.clear();
  for (const ledger_flow& flow : ledger) {
    // It may be the flow's share, of a moment ago, or of where less is usable: what it leaves of that is nobody's surplus.
    const double told_bps = flow.rate_limit_bps == wire::unlimited_rate_bps ? std::numeric_limits<double>::max()
                                                                            : static_cast<double>(flow.rate_limit_bps) / least_usable_share;
    shares_.push_back({.gain = flow.weight, .limit_bps = std::max(told_bps, 1.0)});
  }
  if (config_.fairness == exact_fairness::airtime) {
    // The time that counts is that in the neighbourhood where the flow takes most.
    costs_.assign(ledger.size(), 0);
    for (const water_filling_cost& cost : costs) costs_[cost.flow] = std::max(costs_[cost.flow], cost.cost_s_per_bit);
    for (std::size_t i = 0; i < shares_.size(); ++i) shares_[i].gain = gain(shares_[i].gain, costs_[i]);
  }
  // Of its own flows this node knows better what they can use.
  for (std::uint32_t index = newest_; index != none; index = states_[index].older) {
    allocated_flow& state = states_[index];
    state.place = neighbourhood_.place_of_flow(ledger_flow_of(state.flow)).value_or(0);
    shares_[state.place].floor_bps = floor_bps(state);
    shares_[state.place].limit_bps = limit_bps(state);
  }
  filling_.fill(shares_, costs, budgets_);
  for (const water_filling_budget& budget : budgets_) {
    double used = 0;
    for (const water_filling_cost& cost : costs.subspan(budget.first, budget.count))
      used += cost.cost_s_per_bit * shares_[cost.flow].share_bps;
    load_ = std::max(load_, used - budget.budget + config_.eta);
  }
  for (std::uint32_t index = newest_; index != none; index = states_[index].older) {
    states_[index].share_bps = shares_[states_[index].place].share_bps;
    states_[index].at_limit = shares_[states_[index].place].limited;
  }
}

double exact_router::gain(double weight, double cost) const {
  return config_.fairness == exact_fairness::rate || !(cost > 0) ? weight : weight / cost;
}

// From shares to allocations: what a queue takes back, and how fast they may rise.
void exact_router::settle(std::uint64_t now_us) {
  // Under M2 a queue lowers what is usable, for all who share it. Were its own flows cut here alone, others would take what they leave,
  // and the queue would stay.
  const double keep = config_.mode == exact_mode::m1 ? 1 - drain_share(now_us) : 1;
  for (std::uint32_t index = newest_; index != none; index = states_[index].older) {
    allocated_flow& state = states_[index];
    const double target_bps = std::max(keep * state.share_bps, std::min(state.share_bps, floor_bps(state)));
    if (!state.fresh && target_bps > state.allocation_bps) {
      state.allocation_bps = std::min(target_bps, raise_limit * state.allocation_bps + floor_bps(state));
    } else {
      state.allocation_bps = target_bps;
    }
    // The share of all others holds it back, not what it does with its offers.
    if (state.state != demand::open && !state.at_limit) {
      state.state = demand::open;
      state.short_since_us = 0;
    }
    state.fresh = false;
  }
}

// What this node says of itself: neighbours, flows, other traffic.
void exact_router::tell_own(std::uint64_t now_us) {
  const wire::hello_node& before = neighbourhood_.own();
  wire::hello_node own;
  std::array<std::uint8_t, neighbour_slots> place{};
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    if (!peers_[peer].node_known) continue;
    place[peer] = static_cast<std::uint8_t>(own.neighbours.size());
    own.neighbours.push_back(peers_[peer].node);
  }
  neighbourhood_.list_heard(now_us, own.neighbours);
  // What changes a little is not told: whoever hears of a change passes it on.
  bool news = false;
  for (std::uint32_t index = newest_; index != none; index = states_[index].older) {
    allocated_flow& state = states_[index];
    if (!peers_[state.peer].node_known) {
      // A neighbour that nobody named still takes time on the air: a name of its own stands for it.
      peers_[state.peer].node = 0x8000'0000U ^ config_.neighbourhood.node << 4 ^ state.peer;
      peers_[state.peer].node_known = true;
      place[state.peer] = static_cast<std::uint8_t>(own.neighbours.size());
      own.neighbours.push_back(peers_[state.peer].node);
    }
    // What the flow uses, without room to grow: many routers reserve it.
    double told_bps = std::min(state.state == demand::limited ? state.current_bps : demand_bps(state), state.arrived_bps);
    if (peers_[state.peer].lost) told_bps = floor_bps(state);
    own.flows.push_back({.next = place[state.peer],
                         .flow = ledger_flow_of(state.flow),
                         .cost_s_per_bit = state.cost_s_per_bit,
                         .rate_limit_bps = ledger_rate_bps(told_bps),
                         .weight = state.weight});
    wire::hello_flow& told = own.flows.back();
    const auto same = std::ranges::find(before.flows, told.flow, &wire::hello_flow::flow);
    if (same == before.flows.end()) {
      news = true;
      continue;
    }
    const auto keep_or_tell = [&news](auto& now, auto told_before) {
      const bool changed = std::abs(static_cast<double>(now) - static_cast<double>(told_before)) > told_change * static_cast<double>(now);
      news |= changed;
      if (!changed) now = told_before;
    };
    keep_or_tell(told.rate_limit_bps, same->rate_limit_bps);
    keep_or_tell(told.cost_s_per_bit, same->cost_s_per_bit);
  }
  // In an order that does not hang on whose packet came last: it would be a change.
  std::ranges::sort(own.flows, {}, &wire::hello_flow::flow);
  own.busy = std::abs(other_share_ - before.busy) < told_busy_step && other_share_ != 0 ? before.busy : other_share_;
  if (std::abs(usable_share_ - told_usable_share_) >= told_usable_step || usable_share_ == config_.eta) {
    news |= std::exchange(told_usable_share_, usable_share_) != usable_share_;
  }
  own.usable = told_usable_share_;
  news |= own.flows.size() != before.flows.size();
  neighbourhood_.set_own(now_us, own);
  if (news) hello_soon(now_us);
}

std::optional<double> exact_router::allocation_bps(std::uint64_t flow) const {
  const std::uint32_t index = find(flow);
  return index != none ? std::optional(states_[index].allocation_bps) : std::nullopt;
}

std::optional<double> exact_router::cost_s_per_bit(std::uint64_t flow) const {
  const std::uint32_t index = find(flow);
  return index != none ? std::optional(states_[index].cost_s_per_bit) : std::nullopt;
}

}  // namespace perhop::policy
