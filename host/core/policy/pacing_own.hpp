// SPDX-License-Identifier: GPL-2.0-or-later
//
// Pacing by a policy of one's own (own/perhop_policy.h). It is asked for each packet that leaves, and told of paths by the shim.

#pragma once

#include <cstdint>

#include "host/core/policy/own/own_policy.hpp"
#include "host/core/policy/path_measurement.hpp"
#include "host/core/policy/time.hpp"

namespace perhop::policy {

class pacing_own {
public:
  /// @param own null: packets go at once
  explicit pacing_own(own_policy* own) : own_(own) {}

  void on_path(const path_measurement&, std::uint32_t /*packets_per_tcp_ack*/) {}
  void on_rtt(std::uint32_t /*rtt_us*/) {}
  void on_window(std::uint32_t packets) { window_packets_ = packets; }

  /// A packet leaves. @param bytes payload
  void on_release(time_us now, std::uint32_t bytes) {
    if (own_ != nullptr) interval_us_ = own_->pacing_interval_us(now, {.payload_bytes = bytes, .window_packets = window_packets_});
  }

  /// As last answered.
  std::uint64_t interval_us() const { return interval_us_; }

private:
  own_policy* own_;
  std::uint32_t window_packets_ = 0;
  std::uint64_t interval_us_ = 0;
};

}  // namespace perhop::policy
