// SPDX-License-Identifier: GPL-2.0-or-later
//
// Congestion window limit (CWL): caps TCP's congestion window at the number of packets a path of CSMA hops can carry at
// once. Below the cap TCP works as always. One object of this class belongs to one direction of one connection.
//
// Source: K. Chen, Y. Xue, S. Shah, K. Nahrstedt, "Understanding bandwidth-delay product in mobile ad hoc networks",
// Computer Communications 2004, sections 3 to 5.

#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "host/core/policy/congestion_window_limit_delay.hpp"
#include "host/core/policy/congestion_window_limit_fixed.hpp"
#include "host/core/policy/congestion_window_limit_hop.hpp"
#include "host/core/policy/congestion_window_limit_pipeline.hpp"
#include "host/core/policy/path_measurement.hpp"
#include "host/core/policy/words.hpp"

namespace perhop::policy {

enum class cwl_kind : std::uint8_t { none, fixed, hop, delay, pipeline };
inline constexpr words<cwl_kind, 5> cwl_words{{{"none", cwl_kind::none},
                                               {"fixed", cwl_kind::fixed},
                                               {"hop", cwl_kind::hop},
                                               {"delay", cwl_kind::delay},
                                               {"pipeline", cwl_kind::pipeline}}};

/// What to build. Fields that the kind does not use are ignored.
struct cwl_config {
  cwl_kind kind = cwl_kind::delay;
  std::uint32_t fixed_packets = 8;                          ///< for `fixed`
  cwl_rounding rounding = cwl_rounding::half_up;            ///< for `delay`
  std::uint32_t ceiling_packets = default_ceiling_packets;  ///< for `hop`, `delay` and `pipeline`

  friend bool operator==(const cwl_config&, const cwl_config&) = default;
};

/// Any of the policies behind one interface.
class congestion_window_limit {
public:
  congestion_window_limit() = default;  ///< kind `none`
  explicit congestion_window_limit(const cwl_config& config);

  /// A round trip was measured. A measurement that tells the policy nothing leaves the limit as it was.
  void on_path(const path_measurement& path);

  /// The largest congestion window allowed now; nothing when the policy sets no limit (yet).
  std::optional<std::uint32_t> limit_packets() const;

  /// False for kind `none`: the packets of the connection are left alone.
  bool enforces() const { return !std::holds_alternative<std::monostate>(policy_); }

private:
  std::variant<std::monostate, congestion_window_limit_fixed, congestion_window_limit_hop, congestion_window_limit_delay,
               congestion_window_limit_pipeline>
      policy_;
};

}  // namespace perhop::policy
