// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a connection runs with.

#pragma once

#include "host/core/policy/congestion_window_limit.hpp"
#include "host/core/policy/delayed_tcp_ack.hpp"
#include "host/core/policy/own/own_policy.hpp"
#include "host/core/policy/pacing.hpp"
#include "host/core/policy/service_mark.hpp"

namespace perhop::shim {

/// The policies of one direction of a connection. The node that originates its data uses `cwl` and `pacing`, the node that
/// receives the data uses `tcp_ack`, each node of the path uses `ecn`, and `cwl` where that is ABC; each ignores the rest, so that all can
/// be told the same.
struct flow_policy {
  policy::cwl_config cwl{};
  policy::tcp_ack_config tcp_ack{};
  policy::pacing_config pacing{};
  policy::ecn_config ecn{};
  const policy::own_policy_source* own = nullptr;  ///< where a part is of kind `own`; outlives the shim

  /// Data of the flow waits for its time in the node that sends it.
  constexpr bool paces() const { return pacing.kind != policy::pacing_kind::none && !paces_by_exact(); }

  /// The sender's TCP is told the rate that EXACT allows, and waits by itself.
  constexpr bool paces_by_exact() const { return pacing.kind == policy::pacing_kind::exact; }

  /// Packets of the flow, or TCP ACKs for them, may wait in the node that sends them.
  constexpr bool holds_back() const { return tcp_ack.kind != policy::tcp_ack_kind::every || paces(); }

  /// Nodes may mark packets of the flow.
  constexpr bool marks() const { return ecn.kind != policy::ecn_kind::none; }

  /// Nodes tell data of the flow to accelerate or to brake.
  constexpr bool brakes() const { return cwl.kind == policy::cwl_kind::abc; }

  /// The parts of kind `own` that work at the sender of the data, and at its receiver.
  constexpr bool own_at_sender() const { return cwl.kind == policy::cwl_kind::own || pacing.kind == policy::pacing_kind::own; }
  constexpr bool own_at_receiver() const { return tcp_ack.kind == policy::tcp_ack_kind::own; }

  friend bool operator==(const flow_policy&, const flow_policy&) = default;
};

inline constexpr flow_policy no_policy{.cwl = {.kind = policy::cwl_kind::none}};

}  // namespace perhop::shim
