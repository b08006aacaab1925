// SPDX-License-Identifier: GPL-2.0-or-later
/// The daemon's host of the hop path (host/core/hop): IP packets as bytes from a TUN interface, routes of the kernel, a driver below.
/// Time is an argument; the kernel and the driver are interfaces. The daemon's loop (perhop_node_main.cpp) calls it.
///
/// Forwarding is the node's own: a packet that came with a path header goes on with it, by the kernel's routing table. What cannot
/// go on over the radio (no route, time to live spent, another interface) is given to the kernel, which answers or forwards.
///
/// A frame takes so much IP (most_ip_bytes). What is longer is cut where that is allowed, and else its sender is told (too_big.hpp). A
/// plain packet that a frame takes, but not with a path header before it, goes on plain, as from a router without perhop.
///
/// What the MAC was given ends in a completion, is refused at once, or is lost when the MAC goes down; a MAC that keeps a packet for
/// five seconds is told to begin anew (credit_watch.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/bpf/window_limiter.hpp"
#include "host/core/hop/hop_path.hpp"
#include "host/core/shim/ip_packet.hpp"
#include "host/core/shim/shim.hpp"
#include "host/core/shim/told_window.hpp"
#include "host/drivers/driver.hpp"
#include "host/node/accounts.hpp"
#include "host/node/credit_watch.hpp"
#include "host/node/exact_flows.hpp"
#include "host/node/kernel.hpp"
#include "host/node/neighbours.hpp"
#include "host/node/syn_pace.hpp"
#include "host/node/too_big.hpp"

namespace perhop::node {

using policy::time_us;

struct packet_path_config {
  std::size_t queue_packets = default_queue_packets;  ///< above the MAC's own queue, drop-tail
  shim::flow_policy policy{};                         ///< of every flow
  std::uint32_t mtu_bytes = 1500;                     ///< of the interface
  /// How this host's senders tell their windows; `window_field`: those of the other end, too.
  shim::window_telling tell_window = shim::window_telling::path_header;
  /// EXACT in this node; nothing: rates and reports of EXACT flows pass as they are. What the MAC tells is filled in.
  std::optional<policy::exact_router_config> exact{};
  exact_flows_config exact_flows{};
  std::uint32_t slow_down = 1;                  ///< how many times faster the kernel's clock is than the time that is told here
  std::optional<policy::swan_settings> swan{};  ///< best effort is slowed as SWAN does; nothing: it goes when the MAC has room
  /// Holds this host's TCP senders to their limits; null: the windows that they receive are lowered. Must outlive the path.
  bpf::window_limiter* limiter = nullptr;
  /// Told of each IP packet that the queue had no room for; empty: nobody is.
  std::function<void(const shim::ip_packet_view&)> on_queue_drop{};
};

/// Counted since the start.
struct path_counters {
  std::uint64_t from_ip = 0;              ///< packets that IP sent
  std::uint64_t to_ip = 0;                ///< packets given to IP
  std::uint64_t forwarded = 0;            ///< passed on by the shim
  std::uint64_t queue_drops = 0;          ///< no room in the queue
  std::uint64_t mac_drops = 0;            ///< given up by the MAC
  std::uint64_t completions = 0;          ///< all, whatever came of them
  std::uint64_t no_neighbour = 0;         ///< the MAC address of the next hop is not known
  std::uint64_t no_route = 0;             ///< IP sent what the routing table does not send over the radio
  std::uint64_t malformed = 0;            ///< frames whose LLC or IP makes no sense; path headers are the shim's to count
  std::uint64_t foreign = 0;              ///< frames of other protocols
  std::uint64_t tcp_acks_held = 0;        ///< kept back
  std::uint64_t paced = 0;                ///< packets that waited for their time
  std::uint64_t data_segments = 0;        ///< TCP packets with payload that this node originated and queued
  std::uint64_t hellos_sent = 0;          ///< of the EXACT router
  std::uint64_t hellos = 0;               ///< of other EXACT routers
  std::uint64_t peers_lost = 0;           ///< three packets in a row were given up, as the EXACT router counts them
  std::uint64_t former_peers = 0;         ///< completions of packets to one whose slot has been given to another since
  std::uint64_t bare_tcp_acks = 0;        ///< TCP ACKs without payload that this node originated and queued
  std::uint64_t window_untold = 0;        ///< data segments of this host that had no room for the window option
  std::uint64_t early_syns = 0;           ///< copies of SYNs that the kernel sent too early for a slower radio
  std::uint64_t plain = 0;                ///< of `forwarded`: without a path header, for which the frame has no room
  std::uint64_t fragmented = 0;           ///< IP packets that no frame takes and that were cut
  std::uint64_t too_big = 0;              ///< IP packets that no frame takes and that may not be cut
  std::uint64_t mac_refused = 0;          ///< the driver did not take them
  std::uint64_t mac_lost = 0;             ///< the MAC had them when it went down
  std::uint64_t unknown_completions = 0;  ///< of what the MAC was not given, or was done with before
  std::uint64_t mac_stalls = 0;           ///< times that the MAC kept a packet for too long
};

/// An IP packet that this node sends on.
struct node_packet {
  std::vector<std::uint8_t> bytes;
  shim::ip_packet read{};
  std::optional<route> to{};  ///< nothing: to be looked up when it goes to the queue
};

class packet_path : public drivers::driver_listener {
public:
  packet_path(const packet_path_config& config, kernel& kernel, drivers::driver& driver);

