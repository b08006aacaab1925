// SPDX-License-Identifier: GPL-2.0-or-later
//
// The receiver of TCP-DAA as the paper of TCP-DCA describes and measures it: the delay window lies between 2 and 4 packets, grows
// while nothing is lost and falls to 2 when a packet arrives out of order; it does not wait longer than one average inter-arrival
// time since the last packet, so that a packet that is late by a little ends the wait. The sender is that of tcp_daa.hpp.
//
// Source: paper named in tcp_ack_window_table.hpp (sections II and V-A, Table II). Ours fills gaps of that description:
//  - the window grows by one packet with every TCP ACK sent without loss, and starts at 2;
//  - the average inter-arrival time is that of eq. (1) (inter_arrival_filter.hpp).

#pragma once

#include <algorithm>
#include <cstdint>

#include "host/core/policy/delayed_cumulative_tcp_ack.hpp"
#include "host/core/policy/tcp_daa.hpp"
#include "host/core/policy/time.hpp"

namespace perhop::policy {

class tcp_daa_as_in_001 {
public:
  void on_data(std::uint32_t /*packets_in_flight*/, std::uint32_t /*forward_hops*/, std::uint32_t /*min_rtt_us*/) {}

  void on_order(bool in_order) {
    if (in_order) return;
    window_packets_ = tcp_daa_window::after_disorder_packets;
    disorder_ = true;
  }

  void on_tcp_ack_sent(std::uint32_t /*packets_in_vain*/) {
    if (!disorder_) window_packets_ = std::min(window_packets_ + 1, tcp_daa_window::max_packets);
    disorder_ = false;
  }

  std::uint32_t window_packets() const { return window_packets_; }

  time_us deadline(const tcp_ack_wait& wait) const { return wait.last_arrival + (wait.inter_arrival_us256 >> 8); }

private:
  std::uint32_t window_packets_ = tcp_daa_window::after_disorder_packets;
  bool disorder_ = false;  // since the last TCP ACK
};

}  // namespace perhop::policy
