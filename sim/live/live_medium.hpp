// SPDX-License-Identifier: GPL-2.0-or-later
/// The emulated medium as the daemons of live nodes see it: messages in, messages out (air_* of gateware/spec/frames.yaml).
///
/// Neither sockets nor clock: the owner hands over messages of numbered connections, tells the time, and sends what it is
/// given. Daemons come and go; the MACs and what they have been given stay.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "host/core/wire/generated/frames.hpp"
#include "sim/air/air.hpp"
#include "sim/live/lateness.hpp"
#include "sim/run/mac_registers.hpp"
#include "sim/run/run_config.hpp"

namespace perhop::live {

using connection_id = std::uint64_t;
inline constexpr connection_id no_connection = 0;

/// Where messages to daemons go.
class outlet {
public:
  virtual ~outlet() = default;
  /// @return false when the message could not be sent: the other end does not read, or is gone
  virtual bool send(connection_id to, std::span<const std::uint8_t> message) = 0;
  /// Ends the connection; live_medium has already forgotten it.
  virtual void close(connection_id connection) = 0;
};

/// Counted since the start.
struct medium_counters {
  std::uint64_t sent = 0;                 ///< air_send taken
  std::uint64_t delivered = 0;            ///< air_reception sent
  std::uint64_t completed = 0;            ///< completions of the MACs
  std::uint64_t malformed = 0;            ///< messages refused: unknown, too short, out of range
  std::uint64_t over_credit = 0;          ///< air_send beyond the credits
  std::uint64_t receptions_lost = 0;      ///< a daemon did not read
  std::uint64_t receptions_unheard = 0;   ///< nobody was there for the node
  std::uint64_t completions_unheard = 0;  ///< ... or the daemon that sent the packet is gone
  std::uint64_t connections = 0;          ///< of nodes
  std::uint64_t slips = 0;                ///< the medium's time was put off, because it was too late to catch up
  std::uint64_t slipped_us = 0;
};

class live_medium : private air::listener {
public:
  /// Packets that a daemon may have waiting here and in its MAC. The MAC holds few; the queue is the daemon's.
  static constexpr std::uint8_t send_credits = 4;

  /// @param config its events hold from the beginning, whatever their times
  live_medium(const run::run_config& config, outlet& out);

  air::tick now() const { return medium_.now(); }
  air::tick next_event() const { return medium_.next_event(); }

  /// Processes what is due at `now` and before. Events that are seen late are noted.
  /// @param clock the time now, asked after each event
  template <typename Clock>
  void advance(air::tick now, Clock&& clock) {
    while (medium_.next_event() <= now) {
      medium_.advance_one();
      const air::tick seen = clock();
      lateness_.add(seen > medium_.now() ? seen - medium_.now() : 0);
      serve();
    }
    if (now > medium_.now()) medium_.advance(now);
  }

  void on_message(connection_id from, std::span<const std::uint8_t> message);
  void on_closed(connection_id connection);

  /// Whether it is the connection of a node's daemon.
  bool is_of_a_node(connection_id connection) const { return node_of(connection) < nodes_.size(); }

  void note_slip(std::uint64_t slipped_us) {
    ++counters_.slips;
    counters_.slipped_us += slipped_us;
  }

  const medium_counters& counters() const { return counters_; }
  const lateness_histogram& lateness() const { return lateness_; }

  /// Counters, lateness and who is connected, as JSON.
  std::string status() const;

private:
  struct slot {
    air::node_id node = 0;
    connection_id connection = no_connection;  ///< whose packet it is; no_connection: the slot is free
    std::uint32_t cookie = 0;
    std::vector<std::uint8_t> msdu;
  };
  struct node {
    connection_id connection = no_connection;
    std::uint32_t outstanding = 0;  ///< of this connection
    std::deque<air::tx_request> waiting;
    run::mac_statistics statistics;
  };
  struct lingering_slot {
    std::uint64_t index;
    air::tick until;
  };

  void on_hello(connection_id from, std::span<const std::uint8_t> message);
  void on_send(air::node_id id, std::span<const std::uint8_t> message);
  void on_registers(air::node_id id, std::span<const std::uint8_t> message);
  void on_command(connection_id from, std::span<const std::uint8_t> text);
  std::string command(std::span<const std::uint8_t> text);
  void serve();
  void submit_waiting(air::node_id id);
  std::uint64_t take_slot();
  void release(std::uint64_t index);
  std::uint32_t node_of(connection_id connection) const;
  void leave(air::node_id id);
  void disconnect(air::node_id id);
  void refuse_send(air::node_id id);

  void on_transmission(const air::transmission& frame) override { nodes_[frame.node].statistics.note_sent(frame); }
  void on_delivery(air::tick now, air::node_id to, const air::transmission& frame) override;
  void on_completion(air::tick now, const air::completion& record) override;

  const run::run_config& config_;
  outlet& out_;
  std::vector<node> nodes_;
  std::vector<run::mac_registers> registers_;  ///< of each node
  std::vector<slot> slots_;
  std::vector<std::uint64_t> free_;
  std::deque<lingering_slot> lingering_;
  std::vector<connection_id> controllers_;
  std::vector<std::uint8_t> message_;
  medium_counters counters_;
  lateness_histogram lateness_;
  bool work_ = false;  ///< a MAC may have room again
  air::air medium_;    // last: its listener is this object
};

}  // namespace perhop::live
