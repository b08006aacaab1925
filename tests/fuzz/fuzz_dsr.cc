// SPDX-License-Identifier: GPL-2.0-or-later
//
// DSR. The first byte chooses: the codec of its header with any bytes, or a router to which packets, failures and time come in any
// order, headers as bytes of the input or made of the addresses of a few nodes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "host/core/routing/dsr_router.hpp"
#include "host/core/wire/dsr_header.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace perhop;
using namespace perhop::routing;
using fuzz::expect;
using fuzz::input;

void check_header(std::span<const std::uint8_t> bytes) {
  const auto decoded = wire::decode_dsr_header(bytes);
  if (!decoded) return;
  expect(decoded->size_bytes >= 4 && decoded->size_bytes <= bytes.size(), "a header lies within its packet");
  const std::vector<std::uint8_t> written = wire::encode(decoded->header);
  expect(written.size() <= decoded->size_bytes, "what was read is written in no more bytes");
  expect(written.size() == wire::size_bytes(decoded->header), "a header is as long as it says");
  const auto again = wire::decode_dsr_header(written);
  expect(again && again->header == decoded->header && again->size_bytes == written.size(), "a header comes back the same");
}

constexpr ipv4_address self = 1;

ipv4_address node_of(input& choices) { return choices.choice(8); }

std::vector<ipv4_address> list_of(input& choices) {
  std::vector<ipv4_address> list(choices.choice(8));
  for (ipv4_address& node : list) node = node_of(choices);
  return list;
}

dsr_packet packet_of(input& choices, std::uint64_t content) {
  dsr_packet packet{.source = node_of(choices), .destination = node_of(choices), .ttl = choices.hostile<std::uint8_t>()};
  if (choices.flag()) packet.content = content;
  if (choices.flag()) {
    if (const auto decoded = wire::decode_dsr_header(choices.take(64))) packet.header = decoded->header;
    return packet;
  }
  const std::uint32_t parts = choices.choice(16);
  if ((parts & 1) != 0)
    packet.header.request = {.identification = choices.choice(4) != 0 ? std::uint16_t{1} : std::uint16_t{2},
                             .target = node_of(choices),
                             .route = list_of(choices)};
  if ((parts & 2) != 0) {
    packet.header.replies.push_back({.route = list_of(choices)});
    packet.header.replies.back().route.push_back(node_of(choices));
  }
  if ((parts & 4) != 0)
    packet.header.errors.push_back({.source = node_of(choices), .destination = node_of(choices), .unreachable = node_of(choices)});
  if ((parts & 8) != 0) {
    wire::dsr_source_route route{.salvage = static_cast<std::uint8_t>(choices.choice(16)), .route = list_of(choices)};
    route.segments_left = static_cast<std::uint8_t>(choices.choice(static_cast<std::uint32_t>(route.route.size()) + 1));
    packet.header.source_route = route;
  }
  return packet;
}

void run_router(std::span<const std::uint8_t> bytes) {
  input choices(bytes);
  dsr_router router(self, choices.number<std::uint8_t>());
  std::uint64_t contents = 0;
  std::set<std::uint64_t> held;
  time_us now = 1;
  while (!choices.empty()) {
    const std::uint64_t content = ++contents;
    switch (choices.choice(6)) {
      case 0:
        held.insert(content);
        router.originate(now, content, node_of(choices), 6, 64);
        break;
      case 1: {
        dsr_packet packet = packet_of(choices, content);
        // A host gives away a request's content, if there is one: requests carry none.
        if (packet.header.request) packet.content.reset();
        if (packet.content) held.insert(content);
        router.receive(now, std::move(packet));
        break;
      }
      case 2:
        router.overhear(now, packet_of(choices, content), node_of(choices));
        break;
      case 3:
      case 4: {
        dsr_packet packet = packet_of(choices, content);
        if (packet.header.request) packet.content.reset();
        if (packet.content) held.insert(content);
        const ipv4_address next = node_of(choices);
        if (choices.flag()) {
          router.on_link_failure(now, next, std::move(packet));
        } else {
          router.on_unsent(now, next, std::move(packet));
        }
        break;
      }
      default:
        now += choices.hostile<std::uint32_t>();
        router.expire(now);
    }
    while (const auto action = router.take()) {
      const dsr_packet& packet = action->packet;
      if (packet.content) expect(held.erase(*packet.content) == 1, "a packet ends once");
      if (action->what != dsr_action::kind::send) continue;
      expect(action->next_hop != self, "nothing is sent to this node");
      expect(!packet.header.source_route || is_simple(route_of(packet)), "no route twice over a node");
      const auto read = wire::decode_dsr_header(wire::encode(packet.header));
      expect(read && read->header == packet.header, "what is sent can be read");
    }
    expect(router.waiting() <= 64, "the send buffer is bounded");
    if (const auto deadline = router.next_deadline(); deadline && *deadline <= now) router.expire(now);
    for (ipv4_address node = 0; node < 8; ++node) {
      const auto route = router.route_to(now, node);
      expect(!route || (route->front() == self && route->back() == node && is_simple(*route)), "a route leads from here to there");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<std::uint8_t> bytes(data + 1, data + size);
  if (data[0] % 2 == 0) {
    check_header(bytes);
  } else {
    run_router(bytes);
  }
  return 0;
}
