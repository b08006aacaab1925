// SPDX-License-Identifier: GPL-2.0-or-later
/// Packets that the shim holds back between TCP and the queue: of each flow whose TCP ACKs are thinned the newest one, and of
/// each flow that is paced all whose time has not come, in order.
///
/// The shim decides, and keeps no packet; this keeps them and decides nothing. All release times stand in one heap.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/core/policy/time.hpp"
#include "host/core/shim/deadline_queue.hpp"
#include "host/core/shim/flow_table.hpp"
#include "host/core/shim/shim.hpp"

namespace perhop::hop {

using policy::time_us;

enum class held_back : std::uint8_t { no, kept, lost };

/// What became of packets in the room, for the host's statistics.
enum class room_event : std::uint8_t {
  tcp_ack_held,      ///< TCP wanted to send it; it waits
  tcp_ack_due,       ///< one that was held goes by the timer
  tcp_ack_repeated,  ///< the last one goes again
  paced,             ///< waits for its time
  paced_lost,        ///< too many of its flow wait
};

/// @tparam packet an outgoing
/// @tparam host has  std::uint32_t window_packets(const shim::ip_packet_view&)   congestion window of the own TCP now; 0: unknown
///                   void on_room(room_event, const shim::ip_packet_view&)
template <typename packet, typename host>
class waiting_room {
public:
  /// Of one flow. TCP's window bounds what waits for its time; this does, too.
  static constexpr std::size_t most_paced_packets = 1024;

  explicit waiting_room(host& told) : host_(told) {}

  /// This node's TCP sends a packet. @return `no`: it goes on at once; else it has been moved from
  held_back offer(time_us now, shim::shim& shim, packet& what) {
    if (!shim.holds_back() && flows_.empty()) return held_back::no;
    const shim::flow_key key = what.view.flow;
    const bool thinned = shim.policy_of(key.reversed()).tcp_ack.kind != policy::tcp_ack_kind::every;
    const bool paced = shim.policy_of(key).paces();
    if (!thinned && !paced && !flows_.contains(key)) return held_back::no;
    // A connection that begins anew sends nothing of the old one.
    if (what.view.tcp.syn) drop_waiting(key);
    // Of a flow that is paced, the shim sees what TCP sends before it waits.
    if (shim.on_tcp_ack(now, what.view) == policy::tcp_ack_action::hold) {
      host_.on_room(room_event::tcp_ack_held, what.view);
      flow_of(key).held_tcp_ack = std::move(what);
      return held_back::kept;
    }
    if (const auto known = flows_.find(key); known != flows_.end()) slots_[known->second].held_tcp_ack.reset();
    if (thinned && what.view.tcp.is_bare_tcp_ack()) flow_of(key).sent_tcp_ack = what;
    return pace(now, shim, what, paced);
  }

  /// When something here is due. The shim's own deadlines are not among them.
  std::optional<time_us> next_release() const {
    const auto first = releases_.first();
    return first ? std::optional(first->deadline) : std::nullopt;
  }

  /// Sends what is due, by send(packet&&).
  template <typename sender>
  void expire(time_us now, shim::shim& shim, sender&& send) {
    std::array<shim::tcp_ack_due, 8> due;
    std::size_t count = 0;
    do {
      count = shim.expire(now, due);
      for (std::size_t i = 0; i < count; ++i) send_tcp_ack(due[i], send);
    } while (count == due.size());
    for (auto first = releases_.first(); first && first->deadline <= now; first = releases_.first()) {
      flow& paced = slots_[first->slot];
      packet next = std::move(paced.waiting.front());
      paced.waiting.pop_front();
      // The next one's time is asked for when it is the next one, so that it follows the path as it is now.
      if (paced.waiting.empty()) {
        paced.most_waiting = 0;
        releases_.set(first->slot, std::nullopt);
      } else {
        releases_.set(first->slot, release_of(now, shim, paced.waiting.front(), paced.most_waiting));
      }
      send(std::move(next));
    }
  }

  /// The policy has changed: what waits of flows that are not paced any more goes.
  void on_policy(time_us now, const shim::shim& shim) {
    for (const auto& [key, slot] : flows_) {
      const bool paced = shim.policy_of(key).paces();
      if (!paced && !slots_[slot].waiting.empty()) releases_.set(slot, now);
    }
  }

