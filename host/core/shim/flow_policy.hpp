// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a connection runs with.

#pragma once

#include "host/core/policy/congestion_window_limit.hpp"
#include "host/core/policy/delayed_tcp_ack.hpp"
#include "host/core/policy/pacing.hpp"

namespace perhop::shim {

/// The policies of one direction of a connection. The node that originates its data uses `cwl` and `pacing`, the node that
/// receives the data uses `tcp_ack`; each ignores the rest, so that both can be told the same.
struct flow_policy {
  policy::cwl_config cwl{};
  policy::tcp_ack_config tcp_ack{};
  policy::pacing_config pacing{};

  /// Packets of the flow, or TCP ACKs for them, may wait in the node that sends them.
  constexpr bool holds_back() const { return tcp_ack.kind != policy::tcp_ack_kind::every || pacing.kind != policy::pacing_kind::none; }

  friend bool operator==(const flow_policy&, const flow_policy&) = default;
};

inline constexpr flow_policy no_policy{.cwl = {.kind = policy::cwl_kind::none}};

}  // namespace perhop::shim
