// SPDX-License-Identifier: GPL-2.0-or-later
//
// The codecs of EXACT: number of a data packet, report, hello. The first byte chooses one, the rest is what came from
// the air: refused, or read, written and read again to the same.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/core/wire/exact_header.hpp"
#include "host/core/wire/hello.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace perhop;
using fuzz::expect;

void check_hello(std::span<const std::uint8_t> bytes) {
  const auto decoded = wire::decode_hello(bytes);
  if (!decoded) return;
  std::size_t entries = decoded->nodes.size();
  for (const wire::hello_node& node : decoded->nodes) {
    entries += node.neighbours.size() + node.flows.size();
    expect(node.busy >= 0 && std::isfinite(node.busy), "a busy share is a number");
    for (const wire::hello_flow& flow : node.flows) {
      expect(flow.next < node.neighbours.size(), "a flow goes to a neighbour that is listed");
      expect(flow.cost_s_per_bit >= 0 && std::isfinite(flow.cost_s_per_bit), "a cost is a number");
      expect(flow.weight >= 0 && std::isfinite(flow.weight), "a weight is a number");
    }
  }
  expect(entries <= bytes.size(), "no more entries than bytes");
  std::size_t left_out = 0;
  const std::vector<std::uint8_t> written = wire::encode(*decoded, &left_out);
  expect(written.size() <= wire::max_hello_bytes, "a hello fits a frame");
  const auto again = wire::decode_hello(written);
  expect(again.has_value(), "what encode writes can be read");
  if (left_out == 0) expect(*again == *decoded, "what was decoded comes back the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<std::uint8_t> bytes(data + 1, data + size);
  switch (data[0] % 3) {
    case 0:
      if (const auto header = wire::decode_exact_header(bytes)) {
        expect(wire::decode_exact_header(wire::encode(*header)) == header, "a number comes back the same");
      }
      break;
    case 1:
      if (const auto report = wire::decode_exact_report(bytes)) {
        expect(report->max_delay_us <= report->total_delay_us, "the largest hop is not above the sum");
        expect(wire::decode_exact_report(wire::encode(*report)) == report, "a report comes back the same");
      }
      break;
    default:
      check_hello(bytes);
  }
  return 0;
}
