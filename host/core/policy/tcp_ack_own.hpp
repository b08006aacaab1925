// SPDX-License-Identifier: GPL-2.0-or-later
//
// The delay window of a policy of one's own (own/perhop_policy.h): how many data packets one TCP ACK stands for, and how long the
// receiver waits for them; delayed_tcp_ack.hpp does the rest.

#pragma once

#include <cstdint>
#include <limits>

#include "host/core/policy/delayed_cumulative_tcp_ack.hpp"
#include "host/core/policy/own/own_policy.hpp"
#include "host/core/policy/time.hpp"

namespace perhop::policy {

class tcp_ack_own {
public:
  /// @param own null: a TCP ACK for each packet
  explicit tcp_ack_own(own_policy* own) : own_(own) {}

  void on_arrival(time_us now, const perhop_arrival& arrival) {
    if (own_ != nullptr) own_->on_arrival(now, arrival);
  }
  void on_tcp_ack_sent(time_us now, std::uint32_t packets_in_vain) {
    if (own_ != nullptr) own_->on_tcp_ack_sent(now, packets_in_vain);
  }

  std::uint32_t window_packets() const { return own_ != nullptr ? own_->tcp_ack_packets() : 1; }
  time_us deadline(const tcp_ack_wait& wait) const {
    const auto said = own_ != nullptr ? own_->tcp_ack_deadline_us(wait) : std::nullopt;
    return said.value_or(std::numeric_limits<time_us>::max());
  }

  // By the calls above it is told more.
  void on_data(std::uint32_t /*packets_in_flight*/, std::uint32_t /*forward_hops*/, std::uint32_t /*min_rtt_us*/) {}
  void on_order(bool /*in_order*/) {}
  void on_tcp_ack_sent(std::uint32_t /*packets_in_vain*/) {}

private:
  own_policy* own_;
};

}  // namespace perhop::policy
