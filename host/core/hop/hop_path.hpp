// SPDX-License-Identifier: GPL-2.0-or-later
/// A packet's way through a node, between IP and the MAC, once for all hosts: the simulator's node, the daemon, and EXACT's studies.
///
///   IP sends         -> waiting room (TCP ACKs that are thinned, data that is paced) -> path header -> queue -> MAC
///   radio, for here  -> shim -> IP
///   radio, for there -> path header -> queue -> MAC
///   either of them   -> path header -> wire, when the next hop is reached by one
///   queue            -> MAC; best effort not before its time, where the node slows it
///   MAC completes    -> what its slot of the neighbour table held before is taken out -> shim -> next frames to the MAC
///
/// Sans I/O, in the manner of Linux's codel_impl.h: the algorithm is here, and the packet, IP above, the MAC below and what else the
/// host knows are its parameter. Time is microseconds and never goes back. Not thread safe.
///
/// `host` has the types and members below. None of them may call the hop path, except submit(), which may complete earlier frames.
///
///   content, frame                               what outgoing<content> moves, and what the MAC is given
///   optional<uint64> receiver_of(packet&)        MAC address of the next hop; nothing: there is none, which the host has counted
///   shim::next_hop describe(const packet&, uint64 receiver, uint8 peer)    rate, and the whole MPDU with path header and rider
///   void before_leaving(packet&)                 what the own TCP knows of a packet from here is written into its view
///   void on_left(now, packet&, uint64 receiver, const path_header&, uint64 arrived_bps)     it has passed the shim
///   frame make(now, packet&&, const path_header&, uint64 receiver, const shim::next_hop&)
///   frame make_hello(now, span<const uint8>, uint8 peer, uint32 mpdu_bytes)     a broadcast frame of an EXACT router
///   bool mac_is_up()                             the MAC is there
///   bool can_submit()                            it has room
///   void submit(now, queue entry&&)              it may refuse, which the host counts
///   void on_lost(const view&, loss)              a packet that had passed IP
///   void on_purged(frame&&)                      a frame that waited for a neighbour which does not answer
///   uint32 node_of(uint64 address)               by which EXACT's hellos name the node with this MAC address
///   window_packets, on_room                      see waiting_room
///
/// A host that marks packets (a policy's part `ecn`, or `abc`) has this one, too:
///
///   size_t packets_in_mac()                      given to the MAC, which is not done with them
///
/// and for those which have met congestion (`ecn`):
///
///   void mark_congestion(packet&)                in its bytes, and in its view
///
/// A host whose node has wires besides the MAC, and lets path headers cross them, has these, too:
///
///   bool is_wired(uint64 receiver)               a wire leads there
///   bool send_on_wire(packet&&, const path_header&, uint64 receiver)     @return false when the wire lost it, which the host counts
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "host/core/hop/frame_queue.hpp"
#include "host/core/hop/outgoing.hpp"
#include "host/core/hop/peer_slots.hpp"
#include "host/core/hop/slot_history.hpp"
#include "host/core/hop/waiting_room.hpp"
#include "host/core/policy/best_effort_rate.hpp"
#include "host/core/policy/delay_estimator.hpp"
#include "host/core/shim/shim.hpp"
#include "host/core/wire/hello.hpp"

namespace perhop::hop {

enum class loss : std::uint8_t { queue_full };

/// The MAC is done with a frame.
struct completed_frame {
  std::uint64_t receiver_address = 0;
  policy::neighbour_averages averages{};
  service_sample sample{};
  std::uint32_t service_us = 0;  ///< from the head of the MAC's queue to its end
  bool delivered = false;
  bool unanswered = false;                    ///< given up at a retry limit: the neighbour did not answer
  std::optional<completion_record> record{};  ///< where shim::wants_records asks for it
};

template <typename host>
class hop_path {
public:
  using packet = outgoing<typename host::content>;
  using frame = typename host::frame;
  using entry = typename frame_queue<frame>::entry;

  hop_path(host& owner, std::size_t queue_packets) : host_(owner), room_(owner), queue_(queue_packets) {}

  hop_path(const hop_path&) = delete;
  hop_path& operator=(const hop_path&) = delete;

  /// A MAC has come: connections begin anew. Before the first one, nothing may be sent. The queue stays.
  void start(const shim::shim_config& config) {
    shim_.emplace(config);
    room_.clear();
    told_ = {};
  }
  /// From now on best effort is slowed, and packets that are marked as real-time go first.
  void slow_best_effort(const policy::swan_settings& settings) { best_effort_.emplace(settings); }
  /// The MAC's neighbour table is another one, or an old one after a break. @param average_shift a new sample weighs 2^-this
  void restart_averages(std::uint8_t average_shift) { history_.restart(average_shift); }

