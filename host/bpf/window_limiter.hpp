// SPDX-License-Identifier: GPL-2.0-or-later
/// Holds TCP senders of this host to their congestion window limits by other means than the windows that they receive.
#pragma once

#include <cstdint>
#include <optional>

#include "host/core/shim/packet_view.hpp"

namespace perhop::bpf {

class window_limiter {
public:
  virtual ~window_limiter() = default;
  /// A connection that opens from now on has the limit from the start, an open one gets it soon or at apply_now().
  /// @param flow whose source is this host. @param packets nothing: no limit any more
  virtual void set(const shim::flow_key& flow, std::optional<std::uint32_t> packets) = 0;
  /// The flow needs no entry any more; its socket keeps what it has.
  virtual void forget(const shim::flow_key& flow) = 0;
  /// Gives open sockets their limits. Takes milliseconds.
  virtual void apply_now() = 0;
};

}  // namespace perhop::bpf
