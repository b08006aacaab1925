// SPDX-License-Identifier: GPL-2.0-or-later
/// The sections `servers` and `wires` of run.json: nodes without a radio, and wired links. A gateway is a node of the air with a wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/run/air_names.hpp"

namespace perhop::run {

class json_section;

/// A full-duplex link between two nodes.
struct wire_config {
  node_id a = 0;
  node_id b = 0;
  double rate_bps = 0;              ///< of each direction
  std::uint32_t delay_us = 0;       ///< one way
  std::uint32_t queue_packets = 0;  ///< at each end, drop tail; one more is on its way out

  bool joins(node_id one, node_id other) const { return (a == one && b == other) || (a == other && b == one); }
};

constexpr std::uint64_t most_servers = 64;

/// @param nodes how many there are, servers included; @param radios the first so many have a radio
std::vector<wire_config> read_wires(json_section& run, std::size_t nodes, std::size_t radios);

}  // namespace perhop::run