  bool started() const { return shim_.has_value(); }
  shim::shim& shim() { return *shim_; }
  const shim::shim& shim() const { return *shim_; }

  // ---- From IP, and on from the radio

  /// This node's IP sends a packet. @return false when it was lost
  bool send(time_us now, packet&& what) {
    if (what.from == origin::here && what.view.flow.protocol == shim::ip_protocol_tcp) {
      const held_back held = room_.offer(now, *shim_, what);
      if (held != held_back::no) return held == held_back::kept;
    }
    return pass(now, std::move(what));
  }

  /// A packet goes to the queue now: one of IP after all waiting, or one that came over the radio. @param stamp false: a router
  /// that leaves headers as they are. @return false when it was lost
  bool pass(time_us now, packet&& what, bool stamp = true) {
    const std::optional<std::uint64_t> receiver = host_.receiver_of(what);
    if (!receiver) return false;
    if constexpr (requires { host_.is_wired(*receiver); }) {
      if (host_.is_wired(*receiver)) {
        const shim::next_hop wire{.medium = shim::hop_medium::wired};
        const wire::path_header header = stamped(now, what, *receiver, wire, stamp);
        return host_.send_on_wire(std::move(what), header, *receiver);
      }
    }
    if (queue_.full()) {
      host_.on_lost(what.view, loss::queue_full);
      return false;
    }
    const std::uint8_t peer = peer_of(*receiver);
    const shim::next_hop next = host_.describe(what, *receiver, peer);
    const wire::path_header header = stamped(now, what, *receiver, next, stamp);
    const std::uint8_t priority = best_effort_ && what.view.expedited ? std::max(what.priority, queue_priority::real_time) : what.priority;
    frame made = host_.make(now, std::move(what), header, *receiver, next);
    push(now, {.receiver_address = *receiver, .mpdu_bytes = next.mpdu_bytes, .what = std::move(made), .priority = priority});
    return true;
  }

  /// A frame without a path header goes to the queue. @return false when it was lost
  template <typename maker>
  bool pass_plain(time_us now, const shim::ip_packet_view& view, std::uint64_t receiver, maker&& make) {
    if (queue_.full()) {
      host_.on_lost(view, loss::queue_full);
      return false;
    }
    const std::uint8_t peer = peer_of(receiver);
    push(now, make(receiver, peer));
    return true;
  }

  /// A packet for this node arrived.
  shim::receive_verdict receive(time_us now, const std::optional<wire::path_header>& header, const shim::ip_packet_view& view) {
    return shim_->on_receive(now, header, view);
  }

  // ---- The MAC

  struct completion_outcome {
    policy::neighbour_averages averages{};  ///< without what the slot held before
    bool peer_lost = false;                 ///< as shim::on_completion tells
  };

  /// The MAC is done with a frame. Call pump() then. @param purge drops what waits for a neighbour that did not answer
  /// @return nothing: the slot has been given to another neighbour since
  std::optional<completion_outcome> on_completion(time_us now, const completed_frame& done, bool purge = false) {
    std::optional<completion_outcome> outcome;
    if (best_effort_) best_effort_->on_completion(now, done.service_us);
    if (shim_->brakes()) shim_->on_served(now, done.service_us);
    if (done.record) shim_->on_record(now, *done.record);
    if (peers_.is_of(done.averages.peer, done.receiver_address)) {
      outcome.emplace();
      outcome->averages = history_.without_history(done.receiver_address, done.averages, done.sample);
      outcome->peer_lost = shim_->on_completion(now, outcome->averages, done.delivered);
    }
    if (purge && done.unanswered) this->purge(done.receiver_address);
    return outcome;
  }

  /// Drops what waits for a neighbour.
  void purge(std::uint64_t receiver) {
    queue_.take_out(receiver, [this](frame&& unwanted) { host_.on_purged(std::move(unwanted)); });
  }

  /// The MAC may have room.
  void pump(time_us now) {
    while (!queue_.empty() && host_.can_submit()) {
      if (slowed()) {
        if (best_effort_->next_send() > now) break;
        best_effort_->on_send(now, queue_.front().mpdu_bytes);
      }
      host_.submit(now, queue_.pop());
    }
    tell_queue();
  }

  /// Makes it known that packets to this neighbour leave here.
  std::uint8_t peer_of(std::uint64_t receiver) {
    const peer_slots::slot slot = peers_.of(receiver);
    if (slot.replaced) shim_->on_neighbour_replaced(slot.index);
    if (shim_->exact() != nullptr && receiver != broadcast_address && told_[slot.index] != receiver) {
      told_[slot.index] = receiver;
      shim_->exact()->set_peer_node(slot.index, host_.node_of(receiver));
    }
    return slot.index;
  }

