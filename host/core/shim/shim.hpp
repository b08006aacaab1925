// SPDX-License-Identifier: GPL-2.0-or-later
//
// The shim: what a node runs between IP and the MAC. It stamps the path header on every packet that leaves, reads it
// from every packet that arrives for this node, holds TCP's window to the congestion window limit, thins the TCP ACKs that
// this node sends and paces its data.
//
// Sans I/O: it has no socket, thread or clock, and it sees views of packets, not packets. The simulator and a live node
// run this same object. Time is microseconds since any fixed moment and never goes back. Not thread safe.
//
//   the local TCP sends a TCP packet  on_tcp_ack()        -> send it, or hold it
//                                     release_time()      -> when to send it
//   this node sends a packet          on_originate()      -> header to put on it
//   this node passes a packet on      on_forward()        -> header updated (or made, when the packet came without one)
//   either of them, by the header     congested()         -> whether it is to be marked so
//                                     brake()             -> header that accelerates or brakes the flow
//   bytes came from the air           parse()             -> header, or nothing: drop the packet
//   a packet for this node arrived    on_receive()        -> window to write into the TCP header, if any
//   the MAC completed a packet        on_completion()
//   next_deadline() has come          expire()            -> which TCP ACKs to send
//
// Call on_originate/on_forward at the moment the packet is queued: the delay stamped is the estimate of that moment.
//
// Sources: the paper named in policy/congestion_window_limit.hpp, section 4.2 (probe fields) and 5.1; window rewriting
// in place of a clamp inside TCP is ours, because it works for a TCP that cannot be changed. Conditions of the
// rewriting: the shim sees the SYN, window scaling is stripped from it where strip_window_scaling says so, and segments are
// not signed: a digest (TCP-MD5, TCP-AO) covers the window, so such segments pass as they are.
//
// Anybody can send a SYN. One that arrives changes nothing before this node's own TCP answers it, and one with a TCP ACK
// nothing unless it acknowledges the own SYN: as TCP itself decides (RFC 9293, 3.10.7; RFC 5961, 4). What a handshake says of
// the MSS is bounded by the protocol's least and by the interface.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "host/core/policy/abc_router.hpp"
#include "host/core/policy/congestion_window_limit.hpp"
#include "host/core/policy/delay_estimator.hpp"
#include "host/core/policy/delayed_tcp_ack.hpp"
#include "host/core/policy/exact_router.hpp"
#include "host/core/policy/pacing.hpp"
#include "host/core/shim/flow_policy.hpp"
#include "host/core/shim/flow_table.hpp"
#include "host/core/shim/packet_view.hpp"
#include "host/core/wire/path_header.hpp"

namespace perhop::shim {

struct shim_config {
  const timing_profile* profile = nullptr;             ///< must be set and outlive the shim
  std::uint32_t rts_threshold_bytes = 0;               ///< as in the MAC: MPDUs above it use RTS/CTS
  flow_policy policy{};                                ///< of every flow without a policy of its own
  bool rewrite_windows = true;                         ///< false: the caller enforces cwl_packets() by other means
  bool window_field_tells = false;                     ///< the window field of data that arrives holds the sender's congestion window
  std::uint32_t mtu_bytes = 1500;                      ///< of the interface: no segment is longer
  std::size_t max_flows = 1024;                        ///< connections remembered; the one idle longest makes room
  std::size_t max_stranger_flows = 256;                ///< beside them, those that nothing but arriving packets tells of
  time_us flow_idle_us = 60'000'000;                   ///< a connection idle for longer is forgotten
  std::optional<policy::exact_router_config> exact{};  ///< nothing: rates of EXACT flows pass as they are
};

/// What to do with a packet that arrived for this node. It is always delivered.
struct receive_verdict {
  /// Write this into the TCP header's window before delivery (and mend the checksum). Never above the window it had.
  std::optional<std::uint32_t> window_bytes;
  /// The packet is a SYN: remove its window scaling option before delivery.
  bool strip_window_scaling = false;
};

/// A TCP ACK to send because its time has come.
struct tcp_ack_due {
  flow_key flow;  ///< as the TCP ACK carries it
  policy::tcp_ack_release release = policy::tcp_ack_release::nothing;
};

/// Counted since the start.
struct shim_counters {
  std::uint64_t originated = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t received = 0;
  std::uint64_t windows_rewritten = 0;
  std::array<std::uint64_t, wire::decode_error_count> malformed_by_reason{};  ///< index: wire::decode_error
  std::uint64_t silent_router_seen = 0;  ///< packets without a header, or with the flag set, that reached this node
  std::uint64_t unknown_flow = 0;        ///< an echo came for a connection on which this node has sent nothing
  std::uint64_t unknown_peer = 0;        ///< completions for a slot that does not exist
  std::uint64_t flows_expired = 0;
  std::uint64_t flows_evicted = 0;  ///< forgotten to make room
  std::uint64_t tcp_acks_held = 0;  ///< on_tcp_ack said hold
  /// Bare TCP ACKs sent of connections whose TCP ACKs are thinned; index: policy::tcp_ack_reason
  std::array<std::uint64_t, policy::tcp_ack_reason_count> tcp_acks_by_reason{};
  std::uint64_t congestion_marks = 0;  ///< packets that congested() told of
  std::uint64_t accelerates = 0;       ///< packets of flows under ABC that brake() left so
  std::uint64_t brakes = 0;            ///< those that it told to brake, or that had been told
  std::uint64_t packets_delayed = 0;   ///< release_time was later than now
  std::uint64_t late_syns = 0;         ///< SYNs that arrived on an open connection, or that acknowledge no SYN of this node
  std::uint64_t signed_segments = 0;   ///< arrived or were sent under a window limit, with a digest that covers the window

