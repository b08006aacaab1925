// SPDX-License-Identifier: GPL-2.0-or-later
//
// The wires of run.json: any text gives an error that can be shown, or wires that a network can be built of. The first two bytes say how
// many nodes have a radio, and how many have none. Texts with `#` are read with each of some numbers in its place.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/run/json_section.hpp"
#include "sim/run/wire_config.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace perhop::run;
using perhop::fuzz::expect;

void check(const std::string& text, std::size_t radios, std::size_t servers) {
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_discarded()) return;
  const std::size_t nodes = radios + servers;
  std::vector<wire_config> wires;
  try {
    json_section run(document, "run.json", "");
    wires = read_wires(run, nodes, radios);
  } catch (const config_error& error) {
    expect(*error.what() != '\0', "an error says something");
    return;
  }
  std::vector<bool> reached(nodes);
  for (std::size_t index = 0; index < wires.size(); ++index) {
    const wire_config& wire = wires[index];
    expect(wire.a < nodes && wire.b < nodes && wire.a != wire.b, "a wire joins two nodes that there are");
    expect(wire.rate_bps >= 1e3 && wire.rate_bps <= 1e12, "a wire has a rate");
    expect(wire.delay_us <= 10'000'000, "a delay is up to ten seconds");
    expect(wire.queue_packets >= 1 && wire.queue_packets <= 1'000'000, "a queue holds a packet");
    for (std::size_t other = 0; other < index; ++other) {
      expect(std::minmax(wires[other].a, wires[other].b) != std::minmax(wire.a, wire.b), "one wire joins two nodes");
    }
    reached[wire.a] = reached[wire.b] = true;
  }
  for (std::size_t server = radios; server < nodes; ++server) expect(reached[server], "a wire leads to each server");
}

/// Numbers at the edges of the ranges that there are.
constexpr std::array<const char*, 12> edges = {"0",        "1",    "2",          "999", "1000",  "10000000",
                                               "10000001", "1e12", "1000000001", "-1",  "1e300", "18446744073709551615"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t radios = 1 + data[0] % 8, servers = data[1] % 4;
  const std::string written(reinterpret_cast<const char*>(data + 2), size - 2);
  if (written.find('#') == std::string::npos) {
    check(written, radios, servers);
    return 0;
  }
  for (const char* number : edges) {
    std::string text = written;
    for (std::size_t at = text.find('#'); at != std::string::npos; at = text.find('#', at)) text.replace(at, 1, number);
    check(text, radios, servers);
  }
  return 0;
}
