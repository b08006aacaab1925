// SPDX-License-Identifier: GPL-2.0-or-later
//
// Congestion window limit (CWL): caps TCP's congestion window at the number of packets a path of CSMA hops can carry at
// once. Below the cap TCP works as always. One object of this class belongs to one direction of one connection. Which limits
// there are, and what each is built from, is listed in policies.yaml.
//
// Source: K. Chen, Y. Xue, S. Shah, K. Nahrstedt, "Understanding bandwidth-delay product in mobile ad hoc networks",
// Computer Communications 2004, sections 3 to 5.

#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "host/core/policy/generated/window_limits.hpp"
#include "host/core/policy/path_measurement.hpp"

namespace perhop::policy {

/// Any of the policies behind one interface.
class congestion_window_limit {
public:
  congestion_window_limit() = default;  ///< kind `none`
  /// @param own of kind `own`; outlives this
  explicit congestion_window_limit(const cwl_config& config, own_policy* own = nullptr) : policy_(make_window_limit(config, own)) {}

  /// A round trip was measured. A measurement that tells the policy nothing leaves the limit as it was.
  void on_path(const path_measurement& path);

  /// The flow's receiver has told of marks; only ABC listens.
  void on_marks(const path_marks& marks);

  /// The largest congestion window allowed now; nothing when the policy sets no limit (yet).
  std::optional<std::uint32_t> limit_packets() const;

  /// Data packets that one TCP ACK is to stand for, at most; 0: the policy does not say (yet).
  std::uint32_t tcp_ack_packets() const;

  /// False for kind `none`: the packets of the connection are left alone.
  bool enforces() const { return !std::holds_alternative<std::monostate>(policy_); }

private:
  any_window_limit policy_;
};

}  // namespace perhop::policy
