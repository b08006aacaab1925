// SPDX-License-Identifier: GPL-2.0-or-later
//
// TFRC's sender and receiver, and between them a path of a fixed delay that loses what its user says: TFRC without MAC, queue and chance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "host/core/policy/tfrc_receiver.hpp"
#include "host/core/policy/tfrc_sender.hpp"

namespace perhop::exact_study {

class tfrc_path {
public:
  struct settings {
    policy::tfrc_profile profile = policy::tfrc_profile::paper;
    policy::time_us round_trip_us = 100'000;
    std::size_t intervals = 8;
  };

  explicit tfrc_path(const settings& chosen)
      : sender({.profile = chosen.profile}),
        receiver({.profile = chosen.profile, .intervals = chosen.intervals}),
        one_way_us_(chosen.round_trip_us / 2) {}

  std::function<bool(std::uint32_t)> loses_data = [](std::uint32_t) { return false; };    ///< by the packet's number
  std::function<bool(std::uint64_t)> loses_report = [](std::uint64_t) { return false; };  ///< the first report is 1
  std::function<void(const policy::tfrc_ended_interval&)> on_ended = [](const auto&) {};

  policy::tfrc_sender sender;
  policy::tfrc_receiver receiver;

  std::uint64_t sent_packets() const { return sender.counters().packets; }

  /// Goes on until then.
  void run(policy::time_us until_us) {
    for (policy::time_us next = next_us(); next < until_us; next = next_us()) {
      now_us_ = next;
      while (!reports_.empty() && reports_.front().first <= now_us_) {
        sender.on_report(now_us_, reports_.front().second);
        reports_.pop();
      }
      sender.on_deadline(now_us_);
      while (!data_.empty() && data_.front().first <= now_us_) {
        const bool due = receiver.on_data(now_us_, data_.front().second);
        data_.pop();
        std::for_each(receiver.ended().begin(), receiver.ended().end(), on_ended);
        if (due) report();
      }
      if (receiver.on_deadline(now_us_)) report();
      if (sender.next_send(now_us_) <= now_us_) {
        const wire::tfrc_header packet = sender.on_send(now_us_);
        if (!loses_data(packet.sequence)) data_.emplace(now_us_ + one_way_us_, packet);
      }
    }
    now_us_ = until_us;
  }

private:
  policy::time_us next_us() const {
    policy::time_us next = sender.next_send(now_us_);
    for (const auto& due : {sender.deadline(), receiver.deadline()}) {
      if (due) next = std::min(next, std::max(*due, now_us_));
    }
    if (!data_.empty()) next = std::min(next, data_.front().first);
    if (!reports_.empty()) next = std::min(next, reports_.front().first);
    return next;
  }

  void report() {
    const wire::tfrc_report told = receiver.take_report(now_us_);
    if (!loses_report(receiver.counters().reports)) reports_.emplace(now_us_ + one_way_us_, told);
  }

  policy::time_us one_way_us_;
  policy::time_us now_us_ = 1'000'000;
  std::queue<std::pair<policy::time_us, wire::tfrc_header>> data_;
  std::queue<std::pair<policy::time_us, wire::tfrc_report>> reports_;
};

}  // namespace perhop::exact_study
