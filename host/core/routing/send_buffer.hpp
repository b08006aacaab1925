// SPDX-License-Identifier: GPL-2.0-or-later
/// Packets that wait for a route: DSR's send buffer (RFC 4728, 4.2), AODV's as well.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "host/core/policy/time.hpp"

namespace perhop::routing {

using policy::time_us;

struct send_buffer_config {
  std::size_t packets = 64;         ///< as in ns-2.35; both RFCs leave it open
  time_us timeout_us = 30'000'000;  ///< DSR's SendBufferTimeout
};

template <typename packet>
class send_buffer {
public:
  explicit send_buffer(const send_buffer_config& config = {}) : config_(config) {}

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }

  /// Whether one of them is such a packet.
  template <typename chooser>
  bool any_of(chooser&& choose) const {
    for (const entry& one : waiting_) {
      if (choose(one.what)) return true;
    }
    return false;
  }

  /// @return the packet that had to make room: the one that waits longest
  std::optional<packet> put(time_us now, packet&& last) {
    std::optional<packet> out;
    if (waiting_.size() == config_.packets) {
      out = std::move(waiting_.front().what);
      waiting_.erase(waiting_.begin());
    }
    waiting_.push_back({.since_us = now, .what = std::move(last)});
    return out;
  }

  /// Takes out those that have waited for too long.
  template <typename taker>
  void take_old(time_us now, taker&& take) {
    take_if([&](const packet&, time_us since_us) { return now - since_us > config_.timeout_us; }, take);
  }

  /// Shows all in order, and takes out those of which `choose(packet&)` says so.
  template <typename chooser, typename taker>
  void take_chosen(chooser&& choose, taker&& take) {
    take_if([&](packet& what, time_us) { return choose(what); }, take);
  }

private:
  struct entry {
    time_us since_us = 0;
    packet what;
  };

  template <typename chooser, typename taker>
  void take_if(chooser&& choose, taker&& take) {
    std::vector<entry> all = std::exchange(waiting_, {});
    for (entry& one : all) {
      if (choose(one.what, one.since_us)) {
        take(std::move(one.what));
      } else {
        waiting_.push_back(std::move(one));
      }
    }
  }

  send_buffer_config config_;
  std::vector<entry> waiting_{};  ///< the oldest first
};

}  // namespace perhop::routing
