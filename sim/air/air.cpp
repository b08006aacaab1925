// SPDX-License-Identifier: GPL-2.0-or-later
//
// The time-warp scheduler. A node has a local time, which may lag behind now(): it is evaluated when something reaches it
// or when its own timer ends. An evaluation carries the ticks since its local time in one clock, then settles.
//
// Within a tick: the medium's ends, then its starts, then the nodes in ascending order, each once with all it was told,
// then what the listener submitted meanwhile. What a node sends reaches others at the next tick or later, so that neither
// the order of nodes nor leaving out those without news can be seen from outside.
//
// Lazy evaluation (warp_mode::on) holds back news that cannot make a node act earlier than its wake says, and tells them with the ticks of
// its next evaluation (deferred_indications.hpp). Held back are:
// - carrier edges of a node that does not contend;
// - carrier edges of a contending node. A busy carrier takes its wake away; when the medium is free again, the node is woken when
//   inter-frame space and back-off will be over if nothing more is heard;
// - the end of a frame that is not for the node, if the node neither is in an exchange nor waits for a header. It reserves
//   the medium, and says whether DIFS or EIFS follows.
// Not held back is what may be otherwise than it seems only with knowledge that the scheduler does not have: all of a contending node
// whose NAV may be reset, or that draws a back-off as soon as the medium is busy.
//
// It is one file because what may be held back and the order within a tick are one argument: each step relies on the others.
#include "sim/air/air.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/air/air_impl.hpp"
#include "sim/air/bytes_node.hpp"
#include "sim/air/core_node.hpp"
#include "sim/air/deferred_indications.hpp"
#include "sim/air/medium.hpp"
#include "sim/air/node_settings.hpp"
#include "sim/air/pattern.hpp"
#include "sim/air/samples/samples_air.hpp"
#include "sim/air/stopwatch.hpp"
#include "sim/air/wake_tree.hpp"

namespace perhop::air {

namespace {

constexpr unsigned settle_limit_clocks = 64;

}  // namespace

namespace {

template <rtl_node node_model>
class scheduler final : public air::impl {
public:
  scheduler(const air_config& config, listener& listener);

  tick next_event() const override { return std::min(medium_.next_event(), wakes_.earliest()); }
  void advance(tick until) override;
  bool can_submit(node_id node) const override { return nodes_[node].core.descriptor_ready() && nodes_[node].deferred == 0; }
  void submit(node_id node, const tx_request& request) override;
  void move(node_id node, node_position to, double speed_mps) override {
    assert(!busy_);
    medium_.move(now_, node, to, speed_mps);
  }
  void set_blocked(node_id one, node_id other, bool blocked) override {
    assert(!busy_);
    medium_.set_blocked(one, other, blocked);
  }
  neighbour_snapshot take_neighbour(node_id node, std::uint8_t slot, std::uint8_t bin) override {
    assert(!busy_);
    return nodes_[node].core.take_neighbour(slot, bin);
  }
  void set_silent(node_id node, bool silent) override {
    assert(!busy_);
    medium_.set_silent(node, silent);
  }
  bool in_range(node_id from, node_id to) override { return medium_.in_range(now_, from, to); }
  node_position position(node_id node, tick at) const override { return medium_.position(node, at); }
  void set_frame_error_rate(double frame_error_rate) override {
    assert(!busy_);
    medium_.set_frame_error_rate(frame_error_rate);
  }
  const air_counters& counters() override;

private:
  bool dcf() const { return settings_.access_mode == static_cast<std::uint8_t>(access_mode::dcf); }

  // A packet inside the MAC. The core finishes packets in order and holds few, so a small ring finds them by tag.
  struct packet {
    std::uint64_t payload = 0;
    std::uint64_t ra = 0;
  };
  static constexpr std::size_t packet_ring = 16;

  struct node {
    node(VerilatedContext& context, const air_config& config, node_id id) : core(context, config, id) { shown.nav_stands = false; }