  std::uint64_t malformed() const;  ///< packets dropped for their header, all reasons

  std::uint64_t tcp_acks(policy::tcp_ack_reason reason) const { return tcp_acks_by_reason[static_cast<std::size_t>(reason)]; }
};

/// Why a part of a connection's policy has no effect.
enum class no_effect : std::uint8_t {
  none,          ///< it has one, or the policy has no such part
  path_unknown,  ///< nothing has told of the path yet
  round_trip_unknown,
  window_unknown,   ///< pacing has no congestion window to pace by
  one_medium,       ///< path pacing leaves paths of up to 3 hops alone
  signed_segments,  ///< the window is covered by a digest
  own_failed,       ///< a policy of one's own has failed
};

class shim {
public:
  explicit shim(const shim_config& config);

  /// Gives one direction of a connection its own policies instead of shim_config::policy. A connection already seen gets
  /// them at once, from the path as last measured.
  /// @param flow as the packets with the data carry it, at both ends
  void set_flow_policy(const flow_key& flow, const flow_policy& policy);

  /// Gives all connections without a policy of their own this one in place of shim_config::policy, those already seen at once.
  void set_policy(const flow_policy& policy);

  const flow_policy& policy_of(const flow_key& flow) const;

  /// Some flow's packets, or TCP ACKs, may have to wait: only then need on_tcp_ack and release_time be asked.
  bool holds_back() const { return holds_back_; }

  /// The local TCP wants to send this packet. @return `hold`: keep it, in place of one of this flow that is kept already.
  /// `pass`: drop one that is kept, and send this one as always (release_time, on_originate). Packets other than TCP pass.
  /// What is kept ends in one of three ways, once: replaced, dropped for one that passes, or told by expire.
  policy::tcp_ack_action on_tcp_ack(time_us now, const ip_packet_view& packet);

  /// When a packet that this node originates may be sent, now or later. Ask once a packet, in order: the time is taken.
  /// @param waiting_packets  of this flow wait for their time, or did since none waited. They were sent by the window that TCP
  /// had then. A window that a timeout closes must not stretch their period: TCP's new packets would wait behind them for many
  /// round trips, and be timed out in turn.
  time_us release_time(time_us now, const ip_packet_view& packet, std::uint32_t waiting_packets = 1);

  /// When expire wants to be called next; in the past when it has something to tell at once.
  std::optional<time_us> next_deadline() const;

  /// Tells which TCP ACKs are due, and forgets that they were. `send_held`: send the packet that is kept. `send_again`:
  /// repeat the last bare TCP ACK that was sent. Both go through on_originate, not through on_tcp_ack.
  /// @return how many entries of `due` were written; when all of them, call again
  std::size_t expire(time_us now, std::span<tcp_ack_due> due);

  /// A round trip of a connection, measured by other means, such as the kernel's TCP. @param flow either direction's key
  /// as this node originates it
  void on_round_trip(time_us now, const flow_key& flow, std::uint32_t rtt_us);

