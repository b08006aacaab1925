// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/hop/waiting_room.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "host/core/hop/outgoing.hpp"

namespace perhop::hop {
namespace {

using packet = outgoing<int>;

constexpr std::uint32_t segment_bytes = 1000;
constexpr time_us round_trip_us = 80'000;
constexpr shim::next_hop hop{.peer = 0, .rate_index = 1, .mpdu_bytes = 1094};

struct host_with_a_window {
  std::uint32_t congestion_window_packets = 8;
  std::uint32_t window_packets(const shim::ip_packet_view&) const { return congestion_window_packets; }
  void on_room(room_event, const shim::ip_packet_view&) {}
};

packet segment(int number) {
  return {.view = {.flow = {.source = shim::ip_address::from_ipv4(0x0a000001),
                            .destination = shim::ip_address::from_ipv4(0x0a000002),
                            .source_port = 1,
                            .destination_port = 2},
                   .ip_bytes = 40 + segment_bytes,
                   .ttl = 64,
                   .tcp = {.has_tcp_ack = true,
                           .sequence = static_cast<std::uint32_t>(number) * segment_bytes,
                           .window_bytes = 65535,
                           .payload_bytes = segment_bytes}},
          .content = number};
}

/// A shim that paces by the window and has measured one round trip.
shim::shim measured_shim() {
  shim::shim made({.profile = find_profile("dsss_long"), .policy = {.pacing = {.kind = policy::pacing_kind::window}}});
  const packet sent = segment(0);
  made.on_originate(0, sent.view, hop, 1);
  shim::ip_packet_view tcp_ack = sent.view;
  tcp_ack.flow = sent.view.flow.reversed();
  tcp_ack.ip_bytes = 40;
  tcp_ack.tcp = {.has_tcp_ack = true, .tcp_ack = segment_bytes, .window_bytes = 65535};
  made.on_receive(round_trip_us, wire::path_header{.hops = 3}, tcp_ack);
  return made;
}

// Eight packets wait, 10 ms apart, when a timeout closes TCP's window to one packet. At a period of a whole round trip the
// packet that TCP sends again would wait for 560 ms behind them, and time out, again and again.
//
//   offered   0 ms x 8   window 1, again at 5 ms
//   sent      0  10  20  30  40  50  60  70  80
TEST(waiting_room, empties_within_a_round_trip_when_a_timeout_closes_the_window) {
  shim::shim sender = measured_shim();
  host_with_a_window host;
  waiting_room<packet, host_with_a_window> room(host);
  const time_us begin = 1'000'000;
  std::vector<time_us> sent;
  for (int number = 1; number <= 8; ++number) {
    packet what = segment(number);
    if (room.offer(begin, sender, what) == held_back::no) sent.push_back(0);
  }
  host.congestion_window_packets = 1;
  packet again = segment(1);
  ASSERT_EQ(room.offer(begin + 5'000, sender, again), held_back::kept);
  while (const std::optional<time_us> next = room.next_release()) {
    room.expire(*next, sender, [&](packet&&) { sent.push_back(*next - begin); });
  }
  ASSERT_EQ(sent.size(), 9U);
  EXPECT_LE(sent.back(), round_trip_us + round_trip_us / 8);

  // Nothing waits any more: the window of now.
  const time_us later = begin + 2 * round_trip_us;
  packet next = segment(2), last = segment(3);
  ASSERT_EQ(room.offer(later, sender, next), held_back::no);
  ASSERT_EQ(room.offer(later, sender, last), held_back::kept);
  EXPECT_EQ(room.next_release(), later + round_trip_us);
}

}  // namespace
}  // namespace perhop::hop
