// SPDX-License-Identifier: GPL-2.0-or-later
/// What happens to one node of a simulated run, at the border of its hop path: packets of IP, arrivals and completions with their times.
#pragma once

#include <vector>

#include "host_under_test.hpp"
#include "sim/run/run_config.hpp"

namespace perhop::hop_test {

/// Runs it. The node that is recorded and node 0 change their addresses with each other, because the hosts under test are node 0.
std::vector<event> record(const run::run_config& config, std::uint32_t node);

}  // namespace perhop::hop_test