    // First what a visit looks at that holds news back: in a large network it comes from memory.
    deferred_indications held;
    known_medium shown;
    tick own_until = 0;      // end of the core's last frame; `never` while SIFS before the next one runs
    tick access_at = never;  // when its packet goes if the medium stays as shown; `never`: the carrier is busy
    std::uint16_t backoff_slots = 0;
    bool backoff_running = false;
    bool contending = false;
    bool waits = false;        // for a time of its own
    std::uint32_t inside = 0;  // packets in the MAC
    frame_kind sent_kind{};    // of the core's last frame
    node_model core;
    tick local = 0;              // time up to which the core has been clocked
    std::uint32_t deferred = 0;  // submissions that wait for the end of an evaluation
    frame_slot rx_slot = no_frame;
    std::uint16_t next_tag = 0;
    std::uint16_t hold_us = 0;  // for which the own CTS that starts now holds this station back
    std::array<packet, packet_ring> packets;
  };

  struct deferred_request {
    node_id node;
    tx_request request;
  };

  void step(tick now);
  void visit(node_id id);
  bool waits_for_access(const node& node) const;
  bool put_off(node& node, node_id id, const indication& news);
  bool hold_back(node& node, node_id id, const indication& news);
  bool hold_back_edge(node& node, node_id id, bool busy);
  bool hold_back_end(node& node, node_id id, const indication& news);
  bool may_defer(const node& node) const;
  void defer_wake(node& node, node_id id);
  void tell_what_was_held(node& node, node_id id);
  void set_carrier(node& node, bool busy, tick at);
  void evaluate(node_id id, const tx_request* request);
  void strobe_rx_start(node& node, node_id id, const indication& news);
  void approach(node& node, node_id id, tick until);
  void pass_time(node& node, node_id id, tick until);
  void clock(node& node, node_id id, std::uint32_t ticks);
  clock_cause cause_of(node_id id, const indication& news, const tx_request* request) const;
  void settle(node& node, node_id id);
  void after_clock(node& node, node_id id);
  void schedule(node& node, node_id id);
  void serve_deferred();

  VerilatedContext context_;  // before the models, which it must outlive
  const timing_profile& profile_;
  warp_mode warp_;
  bool ns2_;
  mac_settings settings_;  // but for the node's own
  idle_waits waits_;
  bool frames_reserve_;               // by their Durations
  std::uint32_t bad_end_nav_us_ = 0;  // for so long a frame that was not understood reserves the medium
  std::uint32_t hold_us_ = 0;         // from the end of the own CTS, in which a station begins nothing; 0: none
  listener& listener_;
  medium medium_;
  std::vector<node> nodes_;
  wake_tree wakes_;
  std::vector<deferred_request> deferred_;
  bool busy_ = false;  // within step() or submit(): further submissions wait
  std::uint64_t next_id_ = 0;
  std::vector<std::uint8_t> msdu_;

