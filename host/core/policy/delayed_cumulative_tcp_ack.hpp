// SPDX-License-Identifier: GPL-2.0-or-later
//
// TCP-DCA, delayed cumulative TCP ACK: the receiver sends one TCP ACK for every w data packets that arrive in order. This
// file says how large w is (w <= packets in flight) and how long the receiver waits for w packets; delayed_tcp_ack.hpp does the
// rest.
//
//   w   = min(limit by Table I or by the delay rule, packets in flight)
//   T_w = alpha * w * I_avg, alpha = 1.5, from the arrival of the oldest packet not acknowledged       eq. (2)
//
// Source: paper named in tcp_ack_window_table.hpp, sections III-A and IV-C. Ours differs from the source, or fills a gap:
//  - the paper's sender tells its congestion window in the window field of its data packets. Ours tells the packets in
//    flight, in the path header: they fall with a window limit as well, which the congestion window does not;
//  - that number is of the moment of sending and counts the packet itself, so after a TCP ACK for all packets it runs 1,
//    2, 3, ... again. What the sender lets go without another TCP ACK is the largest number of a run, a run being the
//    packets between two TCP ACKs: w is the largest of this run and the last. Where a window fell without a loss, T_w
//    ends the run that waits in vain, and no more packets are expected of the next than came in that one: a fall
//    costs one or two waits;
//  - nothing told: as if 5 packets were in flight.

#pragma once

#include <algorithm>
#include <cstdint>

#include "host/core/policy/tcp_ack_window_table.hpp"
#include "host/core/policy/time.hpp"

namespace perhop::policy {

/// The window of `delayed_cumulative_tcp_ack`.
struct dca_config {
  dca_window_rule rule = dca_window_rule::hop;
  std::uint32_t fixed_window_packets = 0;  ///< 0: by the rule
  bool whole_window = false;               ///< all packets in flight, whatever the rule says
};

/// What a receiver waits for, and since when.
struct tcp_ack_wait {
  time_us oldest_arrival = 0;             ///< of a packet that no TCP ACK has told of
  time_us last_arrival = 0;               ///< of any packet
  std::uint64_t inter_arrival_us256 = 0;  ///< average, unit 1/256 us
};

class delayed_cumulative_tcp_ack {
public:
  explicit delayed_cumulative_tcp_ack(const dca_config& config) : config_(config) {}

  /// A data packet arrived. 0: unknown, for every value.
  void on_data(std::uint32_t packets_in_flight, std::uint32_t forward_hops, std::uint32_t min_rtt_us) {
    in_flight_this_run_ = std::max(in_flight_this_run_, packets_in_flight);
    limit_packets_ = limit_packets(forward_hops, min_rtt_us);
  }

  /// @param in_order false: a data packet arrived out of order or filled a gap. The paper: "does not respond dynamically to packet loss".
  void on_order(bool /*in_order*/) {}

  /// @param packets_in_vain the packets of a run that the timer ended; 0: the run ended otherwise
  void on_tcp_ack_sent(std::uint32_t packets_in_vain) {
    in_flight_last_run_ = packets_in_vain == 0 ? in_flight_this_run_ : std::min(in_flight_this_run_, packets_in_vain);
    in_flight_this_run_ = 0;
  }

  std::uint32_t window_packets() const {
    const std::uint32_t in_flight = std::max(in_flight_this_run_, in_flight_last_run_);
    return std::min(limit_packets_, in_flight != 0 ? in_flight : middle_window_packets);
  }

  time_us deadline(const tcp_ack_wait& wait) const {
    // An average above a minute says no more than a minute does; the product cannot overflow.
    constexpr std::uint64_t long_interval_us256 = std::uint64_t{60'000'000} << 8;
    const std::uint64_t interval_us256 = std::min(wait.inter_arrival_us256, long_interval_us256);
    return wait.oldest_arrival + (3 * interval_us256 * std::min(window_packets(), 0xffffU) / 2 >> 8);
  }

private:
  std::uint32_t limit_packets(std::uint32_t forward_hops, std::uint32_t min_rtt_us) const {
    if (config_.whole_window) return whole_window_packets;
    if (config_.fixed_window_packets != 0) return config_.fixed_window_packets;
    return dca_window_limit_packets(config_.rule, forward_hops, min_rtt_us);
  }

  dca_config config_;
  std::uint32_t limit_packets_ = 1;
  std::uint32_t in_flight_this_run_ = 0;
  std::uint32_t in_flight_last_run_ = 0;
};

}  // namespace perhop::policy
