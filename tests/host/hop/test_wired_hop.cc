// SPDX-License-Identifier: GPL-2.0-or-later
//
// A gateway's hop path: what leaves over its wire, and what over its MAC.
#include <gtest/gtest.h>

#include <vector>

#include "host/core/hop/hop_path.hpp"

namespace perhop::hop {
namespace {

constexpr std::uint64_t server = node_address_base + 10;
constexpr std::uint64_t neighbour = node_address_base + 20;
constexpr std::uint32_t segment_bytes = 1000;

/// Its wire leads to `server`, its MAC to all others and takes nothing.
struct gateway {
  using content = std::uint64_t;  // the receiver
  using frame = std::uint64_t;
  struct crossed {
    wire::path_header header;
    std::uint64_t receiver;
  };

  std::vector<crossed> on_wire;
  unsigned lost = 0;
  bool wire_has_room = true;

  std::optional<std::uint64_t> receiver_of(const outgoing<content>& packet) const { return packet.content; }
  bool is_wired(std::uint64_t receiver) const { return receiver == server; }
  bool send_on_wire(outgoing<content>&&, const wire::path_header& header, std::uint64_t receiver) {
    if (wire_has_room) on_wire.push_back({header, receiver});
    return wire_has_room;
  }
  shim::next_hop describe(const outgoing<content>& packet, std::uint64_t, std::uint8_t peer) const {
    return {.peer = peer, .rate_index = 1, .mpdu_bytes = packet.view.ip_bytes + 54};
  }
  void before_leaving(outgoing<content>&) {}
  void on_left(time_us, const outgoing<content>&, std::uint64_t, const wire::path_header&, std::uint64_t) {}
  frame make(time_us, outgoing<content>&&, const wire::path_header&, std::uint64_t receiver, const shim::next_hop&) { return receiver; }
  frame make_hello(time_us, std::span<const std::uint8_t>, std::uint8_t, std::uint32_t) { return 0; }
  bool mac_is_up() const { return true; }
  bool can_submit() const { return false; }
  void submit(time_us, frame_queue<frame>::entry&&) {}
  void on_lost(const shim::ip_packet_view&, loss) { ++lost; }
  void on_purged(frame&&) {}
  std::uint32_t node_of(std::uint64_t) const { return 0; }
  std::uint32_t window_packets(const shim::ip_packet_view&) const { return 0; }
  void on_room(room_event, const shim::ip_packet_view&) {}
};

class wired_hop : public testing::Test {
protected:
  wired_hop() { path_.start({.profile = find_profile("dsss_long")}); }

  static outgoing<std::uint64_t> segment(std::uint64_t receiver) {
    return {.view = {.flow = {.source = shim::ip_address::from_ipv4(0x0a000001),
                              .destination = shim::ip_address::from_ipv4(0x0a000002),
                              .source_port = 1,
                              .destination_port = 2},
                     .ip_bytes = 40 + segment_bytes,
                     .ttl = 64,
                     .tcp = {.has_tcp_ack = true, .window_bytes = 65535, .payload_bytes = segment_bytes}},
            .content = receiver};
  }

  static wire::path_header after_three_hops() { return {.hops = 3, .total_delay_us = 24'000, .max_delay_us = 9'000}; }

  gateway host_;
  hop_path<gateway> path_{host_, 2};
};

TEST_F(wired_hop, is_a_flag_in_the_header_and_neither_hop_nor_delay) {
  outgoing<std::uint64_t> packet = segment(server);
  packet.from = origin::radio;
  packet.header = after_three_hops();
  EXPECT_TRUE(path_.pass(0, std::move(packet)));
  ASSERT_EQ(host_.on_wire.size(), 1U);
  const wire::path_header& header = host_.on_wire[0].header;
  EXPECT_EQ(host_.on_wire[0].receiver, server);
  EXPECT_TRUE(header.wired_hop_seen);
  EXPECT_EQ(header.hops, 3);
  EXPECT_EQ(header.total_delay_us, 24'000U);
  EXPECT_EQ(header.max_delay_us, 9'000U);
}

TEST_F(wired_hop, a_packet_that_begins_at_a_server_counts_the_radio_hops_after_the_wire_only) {
  ASSERT_TRUE(path_.pass(0, segment(server)));
  EXPECT_EQ(host_.on_wire[0].header.hops, 0);
  outgoing<std::uint64_t> onward = segment(neighbour);
  onward.from = origin::radio;
  onward.header = host_.on_wire[0].header;
  wire::path_header over_the_air = *onward.header;
  path_.shim().on_forward(0, over_the_air, onward.view, host_.describe(onward, neighbour, 0));
  EXPECT_EQ(over_the_air.hops, 1);
  EXPECT_GT(over_the_air.total_delay_us, 4'000U);
  EXPECT_TRUE(over_the_air.wired_hop_seen);
}

TEST_F(wired_hop, takes_no_room_in_the_queue_of_the_mac_and_no_slot_of_its_neighbours) {
  for (int packet = 0; packet < 2; ++packet) ASSERT_TRUE(path_.pass(0, segment(neighbour)));
  EXPECT_FALSE(path_.pass(0, segment(neighbour))) << "the MAC takes nothing, and its queue has two places";
  EXPECT_EQ(host_.lost, 1U);
  for (int packet = 0; packet < 5; ++packet) EXPECT_TRUE(path_.pass(0, segment(server)));
  EXPECT_EQ(host_.on_wire.size(), 5U);
  EXPECT_EQ(host_.lost, 1U);
  EXPECT_EQ(path_.queue().size(), 2U);
  EXPECT_TRUE(path_.peers().is_of(0, neighbour)) << "the first slot that was given out";
  EXPECT_FALSE(path_.peers().is_of(1, server));
}

TEST_F(wired_hop, a_packet_that_the_wire_loses_is_lost_to_ip) {
  host_.wire_has_room = false;
  EXPECT_FALSE(path_.pass(0, segment(server)));
  EXPECT_EQ(host_.lost, 0U) << "the host counts what its wires lose";
}

TEST_F(wired_hop, a_silent_router_leaves_the_header_as_it_is) {
  outgoing<std::uint64_t> packet = segment(server);
  packet.from = origin::radio;
  packet.header = after_three_hops();
  ASSERT_TRUE(path_.pass(0, std::move(packet), false));
  EXPECT_EQ(host_.on_wire[0].header, after_three_hops());
}

}  // namespace
}  // namespace perhop::hop