  air_counters counters_;
  clock_cause cause_ = clock_cause::timer;  // of the clocks that are given now
  // A step takes a few microseconds, and with bytes a few milliseconds.
  sampled_times times_{node_model::moves_bytes ? 200'000'000 : 200'000};
};

template <rtl_node node_model>
scheduler<node_model>::scheduler(const air_config& config, listener& listener)
    : profile_(*config.mac.profile),
      warp_(config.warp),
      ns2_(config.mac.compatibility == mac_compatibility::ns2),
      settings_(settings_of(config, 0)),
      waits_{.slot_us = settings_.slot_us},
      frames_reserve_(config.mac.fama.nav),
      listener_(listener),
      medium_(config),
      wakes_(config.nodes.size()) {
  if (dcf()) waits_ = {.difs_us = settings_.difs_us, .eifs_us = settings_.eifs_us, .slot_us = settings_.slot_us};
  if (settings_.quirk_eifs_as_nav) bad_end_nav_us_ = settings_.eifs_us;
  // The profile's slot covers the round trip to the sender.
  if (config.mac.fama.hold) hold_us_ = settings_.sifs_us + profile_.slot_us;
  if (config.tell_overheard) {
    medium_.watch_overheard([this](node_id at, const transmission& frame) { listener_.on_overheard(now_, at, frame); });
  }
  if (config.tell_losses) medium_.watch_losses([this](const lost_frame& lost) { listener_.on_lost(lost); });
  // Models have no threads; the context would start one for each further processor.
  context_.threads(1);
  nodes_.reserve(config.nodes.size());
  for (node_id id = 0; id < config.nodes.size(); ++id) {
    node& added = nodes_.emplace_back(context_, config, id);
    settle(added, id);
    schedule(added, id);
  }
}

template <rtl_node node_model>
void scheduler<node_model>::advance(tick until) {
  assert(!busy_ && until >= now_);
  if (warp_ == warp_mode::every_tick) {
    while (now_ < until) step(now_ + 1);
  } else {
    for (tick next = next_event(); next <= until; next = next_event()) step(next);
    now_ = until;
  }
}

template <rtl_node node_model>
void scheduler<node_model>::submit(node_id node, const tx_request& request) {
  assert(can_submit(node));
  if (busy_) {
    ++nodes_[node].deferred;
    deferred_.push_back({node, request});
    return;
  }
  times_.begin();
  busy_ = true;
  evaluate(node, &request);
  serve_deferred();
  busy_ = false;
  times_.end();
}

template <rtl_node node_model>
void scheduler<node_model>::step(tick now) {
  times_.begin();
  now_ = now;
  busy_ = true;
  if (medium_.next_event() == now) medium_.process(now);
  node_set& active = medium_.board().touched;
  if (warp_ == warp_mode::on) {
    wakes_.for_each_due(now, [&](node_id id) { active.insert(id); });
  } else {
    active.insert_first(nodes_.size());
  }
  active.drain([&](node_id id) { visit(id); });
  serve_deferred();
  busy_ = false;
  times_.end();
}

template <rtl_node node_model>
void scheduler<node_model>::visit(node_id id) {
  node& node = nodes_[id];
  const indication& news = medium_.board()[id];
  if (warp_ == warp_mode::on) {
    const bool due = wakes_.of(id) <= now_;
    if (due ? put_off(node, id, news) : hold_back(node, id, news)) return;
  }
  evaluate(id, nullptr);
}

/// A contending node's next act is to begin its packet, which the carrier's end and nothing else lets it do.
template <rtl_node node_model>
bool scheduler<node_model>::waits_for_access(const node& node) const {
  return dcf() && node.contending && node.inside != 0 && node.own_until != never && node.shown.nav_stands;
}

/// A contending node is due that the carrier has kept from its packet since its wake was set. @return whether that puts its timer off
template <rtl_node node_model>
bool scheduler<node_model>::put_off(node& node, node_id id, const indication& news) {
  if (!node.held.any() || !node.held.carrier() || !waits_for_access(node)) return false;
  if (!hold_back(node, id, news)) return false;
  if (wakes_.of(id) <= now_) wakes_.set(id, never);
  return true;
}

/// Of a contending node: whether all that it hears can be told later.
template <rtl_node node_model>
bool scheduler<node_model>::may_defer(const node& node) const {
  if (!node.shown.nav_stands || now_ - node.local > max_ticks / 2) return false;
  return node.backoff_running || node.inside == 0 || !dcf();
}

/// Keeps the news for later if the node may learn them later. @return whether it may
template <rtl_node node_model>
bool scheduler<node_model>::hold_back(node& node, node_id id, const indication& news) {
  if (news.rx_start) return false;
  if (!news.rx_end && news.reserve_us == 0) return hold_back_edge(node, id, news.carrier_busy);
  if (!hold_back_end(node, id, news)) return false;
  medium_.board().acknowledge(id);
  return true;
}

template <rtl_node node_model>
bool scheduler<node_model>::hold_back_edge(node& node, node_id id, bool busy) {
  // A carrier that ended and began again within this tick is no edge.
  if (busy == (node.held.any() ? node.held.carrier() : node.shown.carrier)) return true;
  if (node.contending && !may_defer(node)) return false;
  node.held.hold_edge(node.shown, node.contending, waits_, now_, busy);
  defer_wake(node, id);
  return true;
}

template <rtl_node node_model>
bool scheduler<node_model>::hold_back_end(node& node, node_id id, const indication& news) {
  if (!node.shown.nav_stands || (news.rx_end && news.reserve_us != 0)) return false;
  bool ok = true;
  std::uint16_t duration_us = news.reserve_us;
  if (news.rx_end) {
    const transmission& frame = medium_.frame(news.rx_slot);
    ok = news.rx_ok;
    duration_us = frame.duration_us;
    if (ok && (frame.ra == mac_address(id) || (frame.ra >> group_address_bit & 1) != 0)) return false;
    // An RTS starts the timer of the NAV's reset.
    if (ok && frame.kind == frame_kind::rts && !ns2_) return false;
  }
  if (node.contending ? node.own_until == never : node.inside != 0 || node.waits) return false;
  const tick nav_end = now_ + (ok ? duration_us : bad_end_nav_us_);
  if (node.contending) {
    if (!may_defer(node)) return false;
    // How much of its slot has passed, the core knows.
    const bool stays_idle = !node.held.any() && !node.shown.carrier && !news.carrier_busy;
    if (stays_idle && std::max(nav_end, node.shown.reserved_until) <= now_) return false;
  }
  node.held.hold_end(node.shown, node.contending, waits_, now_, !ok && !settings_.quirk_eifs_as_nav, nav_end, news.carrier_busy);
  defer_wake(node, id);
  return true;
}

/// After news of the medium for a contending node: when it could act. While the carrier is busy its wake only stands in the way, until it
/// is due.
template <rtl_node node_model>
void scheduler<node_model>::defer_wake(node& node, node_id id) {
  const deferred_indications& held = node.held;
  if (held.carrier() || !waits_for_access(node)) return;
  std::uint32_t slots = node.backoff_slots;
  if (node.access_at != never) {
    // The slot that was broken into starts anew.
    const tick left_us = node.access_at - std::min(node.access_at, held.told_from());
    slots = std::min(slots, static_cast<std::uint32_t>((left_us + waits_.slot_us - 1) / waits_.slot_us));
  }
  wakes_.set(id, held.access_at(waits_, slots));
}

/// Gives a node what is held with the ticks up to now, of which no more are left than one clock can carry.
template <rtl_node node_model>
void scheduler<node_model>::tell_what_was_held(node& node, node_id id) {
  assert(node.held.told_from() > node.local);
  cause_ = clock_cause::deferred;
  // What a node that does not contend is told at the end holds whatever it took time for before.
  constexpr tick longest_idle_us = 0xffff;
  while (!node.contending && now_ - node.local > max_ticks) {
    const tick ticks = std::min<tick>(max_ticks, now_ - node.local - longest_idle_us);
    node.local += ticks;
    clock(node, id, static_cast<std::uint32_t>(ticks));
  }
  const tick until = std::min(now_, node.local + max_ticks);
  const auto ticks = static_cast<std::uint32_t>(until - node.local);
  node.core.tell(node.held.summary(waits_, until, ticks));
  node.shown.carrier = node.held.carrier();
  node.shown.idle_from = node.held.idle_from();
  node.shown.bad_end = node.held.bad_end();
  node.held.clear();
  if (until == now_) return;
  node.core.set_carrier(node.shown.carrier);
  node.local = until;
  clock(node, id, ticks);
  settle(node, id);
}

template <rtl_node node_model>
void scheduler<node_model>::set_carrier(node& node, bool busy, tick at) {
  if (node.shown.carrier && !busy) node.shown.idle_from = at;
  node.shown.carrier = busy;
  node.core.set_carrier(busy);
}

/// Brings a node to now() with everything the medium tells it, and a descriptor if there is one.
template <rtl_node node_model>
void scheduler<node_model>::evaluate(node_id id, const tx_request* request) {
  ++counters_.wakes;
  const rtl_lap lap(times_);
  node& node = nodes_[id];
  if constexpr (!node_model::moves_bytes) node.core.prefetch();
  const indication news = medium_.board()[id];
  const clock_cause cause = cause_of(id, news, request);
  if (node.held.any()) tell_what_was_held(node, id);
  cause_ = cause;
  approach(node, id, now_);
  set_carrier(node, news.carrier_busy, now_);
  if (news.rx_end) {
    node.rx_slot = news.rx_slot;
    node.core.strobe_rx_end(medium_.frame(news.rx_slot), news.rx_ok);
    node.shown.bad_end = !news.rx_ok && !settings_.quirk_eifs_as_nav;
  } else if (news.rx_start) {
    strobe_rx_start(node, id, news);
  }
  if (request != nullptr) {
    const std::uint16_t tag = node.next_tag++;
    ++node.inside;
    node.packets[tag % packet_ring] = {request->payload, request->ra};
    if constexpr (node_model::moves_bytes) {
      msdu_.clear();
      listener_.write_msdu(id, *request, msdu_);
    }
    node.core.strobe_descriptor(*request, tag, airtime_us(profile_, request->rate_index, request->mpdu_bytes), msdu_);
  }
  pass_time(node, id, now_);
  settle(node, id);
  // One strobe a clock: what else happened in this tick follows in further clocks.
  if (news.rx_end && news.rx_start) {
    strobe_rx_start(node, id, news);
    clock(node, id, 0);
    settle(node, id);
  }
  if (news.reserve_us != 0) {
    node.core.strobe_overheard(news.reserve_us, true);
    clock(node, id, 0);
    settle(node, id);
  }
  if (node.hold_us != 0) {
    node.core.strobe_overheard(node.hold_us, true);
    node.hold_us = 0;
    clock(node, id, 0);
    settle(node, id);
  }
  if (news.rx_end || news.rx_start || news.reserve_us != 0) medium_.board().acknowledge(id);
  schedule(node, id);
}

template <rtl_node node_model>
void scheduler<node_model>::strobe_rx_start(node& node, node_id id, const indication& news) {
  double power_dbm = 0;
  if constexpr (node_model::moves_bytes) power_dbm = 10 * std::log10(1000 * medium_.power_w(news.start_slot, id));
  node.core.strobe_rx_start(medium_.frame(news.start_slot), medium_.psdu(news.start_slot), power_dbm);
}

/// Passes as much time as leaves no more than one clock can carry. To be called before the inputs of `until` are applied.
template <rtl_node node_model>
void scheduler<node_model>::approach(node& node, node_id id, tick until) {
  while (until - node.local > max_ticks) {
    node.local += max_ticks;
    clock(node, id, max_ticks);
  }
}

/// One clock with the ticks up to `until` and the inputs applied.
template <rtl_node node_model>
void scheduler<node_model>::pass_time(node& node, node_id id, tick until) {
  const auto ticks = static_cast<std::uint32_t>(until - node.local);
  node.local = until;
  clock(node, id, ticks);
}

template <rtl_node node_model>
void scheduler<node_model>::clock(node& node, node_id id, std::uint32_t ticks) {
  const std::uint32_t clocks = node.core.clock(ticks);
  counters_.clocks += clocks;
  counters_.clocks_for[static_cast<std::size_t>(cause_)] += clocks;
  after_clock(node, id);
}

/// Why a node is evaluated now.
template <rtl_node node_model>
clock_cause scheduler<node_model>::cause_of(node_id id, const indication& news, const tx_request* request) const {
  if (request != nullptr) return clock_cause::packet;
  if (wakes_.of(id) <= now_) return clock_cause::timer;
  const bool for_it = news.rx_end && news.rx_ok && medium_.frame(news.rx_slot).ra == mac_address(id);
  return for_it ? clock_cause::frame : clock_cause::other;
}

template <rtl_node node_model>
void scheduler<node_model>::settle(node& node, node_id id) {
  for (unsigned clocks = 0; !node.core.quiescent(); ++clocks) {
    if (clocks == settle_limit_clocks) {
      throw std::logic_error("node " + std::to_string(id) + ": the MAC core does not settle within " + std::to_string(settle_limit_clocks) +
                             " clocks at " + std::to_string(now_) + " us");
    }
    clock(node, id, 0);
  }
}

template <rtl_node node_model>
void scheduler<node_model>::after_clock(node& node, node_id id) {
  const bool tx_start = node.core.tx_start();
  const bool deliver = node.core.deliver();
  const bool done = node.core.done();
  if (!(tx_start || deliver || done)) return;

  transmission frame;
  if (tx_start) {
    frame = node.core.read_transmission(now_);
    frame.id = next_id_++;
    if (!frames_reserve_) frame.duration_us = 0;
    if (hold_us_ != 0 && frame.kind == frame_kind::cts) node.hold_us = static_cast<std::uint16_t>(frame.end - now_ + hold_us_);
    if (frame.kind == frame_kind::data) frame.payload = node.packets[frame.tag % packet_ring].payload;
    medium_.start(frame, node.core.read_psdu());
    node.shown.bad_end = false;
    node.own_until = frame.end;
    node.sent_kind = frame.kind;
    ++counters_.transmissions;
  }
  const bool sampling = times_.sampling();
  const std::uint64_t start = sampling ? stopwatch_now() : 0;
  if (deliver) listener_.on_delivery(now_, id, medium_.frame(node.rx_slot));
  if (done) {
    --node.inside;
    completion record = node.core.read_completion(now_);
    const packet& packet = node.packets[record.tag % packet_ring];
    record.payload = packet.payload;
    record.ra = packet.ra;
    listener_.on_completion(now_, record);
  }
  if (tx_start) {
    listener_.on_transmission(frame);
    if constexpr (node_model::moves_bytes) listener_.on_frame_bytes(frame, node.core.read_psdu());
  }
  if (sampling) times_.add_listener(stopwatch_now() - start);
}

template <rtl_node node_model>
void scheduler<node_model>::schedule(node& node, node_id id) {
  const std::uint32_t timer = node.core.next_timer();
  wakes_.set(id, timer == no_timer ? never : node.local + timer);
  // Without laziness everything is indicated, so that the difference would be seen.
  if (warp_ != warp_mode::on) return;
  if (!node.core.sending()) {
    node.own_until = std::min(node.own_until, node.local);
  } else if (node.own_until <= node.local) {
    node.own_until = never;
  }
  const bool wants = node.core.want_rx_start();
  node.shown.reserved_until = wants ? node.own_until : std::max(node.own_until, node.local + node.core.nav_left_us());
  node.contending = node.core.contending();
  node.waits = timer != no_timer;
  node.access_at = node.contending ? wakes_.of(id) : never;
  node.backoff_running = node.core.backoff_running();
  node.backoff_slots = node.core.backoff_slots();
  if (wants != node.shown.nav_stands) return;
  node.shown.nav_stands = !wants;
  medium_.set_wants_rx_start(id, wants, now_);
}

template <rtl_node node_model>
void scheduler<node_model>::serve_deferred() {
  for (std::size_t index = 0; index < deferred_.size(); ++index) {
    const deferred_request next = deferred_[index];  // a copy: callbacks may add more
    --nodes_[next.node].deferred;
    evaluate(next.node, &next.request);
  }
  deferred_.clear();
}

template <rtl_node node_model>
const air_counters& scheduler<node_model>::counters() {
  counters_.rtl_s = times_.rtl_s();
  counters_.medium_s = times_.medium_s();
  return counters_;
}

}  // namespace

// ---- The interface

void listener::write_msdu(node_id, const tx_request& request, std::vector<std::uint8_t>& msdu) {
  append_pattern(msdu, msdu_bytes(request), request.payload);
}

air::air(const air_config& config, listener& listener) {
  if (config.mac.profile == nullptr) throw std::invalid_argument("mac.profile: not set");
  if (config.nodes.empty()) throw std::invalid_argument("nodes: there must be at least one");
  switch (config.mac.fidelity) {
    case mac_fidelity::core:
      impl_ = std::make_unique<scheduler<core_node>>(config, listener);
      break;
    case mac_fidelity::bytes:
      impl_ = std::make_unique<scheduler<bytes_node>>(config, listener);
      break;
    case mac_fidelity::samples:
      impl_ = samples::make_samples_air(config, listener);
      break;
  }
}

air::~air() = default;

tick air::now() const { return impl_->now(); }
tick air::next_event() const { return impl_->next_event(); }
void air::advance(tick until) { impl_->advance(until); }
void air::advance_one() {
  const tick next = impl_->next_event();
  if (next != never) impl_->advance(next);
}
bool air::can_submit(node_id node) const { return impl_->can_submit(node); }
void air::submit(node_id node, const tx_request& request) { impl_->submit(node, request); }
void air::move(node_id node, node_position to, double speed_mps) { impl_->move(node, to, speed_mps); }
void air::set_blocked(node_id one, node_id other, bool blocked) { impl_->set_blocked(one, other, blocked); }
neighbour_snapshot air::take_neighbour(node_id node, std::uint8_t slot, std::uint8_t bin) { return impl_->take_neighbour(node, slot, bin); }
void air::set_silent(node_id node, bool silent) { impl_->set_silent(node, silent); }
bool air::in_range(node_id from, node_id to) { return impl_->in_range(from, to); }
node_position air::position(node_id node, tick at) const { return impl_->position(node, at); }
void air::set_frame_error_rate(double frame_error_rate) { impl_->set_frame_error_rate(frame_error_rate); }
const air_counters& air::counters() const { return impl_->counters(); }

}  // namespace perhop::air
