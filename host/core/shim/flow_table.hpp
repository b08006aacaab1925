// SPDX-License-Identifier: GPL-2.0-or-later
//
// Soft state of connections: a hash table of bounded size that forgets what is idle, and forgets the connection that was
// idle longest when it is full. Memory is taken as connections come, kept when they go, and never more than the bound needs:
// most nodes of a large network have few connections or none.
//
// Connections that only strangers speak of (anybody can send a SYN, or an answer to nothing) have a room of their own, so
// that a flood of them pushes none out that this node's own end takes part in.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "host/core/policy/congestion_window_limit.hpp"
#include "host/core/policy/delayed_tcp_ack.hpp"
#include "host/core/policy/own/own_policy.hpp"
#include "host/core/policy/pacing.hpp"
#include "host/core/policy/path_measurement.hpp"
#include "host/core/policy/path_tuner.hpp"
#include "host/core/policy/time.hpp"
#include "host/core/shim/deadline_queue.hpp"
#include "host/core/shim/packet_view.hpp"
#include "host/core/shim/round_trip_timer.hpp"
#include "host/core/shim/sent_window.hpp"
#include "host/core/wire/path_header.hpp"

namespace perhop::shim {

using policy::time_us;

/// How far a TCP connection is open, as this node's own end tells it. What arrives may be from anybody.
enum class handshake : std::uint8_t {
  unknown,    ///< the connection is older than this table, or no TCP
  opening,    ///< the own end has sent a SYN
  answering,  ///< the own end has answered a SYN
  done,       ///< the own end sends data or bare TCP ACKs, or the other end has acknowledged the own SYN
};

/// What a node remembers of a connection. Keyed by the direction that this node originates. Small members stand together: there
/// may be very many of these.
struct flow_state {
  // The other direction's packets as they arrived here; goes back in the echo. Under ABC its rate holds the counts of marks.
  wire::path_echo echo;
  bool heard = false;
  bool heard_with_payload = false;

  handshake phase = handshake::unknown;
  bool sent = false;
  bool signed_segments = false;
  bool timestamps = false;
  std::uint16_t largest_arrival_bytes = 0;  // of data from the other end
  std::uint32_t initial_sequence = 0;       // of the own SYN; from `opening` on

  // What a full segment of this node is.
  std::uint16_t segment_bytes = 0;     // told by the caller; wins over the options below
  std::uint16_t mss_option_bytes = 0;  // smallest of the SYNs seen
  std::uint32_t largest_payload_bytes = 0;

  // The limit on what this node sends.
  std::uint32_t packets_in_flight = 0;      // with the segment sent last
  std::uint32_t own_packets_in_flight = 0;  // with the packet sent last, as TCP tells where it does
  sent_window in_flight;
  std::unique_ptr<policy::own_policy> own;  // of the parts of kind `own` below, which point to it
  policy::congestion_window_limit limit;
  std::optional<policy::path_measurement> last_path;
  round_trip_timer round_trip;
  policy::pacer pacer;
  policy::path_tuner tuner;

  // The other direction's data: which TCP ACKs for it this node sends.
  std::unique_ptr<policy::own_policy> own_at_receiver;
  policy::delayed_tcp_ack tcp_ack;
};

/// Whose word there is for a connection.
enum class flow_witness : std::uint8_t { stranger, own_end };

class flow_table {
public:
  /// @param capacity connections of this node's own end held at most, at least 1
  /// @param strangers connections held beside them that only strangers speak of, at least 1
  flow_table(std::size_t capacity, time_us idle_us, std::size_t strangers = 1);
  /// A state may hold an object of a policy that nobody can copy.
  flow_table(const flow_table&) = delete;
  flow_table& operator=(const flow_table&) = delete;
  flow_table(flow_table&&) = default;
  flow_table& operator=(flow_table&&) = default;

  struct access {
    flow_state* state;
    std::uint32_t slot;  ///< valid until the connection is forgotten
    bool created;
    std::uint32_t expired;  ///< connections forgotten by this call because they were idle
    bool evicted;           ///< one more was forgotten to make room
  };

