// SPDX-License-Identifier: GPL-2.0-or-later
/// The object `exact` of run.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/core/policy/exact_router.hpp"
#include "sim/run/air_names.hpp"

namespace perhop::run {

class json_section;

/// EXACT in every node of the run.
struct exact_config {
  policy::exact_mode mode = policy::exact_mode::m2;
  policy::exact_fairness fairness = policy::exact_fairness::rate;
  double eta = 0.9;                       ///< share of the channel time that may be given out
  std::uint32_t interval_ms = 100;        ///< between allocations
  std::uint32_t hello_interval_ms = 500;  ///< m2: between HELLO broadcasts of a node
  std::vector<node_id> silent_routers;    ///< nodes without EXACT, and without a shim on what they pass on
  bool packets = false;                   ///< record every data packet at every router
};

/// @param nodes how many there are
exact_config read_exact(json_section exact, std::size_t nodes);

}  // namespace perhop::run