  /// This node sends a packet. @return the header for it, this hop already added, and the echo of what arrived from the
  /// other end. @param packets_in_flight of this flow, from the first byte that no TCP ACK told of: receivers tell round trips by
  /// it, so that a TCP that takes lost packets out of its count must not be asked; above 255 is carried as 255; nothing: counted here
  wire::path_header on_originate(time_us now, const ip_packet_view& packet, const next_hop& hop,
                                 std::optional<std::uint32_t> packets_in_flight = std::nullopt);

  /// The packet that on_originate was called for is a SYN whose window scaling option must be removed.
  bool strip_window_scaling(const ip_packet_view& packet) const;

  /// This node passes a packet on: adds this hop.
  void on_forward(time_us now, wire::path_header& header, const ip_packet_view& packet, const next_hop& hop);

  /// The same for a packet that came without a header, from a station without the shim. @return a header that tells so
  wire::path_header on_forward_plain(time_us now, const ip_packet_view& packet, const next_hop& hop);

  /// Some flow's packets may have to be marked: only then need congested be asked.
  bool marks() const { return marks_; }

  /// Whether a packet is to be marked as having met congestion (CE), by the policy of its flow; one whose TCP does not know ECN is not.
  /// @param header with this hop added; @param before_it packets that this node sends first
  bool congested(const ip_packet_view& packet, const wire::path_header& header, const next_hop& hop, std::size_t before_it);

  /// Some flow's data may be told to brake: only then need brake and on_served be called.
  bool brakes() const { return brakes_; }

  /// This node as a router of ABC: a data packet whose flow has that policy accelerates or brakes from here on, by its header.
  /// @param header with this hop added; @param before_it packets that this node sends first
  void brake(time_us now, wire::path_header& header, const ip_packet_view& packet, const next_hop& hop, std::size_t before_it);

  /// The MAC is done with a packet, of whatever kind, for ABC. @param service_us from the head of its queue to its end
  void on_served(time_us now, std::uint32_t service_us) { abc_.on_served(now, service_us); }

  /// Bytes after LLC/SNAP of a frame with the path header's EtherType. @return nothing when they are malformed: it has
  /// been counted, and the packet must be dropped
  std::optional<wire::path_header> parse(std::span<const std::uint8_t> bytes);

  /// A packet for this node. @param header nothing when it came as plain IP: a router on the way has no shim
  receive_verdict on_receive(time_us now, const std::optional<wire::path_header>& header, const ip_packet_view& packet);

  /// The MAC completed a packet of this node; `averages` are those in the completion record.
  /// @return true when packets to this neighbour were dropped three times in a row (with an EXACT router only): tell routing
  bool on_completion(time_us now, const policy::neighbour_averages& averages, bool delivered = true);

  /// Some flow's policy of one's own wants to be told of completions: only then need on_record be called.
  bool wants_records() const { return wants_records_; }

  /// The MAC is done with a packet, of whatever flow.
  void on_record(time_us now, const completion_record& record);

  /// The MAC's neighbour slot was given to another neighbour.
  void on_neighbour_replaced(std::uint8_t peer);

  /// The EXACT router, to tell it what the shim does not see (queue, neighbours, hellos); null when there is none. Packets,
  /// completions and deadlines reach it through the shim.
  policy::exact_router* exact() { return exact_ ? &*exact_ : nullptr; }
  const policy::exact_router* exact() const { return exact_ ? &*exact_ : nullptr; }

  /// A flow's weight in this node's EXACT router; 1 without. Packets do not carry it: every router of the path must be told.
  void set_exact_weight(const flow_key& flow, double weight);

  /// By which the EXACT router knows a flow: the same on all nodes.
  static std::uint64_t flow_identity(const flow_key& flow) { return flow_table::hash(flow); }

  /// The limit for a flow that this node originates; nothing when it has none (yet).
  std::optional<std::uint32_t> cwl_packets(const flow_key& flow) const;

  /// In flight with the last segment that on_originate was called for, counted from sequence numbers; 0: unknown.
  std::uint32_t packets_in_flight(const flow_key& flow) const;

  /// Why the window limit, or the pacing, of a flow that this node originates does nothing.
  no_effect limit_without_effect(const flow_key& flow) const;
  no_effect pacing_without_effect(const flow_key& flow) const;

  /// Why the last TCP ACK of this flow, whose key it carries, went. Of one that is not thinned: `at_once`.
  policy::tcp_ack_reason last_tcp_ack_reason(const flow_key& flow) const;

