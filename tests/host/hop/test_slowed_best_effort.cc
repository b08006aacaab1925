// SPDX-License-Identifier: GPL-2.0-or-later
//
// A hop path that slows best effort: what goes to the MAC at which time, and what goes first.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "host/core/hop/hop_path.hpp"

namespace perhop::hop {
namespace {

constexpr std::uint64_t neighbour = node_address_base + 20;
/// 1000 bits take 100 ms.
constexpr policy::swan_settings settings{.period_us = 60'000'000, .increase_bps = 10'000};

/// Its MAC takes what it is given and has room for so many.
struct node {
  using content = char;
  using frame = char;

  std::vector<std::pair<time_us, char>> given;
  std::size_t room = 100;

  std::optional<std::uint64_t> receiver_of(const outgoing<content>&) const { return neighbour; }
  shim::next_hop describe(const outgoing<content>&, std::uint64_t, std::uint8_t peer) const { return {.peer = peer, .mpdu_bytes = 125}; }
  void before_leaving(outgoing<content>&) {}
  void on_left(time_us, const outgoing<content>&, std::uint64_t, const wire::path_header&, std::uint64_t) {}
  frame make(time_us, outgoing<content>&& packet, const wire::path_header&, std::uint64_t, const shim::next_hop&) { return packet.content; }
  frame make_hello(time_us, std::span<const std::uint8_t>, std::uint8_t, std::uint32_t) { return 'h'; }
  bool mac_is_up() const { return true; }
  bool can_submit() const { return room != 0; }
  void submit(time_us now, frame_queue<frame>::entry&& entry) {
    --room;
    given.emplace_back(now, entry.what);
  }
  void on_lost(const shim::ip_packet_view&, loss) {}
  void on_purged(frame&&) {}
  std::uint32_t node_of(std::uint64_t) const { return 0; }
  std::uint32_t window_packets(const shim::ip_packet_view&) const { return 0; }
  void on_room(room_event, const shim::ip_packet_view&) {}
};

class slowed_best_effort : public testing::Test {
protected:
  slowed_best_effort() { path_.start({.profile = find_profile("dsss_long")}); }

  void send(time_us now, char what, bool expedited = false, std::uint8_t priority = queue_priority::best_effort) {
    path_.send(now, {.view = {.flow = {.protocol = shim::ip_protocol_udp}, .ip_bytes = 80, .expedited = expedited},
                     .content = what,
                     .priority = priority});
  }

  /// Lets time pass.
  void pass(time_us until) {
    for (auto due = path_.next_deadline(); due && *due <= until; due = path_.next_deadline()) path_.expire(*due);
  }

  using given = std::vector<std::pair<time_us, char>>;

  node host_;
  hop_path<node> path_{host_, 50};
};

TEST_F(slowed_best_effort, without_it_all_goes_at_once) {
  for (const char what : {'a', 'b', 'c'}) send(5, what, what == 'c');
  EXPECT_EQ(host_.given, (given{{5, 'a'}, {5, 'b'}, {5, 'c'}}));
  EXPECT_FALSE(path_.next_deadline());
}

TEST_F(slowed_best_effort, packets_go_at_the_rate) {
  path_.slow_best_effort(settings);
  for (const char what : {'a', 'b', 'c'}) send(5, what);
  EXPECT_EQ(host_.given, (given{{5, 'a'}}));
  EXPECT_EQ(path_.next_deadline(), 100'000U);
  pass(1'000'000);
  EXPECT_EQ(host_.given, (given{{5, 'a'}, {100'000, 'b'}, {200'000, 'c'}}));
  EXPECT_FALSE(path_.next_deadline()) << "nothing waits";
}

TEST_F(slowed_best_effort, real_time_packets_and_those_of_routing_wait_for_nothing) {
  path_.slow_best_effort(settings);
  send(5, 'a');
  send(6, 'b');
  send(7, 'r', true);
  send(8, 's', false, queue_priority::routing);
  send(9, 't', false, queue_priority::tcp_acks);
  EXPECT_EQ(host_.given, (given{{5, 'a'}, {7, 'r'}, {8, 's'}}));
  pass(1'000'000);
  EXPECT_EQ(host_.given, (given{{5, 'a'}, {7, 'r'}, {8, 's'}, {100'000, 't'}, {200'000, 'b'}})) << "TCP ACKs are best effort";
}

TEST_F(slowed_best_effort, a_mac_without_room_sets_no_deadline_and_takes_what_is_due_when_it_has) {
  path_.slow_best_effort(settings);
  host_.room = 1;
  send(5, 'a');
  send(5, 'b');
  EXPECT_FALSE(path_.next_deadline());
  host_.room = 1;
  path_.pump(50'000);
  EXPECT_EQ(host_.given.size(), 1U) << "it is not its time";
  EXPECT_EQ(path_.next_deadline(), 100'000U);
  path_.pump(150'000);
  EXPECT_EQ(host_.given, (given{{5, 'a'}, {150'000, 'b'}}));
}

TEST_F(slowed_best_effort, the_service_time_of_any_packet_slows_it) {
  const auto rate_after = [this](std::uint32_t service_us) {
    hop_path<node> path(host_, 50);
    path.start({.profile = find_profile("dsss_long")});
    path.slow_best_effort({.period_us = 1'000'000, .threshold_us = 20'000, .increase_bps = 10'000, .gap_share = 1.0});
    host_.given.clear();
    host_.room = 1000;
    for (time_us now = 0; now < 4'000'000; now += 10'000) {
      path.send(now, {.view = {.flow = {.protocol = shim::ip_protocol_udp}, .ip_bytes = 80}, .content = 'a'});
      if (now % 1'000'000 == 500'000) path.on_completion(now, {.receiver_address = neighbour, .service_us = service_us});
      for (auto due = path.next_deadline(); due && *due < now + 10'000; due = path.next_deadline()) path.expire(*due);
    }
    return host_.given.size();
  };
  EXPECT_NEAR(static_cast<double>(rate_after(20'000)), 10 + 20 + 30 + 40, 4);
  EXPECT_NEAR(static_cast<double>(rate_after(20'001)), 10 + 10 + 10 + 10, 4);
}

}  // namespace
}  // namespace perhop::hop