  /// Finds or makes the state of `key` and marks it as used now. A connection that the own end has once spoken for stays
  /// one of its own.
  access use(time_us now, const flow_key& key, flow_witness witness = flow_witness::own_end);

  /// Looks without marking. @return null when unknown
  const flow_state* find(const flow_key& key) const;
  flow_state* find(const flow_key& key);

  /// The state in a slot that first_deadline() or use() told.
  flow_state& at(std::uint32_t slot) { return entries_[slot].state; }
  const flow_key& key_at(std::uint32_t slot) const { return entries_[slot].key; }
  std::optional<std::uint32_t> slot_of(const flow_key& key) const;

  /// Calls visit(slot) for every connection.
  template <typename visitor>
  void for_each(visitor visit) const {
    for (const age_list& list : lists_) {
      for (std::uint32_t slot = list.newest; slot != none; slot = entries_[slot].older) visit(slot);
    }
  }

  /// The connection waits for this moment, or for none. Forgotten together with the connection.
  void set_deadline(std::uint32_t slot, std::optional<time_us> deadline) { deadlines_.set(slot, deadline); }
  std::optional<deadline_queue::first_deadline> first_deadline() const { return deadlines_.first(); }

  /// Connections that were forgotten while a TCP ACK of theirs was held: whoever keeps it must send it. As many are kept
  /// as connections may be; of more, the caller has not asked for long.
  std::vector<flow_key>& forgotten_holds() { return forgotten_holds_; }
  const std::vector<flow_key>& forgotten_holds() const { return forgotten_holds_; }

  /// Whoever keeps a TCP ACK of this connection must send it now.
  void release_hold(const flow_key& key) {
    if (forgotten_holds_.size() < most_entries()) forgotten_holds_.push_back(key);
  }

  /// The caller has sent what it kept of this connection, or something in its place.
  void settle_hold(const flow_key& key) { std::erase(forgotten_holds_, key); }

  /// Spreads keys well; for other tables of connections.
  static std::uint64_t hash(const flow_key& key);

  /// Connections that the own end takes part in, and how many there may be.
  std::size_t size() const { return list_of(flow_witness::own_end).size; }
  std::size_t capacity() const { return list_of(flow_witness::own_end).capacity; }
  /// Connections that only strangers speak of.
  std::size_t strangers() const { return list_of(flow_witness::stranger).size; }

private:
  static constexpr std::uint32_t none = UINT32_MAX;

  struct entry {
    flow_key key;
    flow_state state;
    flow_witness witness = flow_witness::stranger;
    time_us last_used = 0;
    std::uint32_t newer = none;  // in its list
    std::uint32_t older = none;
  };

  /// From the entry idle longest to the one used last.
  struct age_list {
    std::size_t capacity = 1;
    std::size_t size = 0;
    std::uint32_t oldest = none;
    std::uint32_t newest = none;
  };

  age_list& list_of(flow_witness witness) { return lists_[static_cast<std::size_t>(witness)]; }
  const age_list& list_of(flow_witness witness) const { return lists_[static_cast<std::size_t>(witness)]; }

  std::size_t most_entries() const { return lists_[0].capacity + lists_[1].capacity; }
  std::size_t home(const flow_key& key) const { return static_cast<std::size_t>(hash(key)) & mask_; }
  std::uint32_t find_index(const flow_key& key) const;
  std::uint32_t free_entry();
  void put_in_bucket(std::uint32_t index);
  void append_newest(std::uint32_t index);
  void unlink(std::uint32_t index);
  void forget_oldest(flow_witness witness);
  bool make_room(flow_witness witness);

  time_us idle_us_;
  std::size_t mask_;
  std::vector<std::uint32_t> buckets_;  // open addressing, linear probing; entry index or none
  std::deque<entry> entries_;           // a deque: a connection stays where it is while others come
  std::vector<std::uint32_t> free_;
  deadline_queue deadlines_{0};
  std::vector<flow_key> forgotten_holds_;
  std::array<age_list, 2> lists_;  // by witness
};

}  // namespace perhop::shim
