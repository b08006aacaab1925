// SPDX-License-Identifier: GPL-2.0-or-later
//
// Thins the TCP ACKs of a receiver whose TCP acknowledges every segment: says which one to send and which one to hold.
// One object of this class belongs to one direction of data of one connection, at the node that receives it.
//
// Held is a bare TCP ACK for data that arrived in order, until the window of the policy is full or its time is over.
// At once go: all that is not bare, duplicates (packets out of order, retransmissions that came twice, window updates),
// every TCP ACK while there is a gap or that fills one, a window of 0 and the next after it, the TCP ACK of a FIN, and
// each one until the time between two packets is known. No TCP ACK is held for longer than 500 ms after the arrival of the
// oldest data that it is the first to acknowledge (RFC 5681, 4.2).
//
// Source: papers named in tcp_ack_window_table.hpp (DCA) and tcp_daa.hpp (DAA). Ours differs: the papers change the
// receiver's TCP; this stands between a TCP that is not changed and the network.

#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "host/core/policy/delayed_cumulative_tcp_ack.hpp"
#include "host/core/policy/generated/policies.hpp"
#include "host/core/policy/inter_arrival_filter.hpp"
#include "host/core/policy/receiver_round_trip.hpp"
#include "host/core/policy/tcp_ack_own.hpp"
#include "host/core/policy/tcp_ack_retransmission_timer.hpp"
#include "host/core/policy/tcp_ack_window_table.hpp"
#include "host/core/policy/tcp_daa.hpp"
#include "host/core/policy/tcp_daa_as_in_001.hpp"
#include "host/core/policy/tcp_data_order.hpp"
#include "host/core/policy/time.hpp"

namespace perhop::policy {

/// What to build. Fields that the kind does not use are ignored.
struct tcp_ack_config {
  tcp_ack_kind kind = tcp_ack_kind::every;
  dca_window_rule rule = dca_window_rule::hop;                 ///< for `dca`
  std::uint32_t fixed_window_packets = 0;                      ///< for `dca`; 0: by the rule
  bool whole_window = false;                                   ///< for `dca`: w is all that is in flight, the paper's "w = cwnd"
  bool tcp_ack_retransmission = true;                          ///< for `dca`
  daa_profile profile = daa_profile::own_papers;               ///< for `daa`
  deviation_order deviation = deviation_order::updated_first;  ///< of the retransmission timer

  friend bool operator==(const tcp_ack_config&, const tcp_ack_config&) = default;
};

/// Packets of data that one TCP ACK stands for at most, as the other end of the path can tell it. 0: unknown.
std::uint32_t packets_per_tcp_ack(const tcp_ack_config& config, std::uint32_t forward_hops, std::uint32_t min_rtt_us,
                                  std::uint32_t packets_in_flight);

/// A TCP packet with data, or with a SYN or a FIN, that arrived for this node.
struct data_arrival {
  std::uint32_t sequence = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t packets_in_flight = 0;  ///< at the sender when it sent this packet, which counts; 0: unknown
  std::uint32_t forward_hops = 0;       ///< 0: unknown
  std::uint32_t min_rtt_us = 0;         ///< as measured by other means than this object's own; 0: unknown
  bool syn = false;
  bool fin = false;
  std::optional<std::uint32_t> timestamp_echo{};  ///< of TCP's timestamps option
};

/// A packet that the local TCP wants to send on the same connection.
struct tcp_ack_departure {
  std::uint32_t tcp_ack = 0;
  std::uint32_t window_bytes = 0;
  bool bare = true;          ///< nothing but a TCP ACK: no payload, SYN, FIN or RST
  bool sack_blocks = false;  ///< tells of data behind a gap
  std::optional<std::uint32_t> timestamp_value{};
};

/// `hold`: the caller keeps the packet, in place of one that it held before. `pass`: it sends the packet, and drops one
/// that it held.
enum class tcp_ack_action : std::uint8_t { pass, hold };

/// Why a TCP ACK was sent. For statistics.
enum class tcp_ack_reason : std::uint8_t {
  window,       ///< w packets have arrived
  delay_timer,  ///< the policy's timer, T_w
  hard_limit,   ///< 500 ms
  disorder,     ///< out of order, gap filled, duplicate
  at_once,      ///< any other that must not wait
  repeated,     ///< the retransmission timer
};
inline constexpr std::size_t tcp_ack_reason_count = 6;

struct tcp_ack_verdict {
  tcp_ack_action action = tcp_ack_action::pass;
  tcp_ack_reason reason = tcp_ack_reason::at_once;  ///< when it passes
};

/// What to do when a deadline has come. `send_again`: repeat the last TCP ACK that was sent.
enum class tcp_ack_release : std::uint8_t { nothing, send_held, send_again };

struct tcp_ack_release_verdict {
  tcp_ack_release release = tcp_ack_release::nothing;
  tcp_ack_reason reason = tcp_ack_reason::delay_timer;
};

class delayed_tcp_ack {
public:
  static constexpr time_us hard_limit_us = 500'000;

  delayed_tcp_ack() = default;  ///< kind `every`
  /// @param own of kind `own`; outlives this
  explicit delayed_tcp_ack(const tcp_ack_config& config, own_policy* own = nullptr);

  /// A round trip measured by other means (two-way data, the kernel).
  void on_rtt(std::uint32_t rtt_us);

  void on_data(time_us now, const data_arrival& arrival);

  tcp_ack_verdict on_tcp_ack(time_us now, const tcp_ack_departure& departure);

  /// When on_deadline wants to be called; nothing when there is nothing to wait for.
  std::optional<time_us> deadline() const;

  /// Before the deadline it does nothing.
  tcp_ack_release_verdict on_deadline(time_us now);

  bool holds() const { return held_.has_value(); }

  /// The caller dropped what it held: the local TCP gave the connection up.
  void drop_held() { held_.reset(); }

  /// Why the last TCP ACK went. For statistics.
  tcp_ack_reason last_reason() const { return last_reason_; }

  /// False for kind `every`: nothing is ever held.
  bool thins() const { return !std::holds_alternative<std::monostate>(policy_); }

  /// w; 1 for kind `every`.
  std::uint32_t window_packets() const;

private:
  void on_sent(time_us now, const tcp_ack_departure& departure, bool timer_fired);
  std::optional<tcp_ack_reason> reason_to_pass(const tcp_ack_departure& departure) const;
  time_us held_deadline() const;

  std::variant<std::monostate, delayed_cumulative_tcp_ack, tcp_daa, tcp_daa_as_in_001, tcp_ack_own> policy_;
  bool repeats_ = false;
  tcp_ack_reason last_reason_ = tcp_ack_reason::at_once;
  inter_arrival_filter inter_arrival_;
  tcp_data_order order_;
  receiver_round_trip round_trip_;
  tcp_ack_retransmission_timer repeat_timer_;

  std::uint32_t pending_packets_ = 0;  // arrived, and no TCP ACK sent since
  time_us oldest_arrival_ = 0;         // of those
  time_us last_arrival_ = 0;
  std::uint32_t largest_payload_bytes_ = 1;
  bool disorder_ = false;  // since the last TCP ACK sent
  bool fin_ = false;

  std::optional<tcp_ack_departure> held_;
  std::optional<std::uint32_t> last_tcp_ack_;  // of the local TCP, held or sent
  bool window_was_closed_ = false;             // in the last TCP ACK sent
};

}  // namespace perhop::policy
