// SPDX-License-Identifier: GPL-2.0-or-later
//
// The codec of the path header: any bytes are either refused or a header that comes back the same; any header can be
// written, and what was written can be read again where its hops and delays do not contradict each other.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/core/wire/path_header.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace perhop;
using fuzz::expect;

void check_bounds(std::uint8_t hops, std::uint32_t total_us, std::uint32_t max_us) {
  expect(total_us <= wire::max_delay_us, "a decoded delay fits the header");
  expect(max_us <= total_us, "the largest hop is not above the sum");
  expect(total_us <= std::uint64_t{hops} * max_us, "the sum is not above hops times the largest");
}

void check_bytes(std::span<const std::uint8_t> bytes) {
  const wire::decode_result decoded = wire::decode(bytes);
  if (!decoded) {
    expect(static_cast<std::size_t>(decoded.error()) < wire::decode_error_count, "the reason is a known one");
    return;
  }
  expect(bytes.size() >= path_header_bytes, "a header needs its bytes");
  check_bounds(decoded->hops, decoded->total_delay_us, decoded->max_delay_us);
  if (decoded->echo) check_bounds(decoded->echo->hops, decoded->echo->total_delay_us, decoded->echo->max_delay_us);
  expect(decoded->explicit_rate_bps <= wire::unlimited_rate_bps, "a rate fits the header");
  const wire::decode_result again = wire::decode(wire::encode(*decoded));
  expect(again && *again == *decoded, "what was decoded comes back the same");
}

void check_header(fuzz::input& input) {
  wire::path_header header;
  header.wired_hop_seen = input.flag();
  header.silent_router_seen = input.flag();
  header.exact_follows = input.flag();
  header.hops = input.hostile<std::uint8_t>();
  header.total_delay_us = input.hostile<std::uint32_t>();
  header.max_delay_us = input.hostile<std::uint32_t>();
  header.explicit_rate_bps = input.hostile<std::uint64_t>();
  header.current_rate_bps = input.hostile<std::uint64_t>();
  header.packets_in_flight = input.number<std::uint8_t>();
  if (input.flag()) {
    header.echo = wire::path_echo{.total_delay_us = input.hostile<std::uint32_t>(),
                                  .max_delay_us = input.hostile<std::uint32_t>(),
                                  .hops = input.hostile<std::uint8_t>(),
                                  .rate_bps = input.hostile<std::uint64_t>()};
  }
  const wire::path_header_buffer bytes = wire::encode(header);
  const wire::decode_result decoded = wire::decode(bytes);
  expect(decoded || (decoded.error() != wire::decode_error::truncated && decoded.error() != wire::decode_error::foreign_version &&
                     decoded.error() != wire::decode_error::echo_without_flag),
         "what encode writes is refused for contradictions only");
  if (!decoded) return;
  expect(decoded->hops == header.hops && decoded->packets_in_flight == header.packets_in_flight, "whole numbers arrive as they were");
  expect(decoded->total_delay_us == wire::quantise_delay_us(header.total_delay_us), "delays arrive rounded");
  expect(decoded->explicit_rate_bps == wire::quantise_rate_bps(header.explicit_rate_bps), "rates arrive rounded");
  expect(decoded->echo.has_value() == header.echo.has_value(), "the echo arrives when there is one");
  expect(wire::quantise_rate_down_bps(header.current_rate_bps) <= header.current_rate_bps, "a limit does not grow");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // On the heap, and no byte more: a read beyond the end is seen.
  const std::vector<std::uint8_t> bytes(data, data + size);
  check_bytes(bytes);
  fuzz::input input(bytes);
  check_header(input);
  return 0;
}
