// SPDX-License-Identifier: GPL-2.0-or-later
//
// TCP-DAA, dynamic adaptive acknowledgement, the baseline of paper TCP-DCA: the receiver's delay window lies between 2
// and 4 packets, grows while nothing is lost and falls to 2 when a packet arrives out of order; it does not wait longer
// than one average inter-arrival time since the last packet. The sender retransmits after 2 duplicate TCP ACKs, caps its
// congestion window at 4 packets and waits five times as long for a timeout.
//
// Source: R. de Oliveira, T. Braun, "A Dynamic Adaptive Acknowledgment Strategy for TCP over Multihop Wireless
// Networks", INFOCOM 2005, as described by the paper named in tcp_ack_window_table.hpp (sections II and V-A, Table II).
// Ours fills gaps of that description:
//  - the window grows by one packet with every TCP ACK sent without loss, and starts at 2;
//  - the average inter-arrival time is that of eq. (1) (inter_arrival_filter.hpp).

#pragma once

#include <algorithm>
#include <cstdint>

#include "host/core/policy/delayed_cumulative_tcp_ack.hpp"
#include "host/core/policy/time.hpp"

namespace perhop::policy {

/// What a TCP-DAA sender changes in its TCP.
struct tcp_daa_sender {
  static constexpr std::uint32_t duplicate_tcp_ack_threshold = 2;
  static constexpr std::uint32_t congestion_window_limit_packets = 4;
  static constexpr std::uint32_t retransmission_timeout_factor = 5;
};

class tcp_daa {
public:
  static constexpr std::uint32_t min_window_packets = 2;
  static constexpr std::uint32_t max_window_packets = 4;

  void on_data(std::uint32_t /*packets_in_flight*/, std::uint32_t /*forward_hops*/, std::uint32_t /*min_rtt_us*/) {}

  void on_disorder() {
    window_packets_ = min_window_packets;
    disorder_ = true;
  }

  void on_tcp_ack_sent(std::uint32_t /*packets_in_vain*/) {
    if (!disorder_) window_packets_ = std::min(window_packets_ + 1, max_window_packets);
    disorder_ = false;
  }

  std::uint32_t window_packets() const { return window_packets_; }

  time_us deadline(const tcp_ack_wait& wait) const { return wait.last_arrival + (wait.inter_arrival_us256 >> 8); }

private:
  std::uint32_t window_packets_ = min_window_packets;
  bool disorder_ = false;  // since the last TCP ACK
};

}  // namespace perhop::policy
