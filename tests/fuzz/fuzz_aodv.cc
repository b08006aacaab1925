// SPDX-License-Identifier: GPL-2.0-or-later
//
// AODV. The first byte chooses: the codec of its messages with any bytes, or a router to which packets, messages, failures and time come
// in any order, messages as bytes of the input or made of the addresses and numbers of a few nodes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "host/core/routing/aodv_router.hpp"
#include "host/core/wire/aodv_message.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace perhop;
using namespace perhop::routing;
using fuzz::expect;
using fuzz::input;

void check_message(std::span<const std::uint8_t> bytes) {
  const auto decoded = wire::decode_aodv_message(bytes);
  if (!decoded) return;
  const std::vector<std::uint8_t> written = wire::encode(*decoded);
  expect(written.size() <= bytes.size(), "what was read is written in no more bytes");
  expect(wire::decode_aodv_message(written) == decoded, "a message comes back the same");
}

constexpr ipv4_address self = 1;

ipv4_address node_of(input& choices) { return choices.choice(8); }

std::uint32_t sequence_of(input& choices) { return choices.flag() ? choices.choice(16) : choices.hostile<std::uint32_t>(); }

wire::aodv_message message_of(input& choices) {
  switch (choices.choice(4)) {
    case 0:
      if (const auto decoded = wire::decode_aodv_message(choices.take(64))) return *decoded;
      [[fallthrough]];
    case 1: {
      wire::aodv_rreq request{.destination_only = choices.flag(),
                              .hops = choices.hostile<std::uint8_t>(),
                              .identification = choices.choice(4),
                              .destination = node_of(choices),
                              .originator = node_of(choices),
                              .originator_sequence = sequence_of(choices)};
      if (choices.flag()) request.destination_sequence = sequence_of(choices);
      return request;
    }
    case 2:
      return wire::aodv_rrep{.hops = choices.hostile<std::uint8_t>(),
                             .destination = node_of(choices),
                             .destination_sequence = sequence_of(choices),
                             .originator = node_of(choices),
                             .lifetime_ms = choices.hostile<std::uint32_t>()};
    default: {
      wire::aodv_rerr error{.no_delete = choices.flag()};
      for (std::uint32_t count = 1 + choices.choice(4); count != 0; --count) error.lost.push_back({node_of(choices), sequence_of(choices)});
      return error;
    }
  }
}

/// A packet that somebody else sent, or this node.
aodv_packet packet_of(input& choices, std::uint64_t content) {
  return {.source = node_of(choices), .destination = node_of(choices), .ttl = choices.hostile<std::uint8_t>(), .content = content};
}

/// One that this node sent: it had life left.
aodv_packet sent_packet_of(input& choices, std::uint64_t content) {
  aodv_packet packet = packet_of(choices, content);
  packet.ttl = std::max<std::uint8_t>(packet.ttl, 1);
  return packet;
}

void check_routes(const aodv_router& router) {
  for (ipv4_address node = 0; node < 8; ++node) {
    const aodv_route* route = router.route_to(node);
    if (route == nullptr || route->is == aodv_route::condition::down) continue;
    expect(route->sequence.has_value(), "a route belongs to a sequence number");
    expect(route->hops >= 1, "a route has a hop");
    expect(route->next_hop != self, "a route does not lead to this node itself");
  }
}

void run_router(std::span<const std::uint8_t> bytes) {
  input choices(bytes);
  const bool by_rfc = choices.flag();
  aodv_router router(self, choices.number<std::uint8_t>(), {.repair = by_rfc ? aodv_repair_by_rfc : aodv_repair_config{}});
  std::uint64_t contents = 0;
  std::set<std::uint64_t> held;
  time_us now = 1;
  while (!choices.empty()) {
    const std::uint64_t content = ++contents;
    switch (choices.choice(6)) {
      case 0:
        held.insert(content);
        router.originate(now, content, node_of(choices));
        break;
      case 1:
        held.insert(content);
        router.receive(now, packet_of(choices, content));
        break;
      case 2:
      case 3:
        router.receive_message(now, node_of(choices), choices.hostile<std::uint8_t>(), message_of(choices));
        break;
      case 4:
        held.insert(content);
        router.on_link_failure(now, node_of(choices), sent_packet_of(choices, content));
        break;
      default:
        now += choices.hostile<std::uint32_t>();
        router.expire(now);
    }
    while (const auto action = router.take()) {
      switch (action->what) {
        case aodv_action::kind::tell:
          expect(action->next_hop != self && action->ttl != 0, "a message goes to a neighbour");
          expect(wire::decode_aodv_message(wire::encode(action->message)) == action->message, "what is sent can be read");
          break;
        case aodv_action::kind::purge:
          break;
        case aodv_action::kind::send:
          expect(action->next_hop != self && action->packet.ttl != 0, "a packet goes to a neighbour");
          [[fallthrough]];
        case aodv_action::kind::deliver:
        case aodv_action::kind::drop:
          expect(held.erase(action->packet.content) == 1, "a packet ends once");
      }
    }
    expect(router.waiting() <= 64, "the buffer is bounded");
    if (const auto deadline = router.next_deadline(); deadline && *deadline <= now) router.expire(now);
    check_routes(router);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<std::uint8_t> bytes(data + 1, data + size);
  if (data[0] % 2 == 0) {
    check_message(bytes);
  } else {
    run_router(bytes);
  }
  return 0;
}
