// SPDX-License-Identifier: GPL-2.0-or-later
//
// A policy of one's own, which is not in this tree: what stands between its table of functions (perhop_policy.h) and the places where
// the project's own policies stand. Whoever runs the shim brings the table; nothing here loads anything.
//
// A policy that fails is told and asked nothing more: no limit, a TCP ACK for each packet, no pacing.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "host/core/policy/delayed_cumulative_tcp_ack.hpp"
#include "host/core/policy/own/perhop_policy.h"
#include "host/core/policy/path_measurement.hpp"
#include "host/core/policy/time.hpp"

namespace perhop::policy {

/// Where the objects of a policy come from. It outlives them.
class own_policy_source {
public:
  virtual ~own_policy_source() = default;

  /// Null: it has not been loaded (yet).
  virtual const perhop_policy* table() const = 0;

  /// An object has failed. May throw, to end what asked it.
  virtual void on_failed(const char* problem) const = 0;
};

/// One end of one direction of one connection. The object is made when it is first told or asked something: a connection of which
/// only strangers speak costs none.
class own_policy {
public:
  explicit own_policy(const own_policy_source& source) : source_(&source) {}
  ~own_policy() {
    if (object_ != nullptr) table_->destroy(object_);
  }
  own_policy(const own_policy&) = delete;
  own_policy& operator=(const own_policy&) = delete;

  void on_path(time_us now, const perhop_path& path) { tell(&perhop_policy::on_path, now, &path); }
  void on_sent(time_us now, const perhop_sent& sent) { tell(&perhop_policy::on_sent, now, &sent); }
  void on_arrival(time_us now, const perhop_arrival& arrival) { tell(&perhop_policy::on_arrival, now, &arrival); }
  void on_tcp_ack_sent(time_us now, std::uint32_t packets_in_vain) { tell(&perhop_policy::on_tcp_ack_sent, now, packets_in_vain); }
  void on_completion(time_us now, const perhop_completion& completion) { tell(&perhop_policy::on_completion, now, &completion); }

  /// 0: no limit (yet)
  std::uint32_t limit_packets() {
    if (!limit_packets_) limit_packets_ = ask(&perhop_policy::limit_packets);
    return *limit_packets_;
  }

  std::uint64_t pacing_interval_us(time_us now, const perhop_release& release) {
    return ask(&perhop_policy::pacing_interval_us, now, &release);
  }

  /// At least 1
  std::uint32_t tcp_ack_packets() {
    if (!tcp_ack_packets_) tcp_ack_packets_ = std::max(ask(&perhop_policy::tcp_ack_packets), 1U);
    return *tcp_ack_packets_;
  }

  /// Nothing: the policy leaves it to the host.
  std::optional<time_us> tcp_ack_deadline_us(const tcp_ack_wait& wait) {
    if (!alive() || table_->tcp_ack_deadline_us == nullptr) return std::nullopt;
    const perhop_tcp_ack_wait told{wait.oldest_arrival, wait.last_arrival, wait.inter_arrival_us256};
    return ask(&perhop_policy::tcp_ack_deadline_us, &told);
  }

  bool failed() const { return failed_; }

  /// It is in use, and wants to be told of completions.
  bool wants_completions() const { return object_ != nullptr && table_->on_completion != nullptr && !failed_; }

private:
  bool alive() {
    if (failed_) return false;
    if (object_ != nullptr) return true;
    table_ = source_->table();
    if (table_ == nullptr) return false;
    object_ = table_->create(table_, &host_);
    settle();
    return object_ != nullptr && !failed_;
  }

  /// Reports once what an object said by fail while it was called.
  void settle() {
    if (!failed_ || reported_) return;
    reported_ = true;
    limit_packets_ = 0;
    tcp_ack_packets_ = 1;
    source_->on_failed(problem_.c_str());
  }

  template <typename function, typename... told>
  void tell(function perhop_policy::* which, told... what) {
    if (!alive() || table_->*which == nullptr) return;
    limit_packets_.reset();
    tcp_ack_packets_.reset();
    (table_->*which)(object_, what...);
    settle();
  }

  template <typename function, typename... told>
  auto ask(function perhop_policy::* which, told... what) -> decltype((std::declval<perhop_policy>().*which)(nullptr, what...)) {
    if (!alive() || table_->*which == nullptr) return 0;
    const auto answer = (table_->*which)(object_, what...);
    settle();
    return failed_ ? 0 : answer;
  }

  static void note_failure(void* context, const char* problem) {
    own_policy& self = *static_cast<own_policy*>(context);
    if (self.failed_) return;
    self.failed_ = true;
    self.problem_ = problem;
  }

  const own_policy_source* source_;
  const perhop_policy* table_ = nullptr;
  void* object_ = nullptr;
  perhop_host host_{this, note_failure};
  std::optional<std::uint32_t> limit_packets_;    // as last answered; nothing: more has been told since
  std::optional<std::uint32_t> tcp_ack_packets_;  // likewise
  bool failed_ = false;
  bool reported_ = false;
  std::string problem_;
};

}  // namespace perhop::policy