  neighbours& known_neighbours() { return neighbours_; }

  /// DATA frames to this neighbour have another rate than the MAC's. A rate that the MAC's profile has not changes nothing.
  void set_data_rate(std::uint64_t mac_address, std::uint8_t rate_index) { data_rates_.insert_or_assign(mac_address, rate_index); }

  /// Rate of DATA frames to this address, which may be a group's. Requires mac().
  std::uint8_t data_rate_to(std::uint64_t receiver_address) const;

  /// IP sent a packet.
  void on_ip(time_us now, std::span<const std::uint8_t> bytes);

  /// The kernel's routes have changed: EXACT flows that no report has come for ask at once on a path that is new.
  void on_route_change(time_us now);

  /// When on_deadline wants to be called next.
  std::optional<time_us> next_deadline() const;
  void on_deadline(time_us now);

  /// The policy of all flows, those that are open included, from now on.
  void set_policy(time_us now, const shim::flow_policy& policy);

  // What the driver tells; set the time before with at().
  void at(time_us now) { now_ = now; }
  void on_up(const drivers::mac_properties& mac) override;
  void on_down() override;
  void on_completion(std::uint32_t cookie, const completion_record& record) override;
  void on_reception(const drivers::reception& frame) override;

  const path_counters& counters() const { return counters_; }
  /// Nothing before the MAC came up for the first time.
  const shim::shim* shim() const { return path_.started() ? &path_.shim() : nullptr; }
  const std::optional<drivers::mac_properties>& mac() const { return mac_; }
  /// The MAC is there, and completes what it is given.
  bool is_up() const { return up_ && !watch_.failed(); }
  /// Why is_up() is false, in words for a person; empty: it is true, or nothing is known.
  std::string mac_problem() const { return up_ && watch_.failed() ? stall_ : driver_.problem(); }
  std::size_t queued_packets() const { return path_.queue().size(); }
  const neighbours& known_neighbours() const { return neighbours_; }
  const neighbour_accounts& neighbour_sums() const { return neighbour_sums_; }
  const flow_accounts& flow_sums() const { return flow_sums_; }
  /// Packets that wait for this slot of the neighbour table.
  std::size_t queued_packets(std::uint8_t peer) const;

  /// The ends of EXACT flows in this node; null without EXACT.
  exact_flows* exact() { return exact_ ? &*exact_ : nullptr; }
  const exact_flows* exact() const { return exact_ ? &*exact_ : nullptr; }
  /// Sends what may go now, after whatever was told or asked. The other calls do it, too.
  void serve_exact(time_us now);

  /// A connection whose packets this node originates, as last seen.
  struct flow_report {
    shim::flow_key key;
    std::uint32_t packets_in_flight = 0;
    std::uint32_t most_in_flight = 0;  ///< since the limit was last told to change
    std::optional<std::uint32_t> cwl_packets;
    std::optional<policy::path_measurement> path;
    time_us pacing_interval_us = 0;  ///< 0: not paced
    /// Why parts of its policy do nothing; told of a flow that has sent some data.
    shim::no_effect limit_without_effect = shim::no_effect::none;
    shim::no_effect pacing_without_effect = shim::no_effect::none;
    time_us last_used = 0;
  };
  std::vector<flow_report> flows() const;

  /// What waits, and until when.
  const hop::hop_path<packet_path>& path() const { return path_; }

private:
  /// Open connections get changed limits at most so often: it takes milliseconds.
  static constexpr time_us limits_interval_us = 100'000;

  // ---- What the hop path wants of its host (host/core/hop/hop_path.hpp)
  friend hop::hop_path<packet_path>;
  friend hop::waiting_room<hop::outgoing<node_packet>, packet_path>;

  using content = node_packet;
  /// Waits for the MAC.
  struct frame {
    std::vector<std::uint8_t> msdu;
    std::uint8_t peer = 0;
    shim::ip_address next_hop{};
    time_us since = 0;
  };
  using packet = hop::outgoing<content>;
  using queue_entry = hop::frame_queue<frame>::entry;

