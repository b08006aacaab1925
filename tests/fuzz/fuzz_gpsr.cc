// SPDX-License-Identifier: GPL-2.0-or-later
//
// GPSR. The first byte chooses: the codec of its headers with any bytes, or a router to which packets, failures and time come in any
// order, headers as bytes of the input or made of a few nodes and places.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "host/core/routing/gpsr_router.hpp"
#include "host/core/wire/gpsr_header.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace perhop;
using namespace perhop::routing;
using fuzz::expect;
using fuzz::input;

void check_header(std::span<const std::uint8_t> bytes) {
  const auto decoded = wire::decode_gpsr_header(bytes);
  if (!decoded) return;
  expect(decoded->size_bytes <= bytes.size(), "a header lies within its packet");
  const std::vector<std::uint8_t> written = wire::encode(decoded->header);
  expect(written.size() == decoded->size_bytes, "what was read is written in as many bytes");
  expect(std::equal(written.begin(), written.end(), bytes.begin()), "what was read is written as it was");
  const auto again = wire::decode_gpsr_header(written);
  expect(again && again->header == decoded->header, "a header comes back the same");
}

constexpr ipv4_address self = 1, nodes = 8;

ipv4_address node_of(input& choices) { return choices.choice(nodes); }

gpsr_position position_of(input& choices) {
  if (choices.flag()) {
    return {static_cast<std::int32_t>(choices.hostile<std::uint32_t>()), static_cast<std::int32_t>(choices.hostile<std::uint32_t>())};
  }
  return {static_cast<std::int32_t>(choices.choice(16)), static_cast<std::int32_t>(choices.choice(16))};
}

wire::gpsr_header header_of(input& choices) {
  if (choices.flag()) {
    if (const auto decoded = wire::decode_gpsr_header(choices.take(64))) return decoded->header;
  }
  wire::gpsr_header header{.sender = node_of(choices), .sender_at = position_of(choices)};
  if (choices.flag()) {
    header.route = {.next_header = 6, .destination = position_of(choices)};
    if (choices.flag()) {
      header.route->perimeter = {.entered = position_of(choices),
                                 .face = position_of(choices),
                                 .first_edge_from = node_of(choices),
                                 .first_edge_to = node_of(choices)};
    }
  }
  return header;
}

/// A packet as a router sent it.
bool is_sound(const gpsr_packet& packet) {
  return packet.header.sender == self && packet.header.route.has_value() == packet.content.has_value() &&
         (packet.content || (packet.destination == everybody && packet.ttl == 1));
}

void run_router(std::span<const std::uint8_t> bytes) {
  input choices(bytes);
  std::vector<gpsr_position> places;
  for (ipv4_address node = 0; node < nodes; ++node) places.push_back(position_of(choices));
  gpsr_router router(self, 0, choices.number<std::uint8_t>(), [&](ipv4_address node, time_us) { return places[node]; });
  std::uint64_t contents = 0;
  std::set<std::uint64_t> held;
  std::vector<gpsr_action> sent;
  time_us now = 0;
  while (!choices.empty()) {
    const std::uint64_t content = ++contents;
    switch (choices.choice(6)) {
      case 0:
        held.insert(content);
        router.originate(now, content, node_of(choices), 6, 64);
        break;
      case 1:
      case 2: {
        gpsr_packet packet{.source = node_of(choices), .destination = node_of(choices), .ttl = choices.hostile<std::uint8_t>()};
        packet.header = header_of(choices);
        // Any content, and none, whatever the header says.
        if (choices.flag() || packet.header.route) packet.content = content;
        if (packet.content) held.insert(content);
        router.receive(now, packet);
        break;
      }
      case 3: {
        if (sent.empty()) break;
        // The MAC gives something up that it was given.
        const std::size_t which = choices.choice(static_cast<std::uint32_t>(sent.size()));
        const gpsr_action failed = sent[which];
        sent.erase(sent.begin() + static_cast<std::ptrdiff_t>(which));
        const ipv4_address next = failed.next_hop;
        if (failed.packet.content) held.insert(*failed.packet.content);
        if (choices.flag()) {
          router.on_link_failure(now, next, failed.packet);
        } else {
          router.on_unsent(now, next, failed.packet);
        }
        expect(router.neighbours().find(next) == nullptr, "who does not answer is no neighbour");
        break;
      }
      case 4:
        places[node_of(choices)] = position_of(choices);
        break;
      default:
        now += choices.hostile<std::uint32_t>();
        router.expire(now);
    }
    while (const auto action = router.take()) {
      const gpsr_packet& packet = action->packet;
      if (packet.content) expect(held.erase(*packet.content) == 1, "a packet ends once");
      if (action->what != gpsr_action::kind::send) continue;
      expect(is_sound(packet), "what is sent says who sends it");
      expect(action->next_hop != self, "nothing is sent to this node");
      expect(packet.content.has_value() == (action->next_hop != everybody), "beacons alone are for everybody");
      expect(!packet.content || router.neighbours().find(action->next_hop) != nullptr, "packets go to neighbours");
      const auto read = wire::decode_gpsr_header(wire::encode(packet.header));
      expect(read && read->header == packet.header, "what is sent can be read");
      if (sent.size() < 16) sent.push_back(*action);
    }
    expect(held.empty(), "no packet stays here");
    if (const auto deadline = router.next_deadline(); *deadline <= now) {
      router.expire(now);
      expect(*router.next_deadline() > now, "a beacon is due after the last one");
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