  // ---- EXACT's hellos

  /// @return false when the bytes are no hello, or this node has no router
  bool on_hello(time_us now, std::span<const std::uint8_t> content) {
    const auto hello = shim_->exact() != nullptr ? wire::decode_hello(content) : std::nullopt;
    if (hello) shim_->exact()->on_hello(now, *hello);
    return hello.has_value();
  }

  // ---- Time

  std::optional<time_us> next_deadline() const {
    if (!shim_) return std::nullopt;
    const auto earlier = [](std::optional<time_us> one, std::optional<time_us> other) {
      return one && other ? std::min(*one, *other) : one ? one : other;
    };
    const std::optional<time_us> due = earlier(shim_->next_deadline(), room_.next_release());
    return slowed() && host_.can_submit() ? earlier(due, best_effort_->next_send()) : due;
  }

  /// next_deadline() has come: sends what is due.
  void expire(time_us now) {
    if (!shim_) return;
    room_.expire(now, *shim_, [this, now](packet&& due) { pass(now, std::move(due)); });
    send_hello(now);
    if (best_effort_) pump(now);
  }

  void set_policy(time_us now, const shim::flow_policy& policy) {
    shim_->set_policy(policy);
    room_.on_policy(now, *shim_);
  }

  waiting_room<packet, host>& room() { return room_; }
  const waiting_room<packet, host>& room() const { return room_; }
  const frame_queue<frame>& queue() const { return queue_; }
  const peer_slots& peers() const { return peers_; }

private:
  /// The header of a packet that leaves for `next`.
  wire::path_header stamped(time_us now, packet& what, std::uint64_t receiver, const shim::next_hop& next, bool stamp) {
    const std::uint64_t arrived_bps = what.header ? what.header->explicit_rate_bps : what.view.exact.wanted_rate_bps;
    wire::path_header header;
    if (what.header) {
      header = *what.header;
      if (stamp) shim_->on_forward(now, header, what.view, next);
    } else if (what.from == origin::here) {
      host_.before_leaving(what);
      header = shim_->on_originate(now, what.view, next);
    } else {
      header = shim_->on_forward_plain(now, what.view, next);
      header.wired_hop_seen |= what.from == origin::elsewhere;
    }
    if constexpr (requires { host_.mark_congestion(what); }) {
      if (shim_->marks() && next.medium == shim::hop_medium::wireless &&
          shim_->congested(what.view, header, next, queue_.size() + host_.packets_in_mac())) {
        host_.mark_congestion(what);
      }
    }
    if constexpr (requires { host_.packets_in_mac(); }) {
      if (stamp && shim_->brakes() && next.medium == shim::hop_medium::wireless) {
        shim_->brake(now, header, what.view, next, queue_.size() + host_.packets_in_mac());
      }
    }
    host_.on_left(now, what, receiver, header, arrived_bps);
    return header;
  }

  void push(time_us now, entry&& last) {
    queue_.push(std::move(last));
    // What waits already goes when the MAC is done with a frame; but it may wait for its time alone, and this go before it.
    if (queue_.size() == 1 || best_effort_) {
      pump(now);
    } else {
      tell_queue();
    }
  }

  /// What would go next is best effort, and its time decides when.
  bool slowed() const { return best_effort_ && !queue_.empty() && queue_.front().priority < queue_priority::real_time; }

  void tell_queue() {
    if (shim_ && shim_->exact() != nullptr) shim_->exact()->on_queue(queue_.bytes());
  }

  void send_hello(time_us now) {
    const auto hello = shim_->exact() != nullptr ? shim_->exact()->take_hello(now) : std::nullopt;
    if (!hello || !host_.mac_is_up()) return;
    const std::vector<std::uint8_t> content = wire::encode(*hello);
    pass_plain(now, {}, broadcast_address, [&](std::uint64_t receiver, std::uint8_t peer) {
      const auto mpdu_bytes = static_cast<std::uint32_t>(mac_header_bytes + llc_snap_bytes + content.size() + fcs_bytes);
      return entry{.receiver_address = receiver, .mpdu_bytes = mpdu_bytes, .what = host_.make_hello(now, content, peer, mpdu_bytes)};
    });
  }

  host& host_;
  std::optional<shim::shim> shim_;
  waiting_room<packet, host> room_;
  frame_queue<frame> queue_;
  peer_slots peers_;
  slot_history history_;
  std::optional<policy::best_effort_rate> best_effort_;  ///< nothing: all goes when the MAC has room
  std::array<std::uint64_t, neighbour_slots> told_{};    ///< MAC addresses by slot, as the EXACT router knows them
};

}  // namespace perhop::hop
