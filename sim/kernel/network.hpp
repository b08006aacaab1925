// SPDX-License-Identifier: GPL-2.0-or-later
/// The nodes of a run between their IP and the air: for each the daemon's packet path (host/node) over a MAC of sim/air.
///
/// A node forwards by itself; kernels are only where flows end. What a kernel's card sends comes in by send_ip(), what is for it goes to
/// a handler. The daemon's time is the run's, in microseconds; the run begins at a moment of the calendar at which kernels are up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/drivers/driver.hpp"
#include "host/node/kernel.hpp"
#include "host/node/packet_path.hpp"
#include "sim/air/air.hpp"
#include "sim/air/pcapng.hpp"
#include "sim/air/wake_tree.hpp"
#include "sim/kernel/calendar.hpp"
#include "sim/run/run_config.hpp"
#include "sim/run/run_report.hpp"
#include "sim/run/scripted_events.hpp"

namespace perhop::kernels {

/// What became of a flow's packets in the measured time.
struct flow_packets {
  std::uint64_t tcp_acks_sent = 0;  ///< without payload, by the receiver's node
  std::uint64_t mac_drops_data = 0, mac_drops_tcp_acks = 0;
  std::uint64_t queue_drops_data = 0, queue_drops_tcp_acks = 0;
};

/// Packets of IP, and their bytes.
struct packet_sum {
  std::uint64_t packets = 0, bytes = 0;

  void add(std::uint64_t ip_bytes) {
    ++packets;
    bytes += ip_bytes;
  }
};

/// What a node was given, and what became of it, in the whole run. What came in went out, was lost, or waits; only a TCP ACK that a
/// policy replaces by a later one is in none of them. What nodes say to each other is not counted: hellos and reports of EXACT.
struct node_ledger {
  /// What a node and one beside it had with each other.
  struct hop_ledger {
    packet_sum from_air;   ///< came from there
    packet_sum delivered;  ///< went there, and was acknowledged
    packet_sum mac_drops;  ///< the MAC gave it up; some of it may have got there
  };
  packet_sum from_ip, to_ip;
  packet_sum queue_drops;
  packet_sum waiting;  ///< in the queue and in the MAC when all was over
  std::map<air::node_id, hop_ledger> neighbours;
};

/// The packets of a flow's data, as its kernels make them.
shim::flow_key key_of(const run::flow_config& flow, std::size_t index);

class network final : public event_source, private air::listener {
public:
  using ip_handler = std::function<void(std::span<const std::uint8_t> packet)>;
  using rate_handler = std::function<void(std::size_t flow, std::uint64_t rate_bps)>;

  /// Everything must outlive the network. Nothing happens after the run's end.
  /// @param capture or null; @param begin when the run's time is 0
  network(const run::run_config& config, run::run_report& report, air::pcapng_writer* capture, time_ns begin);
  ~network() override;

  /// Who takes what is for this node's IP: at that moment, but not within the call that brought it.
  void set_ip(air::node_id node, ip_handler handler);

  /// Who is told what EXACT allows a flow whose policy is `paced exact`, whenever that changes.
  void set_rates(rate_handler handler) { on_rate_ = std::move(handler); }
  /// Nothing: the flow has no such rate, or not yet. Of IP packets.
  std::optional<std::uint64_t> allowed_rate_bps(std::size_t flow) const;

  /// This node's IP sends a packet, at a whole microsecond of the run.
  void send_ip(time_ns now, air::node_id node, std::span<const std::uint8_t> packet);

  time_ns next_event() const override;
  void act(time_ns now) override;
  /// Lets the air's time pass up to `now`, or up to the run's end. Requires that nothing was due before.
  void finish(time_ns now) { catch_up(std::min(tick_of(std::max(now, begin_)), end_)); }

  /// From now on each packet of TCP is told to `csv` on each of its hops, when the MAC is done with it. It must outlive the network.
  void tell_journeys(std::ostream& csv);

  const air::air& medium() const { return medium_; }
  const node::packet_path& path(air::node_id node) const;
  const flow_packets& packets_of(std::size_t flow) const { return flows_[flow]; }
  /// Packets that nodes have marked as having met congestion.
  std::uint64_t congestion_marks() const;
  /// What became of the packets of a node, up to now.
  node_ledger ledger_of(air::node_id node) const;
  /// Packets for the IP of a node that has none.
  std::uint64_t unclaimed() const { return unclaimed_; }

private:
  class mac;
  class routes;
  struct station;
  struct slot {
    air::node_id node = 0;
    std::uint32_t cookie = 0;
    std::vector<std::uint8_t> msdu;
  };

  air::tick tick_of(time_ns now) const { return (now - begin_) / 1000; }
  time_ns time_of(air::tick tick) const { return begin_ + 1000 * tick; }
  void catch_up(air::tick now);
  void touch(air::node_id node);
  void tell_rates(air::node_id node);
  void play(air::tick now);
  bool submit(air::node_id from, const drivers::send_request& request);
  void release(std::uint64_t index) { free_.push_back(index); }
  run::hop_traffic traffic_of(std::span<const std::uint8_t> msdu) const;
  void note_here(air::node_id node, std::span<const std::uint8_t> packet);
  void tell_journey(const air::completion& record, std::span<const std::uint8_t> packet);
  void count(air::tick now, const shim::ip_packet_view& view, std::uint64_t flow_packets::* data, std::uint64_t flow_packets::* tcp_acks);

  void on_transmission(const air::transmission& frame) override;
  void on_frame_bytes(const air::transmission& frame, air::byte_span psdu) override;
  void write_msdu(air::node_id node, const air::tx_request& request, std::vector<std::uint8_t>& msdu) override;
  void on_delivery(air::tick now, air::node_id to, const air::transmission& frame) override;
  void on_lost(const air::lost_frame& lost) override;
  void on_completion(air::tick now, const air::completion& record) override;

  const run::run_config& config_;
  run::run_report& report_;
  air::pcapng_writer* capture_;
  time_ns begin_;
  air::tick measure_from_, end_;
  std::map<std::pair<air::node_id, air::node_id>, air::node_id> next_hops_;  ///< by node and destination
  std::vector<std::unique_ptr<station>> stations_;
  air::wake_tree deadlines_;
  std::size_t next_event_ = 0;  ///< of the configuration's events
  std::vector<slot> slots_;
  std::vector<std::uint64_t> free_;
  std::deque<std::pair<air::tick, std::uint64_t>> lingering_;  ///< slots of group frames, which others may not have heard yet
  std::vector<flow_packets> flows_;
  std::vector<node_ledger> ledgers_;  ///< by node, but for what waits
  rate_handler on_rate_;
  std::vector<std::uint64_t> told_rates_bps_;  ///< by flow; 0: none yet
  std::uint64_t unclaimed_ = 0;
  std::ostream* journeys_ = nullptr;
  std::map<std::pair<air::node_id, std::string>, air::tick> here_since_;  ///< when a node got a packet, by what tells it from others
  air::air medium_;                                                       // last: its listener is this object
};

}  // namespace perhop::kernels