  /// Time from a full packet to the next; 0: not paced.
  time_us pacing_interval_us(const flow_key& flow) const;

  /// What the limit was last computed from; nothing before the first echo. For reports and tests.
  std::optional<policy::path_measurement> last_path(const flow_key& flow) const;

  /// The delay that on_originate would stamp now.
  std::uint32_t hop_delay_us(const next_hop& hop) const;

  const shim_counters& counters() const { return counters_; }
  std::size_t flows() const { return flows_.size(); }
  std::size_t stranger_flows() const { return flows_.strangers(); }

private:
  struct flow_key_hash {
    std::size_t operator()(const flow_key& key) const { return static_cast<std::size_t>(flow_table::hash(key)); }
  };

  /// A SYN that arrived, for the case that the own end answers it.
  struct offered_syn {
    std::optional<wire::path_header> header;
    ip_packet_view packet;
  };
  /// The own end answers at once: so many may arrive before it is heard.
  static constexpr std::size_t most_offered_syns = 256;

  void note_offered(const std::optional<wire::path_header>& header, const ip_packet_view& packet);
  std::optional<offered_syn> take_answered(const ip_packet_view& sent);
  flow_table::access flow_of(time_us now, const flow_key& originated, flow_witness witness = flow_witness::own_end);
  flow_table::access own_flow_of(time_us now, const ip_packet_view& sent);
  void note_own_syn(time_us now, const flow_table::access& flow, const ip_packet_view& sent);
  void take_arrival(time_us now, const flow_table::access& flow, const std::optional<wire::path_header>& header,
                    const ip_packet_view& packet);
  std::uint32_t limit_bytes(const flow_state& state, const flow_key& flow, std::uint32_t limit_packets) const;
  void take_sender_policy(std::uint32_t slot, const flow_policy& policy);
  static void make_sender_policy(flow_state& state, const flow_policy& policy);
  static void make_receiver_policy(flow_state& state, const flow_policy& policy);
  void note_parts();
  void take_receiver_policy(std::uint32_t slot, const flow_policy& policy);
  void on_data(time_us now, const flow_table::access& flow, const wire::path_header* header, const wire::path_echo& arrived,
               const tcp_view& tcp);
  std::uint64_t counted_marks(const flow_state& state, const std::optional<wire::path_header>& header, const ip_packet_view& packet,
                              std::uint64_t arrived_bps) const;
  static void take_marks(flow_state& state, const wire::path_echo& echo);
  std::uint32_t window_told_by(flow_state& state, const wire::path_header* header, const tcp_view& tcp) const;
  bool rewrites(const flow_state& state) const { return config_.rewrite_windows && state.limit.enforces(); }
  void note_exchange(flow_state& state, const ip_packet_view& packet, const next_hop& hop) const;
  static std::uint32_t told_in_flight(const flow_state& state, std::uint32_t packets_in_flight);
  static void tune(time_us now, flow_state& state, const flow_policy& policy, std::uint32_t delivered_bytes,
                   policy::path_measurement& path);
  void on_path(flow_state& state, const flow_key& originated, const policy::path_measurement& path,
               std::uint32_t delivered_bytes = 0) const;
  void on_round_trip_sample(flow_state& state, std::uint32_t rtt_us) const;
  void count(policy::tcp_ack_reason reason) { ++counters_.tcp_acks_by_reason[static_cast<std::size_t>(reason)]; }
  void restart(flow_state& state, const flow_key& originated);
  void add_hop(wire::path_header& header, const next_hop& hop) const;
  void lower_rate(time_us now, wire::path_header& header, const ip_packet_view& packet, const next_hop& hop);

  shim_config config_;
  policy::delay_estimator delays_;
  flow_table flows_;
  std::vector<offered_syn> offered_;  // the last ones
  std::size_t next_offered_ = 0;
  std::unordered_map<flow_key, flow_policy, flow_key_hash> flow_policies_;
  bool holds_back_ = false;
  bool marks_ = false;
  bool brakes_ = false;
  bool wants_records_ = false;
  time_us latest_ = 0;  // of the packets that this node has sent and received
  policy::abc_router abc_;
  std::optional<policy::exact_router> exact_;
  std::vector<std::pair<std::uint64_t, double>> exact_weights_;  // by flow identity
  shim_counters counters_;
};

}  // namespace perhop::shim
