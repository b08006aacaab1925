// SPDX-License-Identifier: GPL-2.0-or-later
/// The congestion window limit enforced in the kernel's TCP: two BPF programs (window_clamp.bpf.c) clamp the congestion windows of
/// the senders in this process's network namespace. They live as long as this object, or its process.
///
/// To begin: a cgroup of version 2 that holds the senders, the kernel's own types (CONFIG_DEBUG_INFO_BTF), CAP_BPF, CAP_NET_ADMIN and
/// CAP_PERFMON. After that: nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "host/bpf/window_limiter.hpp"

namespace perhop::bpf {

/// What() says what is missing here and what to do.
class clamp_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

class window_clamp : public window_limiter {
public:
  /// @param cgroup a folder. @throws clamp_error
  explicit window_clamp(const std::string& cgroup);
  ~window_clamp() override;
  window_clamp(const window_clamp&) = delete;
  window_clamp& operator=(const window_clamp&) = delete;

  void set(const shim::flow_key& flow, std::optional<std::uint32_t> packets) override;
  void forget(const shim::flow_key& flow) override;
  void apply_now() override;

  /// Counted since the start.
  struct counters {
    std::uint64_t changes = 0;  ///< of limits
    std::uint64_t scans = 0;    ///< of all open sockets
    std::uint64_t failed = 0;   ///< of both: the kernel refused
  };
  const counters& counted() const { return counters_; }

private:
  struct programs;
  std::unique_ptr<programs> programs_;
  counters counters_;
};

}  // namespace perhop::bpf
