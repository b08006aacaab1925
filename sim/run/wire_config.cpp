// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/run/wire_config.hpp"

#include <algorithm>
#include <string>

#include "sim/run/json_section.hpp"

namespace perhop::run {

std::vector<wire_config> read_wires(json_section& run, std::size_t nodes, std::size_t radios) {
  std::vector<wire_config> wires;
  const std::size_t count = run.has("wires") ? run.list("wires").size() : 0;
  for (std::size_t index = 0; index < count; ++index) {
    json_section wire = run.element("wires", index);
    const auto node = [&](const char* key) { return static_cast<node_id>(wire.integer(key, 0, nodes - 1)); };
    const node_id a = node("a"), b = node("b");
    if (a == b) wire.fail("b", "is a itself; name another node");
    if (std::ranges::any_of(wires, [&](const wire_config& other) { return other.joins(a, b); })) {
      wire.fail("b", "is joined to node " + std::to_string(a) + " by another wire already; remove one of the two");
    }
    wires.push_back({.a = a,
                     .b = b,
                     .rate_bps = wire.number("rate_bps", 1e3, 1e12),
                     .delay_us = static_cast<std::uint32_t>(wire.integer("delay_us", 0, 10'000'000)),
                     .queue_packets = static_cast<std::uint32_t>(wire.integer("queue_packets", 1, 1'000'000))});
    wire.finish();
  }
  for (std::size_t server = radios; server < nodes; ++server) {
    const auto here = static_cast<node_id>(server);
    if (std::ranges::none_of(wires, [&](const wire_config& wire) { return wire.a == here || wire.b == here; })) {
      run.fail("servers", "node " + std::to_string(server) + " is a server without a wire; add one to wires");
    }
  }
  return wires;
}

}  // namespace perhop::run