  std::optional<std::uint64_t> receiver_of(packet& what);
  shim::next_hop describe(const packet& what, std::uint64_t receiver, std::uint8_t peer);
  void before_leaving(packet& what);
  void on_left(time_us now, packet& what, std::uint64_t receiver, const wire::path_header& header, std::uint64_t arrived_bps);
  static void mark_congestion(packet& what) {
    shim::mark_congestion(what.content.bytes, what.content.read);
    what.view.ecn = shim::ecn_field::congested;
  }
  std::size_t packets_in_mac() const { return given_.size(); }
  frame make(time_us now, packet&& what, const wire::path_header& header, std::uint64_t receiver, const shim::next_hop& next);
  frame make_hello(time_us now, std::span<const std::uint8_t> hello, std::uint8_t peer, std::uint32_t mpdu_bytes);
  /// What is left of the address when the manufacturer's part is gone.
  static std::uint32_t node_of(std::uint64_t address) { return static_cast<std::uint32_t>(address); }
  bool mac_is_up() const { return up_; }
  bool can_submit() const { return driver_.can_send(); }
  void submit(time_us now, queue_entry&& first);
  void on_lost(const shim::ip_packet_view& view, hop::loss) { note_queue_drop(view); }
  void note_queue_drop(const shim::ip_packet_view& view) {
    ++counters_.queue_drops;
    if (config_.on_queue_drop) config_.on_queue_drop(view);
  }
  void on_purged(frame&&) {}
  std::uint32_t window_packets(const shim::ip_packet_view&) const { return 0; }
  void on_room(hop::room_event event, const shim::ip_packet_view& view);

  /// What the MAC has been given and is not done with.
  struct given_packet {
    std::uint32_t cookie = 0;
    std::uint64_t receiver_address = 0;
    shim::ip_address next_hop{};
  };
  struct flow_hash {
    std::size_t operator()(const shim::flow_key& key) const { return static_cast<std::size_t>(shim::flow_table::hash(key)); }
  };
  /// What is kept of a connection beside the shim's state.
  struct flow {
    bool handshake_seen = false;
    bool opened = false;              ///< this host has sent more than answers to a stranger's SYN
    std::uint64_t data_segments = 0;  ///< since the policy was last told
    std::uint32_t most_in_flight = 0;
    time_us last_used = 0;
    std::optional<std::uint32_t> told_limit_packets;  ///< what the limiter knows
  };

  using flow_table = std::unordered_map<shim::flow_key, flow, flow_hash>;

  flow& flow_of(const shim::flow_key& key);
  packet packet_of(std::span<const std::uint8_t> bytes, const shim::ip_packet& read, bool own) const;
  void originate(std::vector<std::uint8_t> bytes, const hop::exact_rider& rider = {}, const shim::exact_view& exact = {});
  void pass_on(packet&& what, const std::optional<wire::path_header>& header, const hop::exact_rider& rider);
  void cut_or_answer(std::span<const std::uint8_t> bytes, const shim::ip_packet& packet, std::size_t most_bytes);

  // ---- What the ends of EXACT flows want of their host (host/core/hop/exact_ends.hpp)
  friend hop::exact_ends<local_application>;
  bool has_room() const { return up_ && !path_.queue().full(); }
  void send_report(exact_flows::due_report&& due);
  void send_data(exact_flows::sent&& data);

  std::optional<given_packet> take_given(std::uint32_t cookie);
  void watch_given();
  std::uint64_t next_hop_to(const shim::ip_address& destination);
  void receive(std::span<const std::uint8_t> bytes, const std::optional<wire::path_header>& header, const hop::exact_rider& rider,
               std::uint64_t transmitter);
  void limit_sender_of(const shim::ip_packet& packet);
  void tell_limit(const shim::flow_key& key, flow& flow);
  void apply_limits();
  void forget(flow_table::iterator flow);
  void forget_idle();
  void tell_segment(flow& flow, packet& what) const;
  void tell_window(packet& what, const wire::path_header& header) const;
  void leave_room_for_option(std::span<std::uint8_t> bytes, shim::ip_packet& packet) const;

  packet_path_config config_;
  kernel& kernel_;
  drivers::driver& driver_;
  neighbours neighbours_;
  std::unordered_map<std::uint64_t, std::uint8_t> data_rates_;  ///< by MAC address, of those that differ
  std::optional<drivers::mac_properties> mac_;
  hop::hop_path<packet_path> path_;
  bool up_ = false;
  time_us now_ = 0;
  std::uint32_t next_cookie_ = 0;
  std::deque<given_packet> given_;  ///< to the MAC, in this order
  credit_watch watch_;
  std::string stall_;  ///< the last one, in words
  rate_bound answers_;
  flow_table flows_;
  syn_pace syns_;
  std::optional<time_us> limits_due_;  ///< when the limiter is to look for open connections
  time_us limits_applied_ = -limits_interval_us;
  time_us idle_looked_for_ = 0;
  std::optional<exact_flows> exact_;
  path_counters counters_;
  neighbour_accounts neighbour_sums_;
  flow_accounts flow_sums_;
};

}  // namespace perhop::node