  /// Of this flow, packets wait for their time.
  bool paces(const shim::flow_key& key) const {
    const auto found = flows_.find(key);
    return found != flows_.end() && !slots_[found->second].waiting.empty();
  }

  /// Lets go of all that is kept of a flow.
  void forget(const shim::flow_key& key) {
    const auto found = flows_.find(key);
    if (found == flows_.end()) return;
    releases_.set(found->second, std::nullopt);
    slots_[found->second] = {};
    free_.push_back(found->second);
    flows_.erase(found);
  }

  void clear() {
    while (!flows_.empty()) forget(shim::flow_key(flows_.begin()->first));
  }

  /// Packets kept of all flows, copies that may be sent again not counted.
  std::size_t size() const {
    std::size_t kept = 0;
    for (const flow& flow : slots_) kept += flow.waiting.size() + (flow.held_tcp_ack ? 1 : 0);
    return kept;
  }

private:
  struct flow {
    std::optional<packet> held_tcp_ack{};
    std::optional<packet> sent_tcp_ack{};  ///< the last bare one
    std::deque<packet> waiting{};
    std::size_t most_waiting = 0;  ///< since none did
  };
  struct key_hash {
    std::size_t operator()(const shim::flow_key& key) const { return static_cast<std::size_t>(shim::flow_table::hash(key)); }
  };

  std::uint32_t slot_of(const shim::flow_key& key) {
    const auto [found, made] = flows_.try_emplace(key, 0);
    if (made) {
      if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
        releases_.grow(slots_.size());
      }
      found->second = free_.back();
      free_.pop_back();
    }
    return found->second;
  }
  flow& flow_of(const shim::flow_key& key) { return slots_[slot_of(key)]; }

  void drop_waiting(const shim::flow_key& key) {
    const auto found = flows_.find(key);
    if (found == flows_.end()) return;
    slots_[found->second].waiting.clear();
    slots_[found->second].most_waiting = 0;
    releases_.set(found->second, std::nullopt);
  }

  time_us release_of(time_us now, shim::shim& shim, const packet& what, std::size_t most_waiting) {
    shim::ip_packet_view view = what.view;
    view.tcp.congestion_window_packets = host_.window_packets(view);
    return shim.release_time(now, view, static_cast<std::uint32_t>(most_waiting));
  }

  held_back pace(time_us now, shim::shim& shim, packet& what, bool paced) {
    const auto known = flows_.find(what.view.flow);
    if (known != flows_.end() && !slots_[known->second].waiting.empty()) {
      flow& paced_flow = slots_[known->second];
      const bool room = paced_flow.waiting.size() < most_paced_packets;
      host_.on_room(room ? room_event::paced : room_event::paced_lost, what.view);
      if (room) paced_flow.waiting.push_back(std::move(what));
      paced_flow.most_waiting = std::max(paced_flow.most_waiting, paced_flow.waiting.size());
      return room ? held_back::kept : held_back::lost;
    }
    if (!paced) return held_back::no;
    const time_us release = release_of(now, shim, what, 1);
    if (release <= now) return held_back::no;
    host_.on_room(room_event::paced, what.view);
    const std::uint32_t slot = slot_of(what.view.flow);
    slots_[slot].waiting.push_back(std::move(what));
    slots_[slot].most_waiting = 1;
    releases_.set(slot, release);
    return held_back::kept;
  }

  template <typename sender>
  void send_tcp_ack(const shim::tcp_ack_due& due, sender&& send) {
    const auto found = flows_.find(due.flow);
    if (found == flows_.end()) return;
    flow& flow = slots_[found->second];
    if (due.release == policy::tcp_ack_release::send_held && flow.held_tcp_ack) {
      host_.on_room(room_event::tcp_ack_due, flow.held_tcp_ack->view);
      flow.sent_tcp_ack = std::exchange(flow.held_tcp_ack, std::nullopt);
    } else if (due.release == policy::tcp_ack_release::send_again && flow.sent_tcp_ack) {
      host_.on_room(room_event::tcp_ack_repeated, flow.sent_tcp_ack->view);
    } else {
      return;
    }
    send(packet(*flow.sent_tcp_ack));
  }

  host& host_;
  std::unordered_map<shim::flow_key, std::uint32_t, key_hash> flows_;
  std::deque<flow> slots_;  ///< a deque: a flow stays where it is while its packets are sent
  std::vector<std::uint32_t> free_;
  shim::deadline_queue releases_{0};
};

}  // namespace perhop::hop
