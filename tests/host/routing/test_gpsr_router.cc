// SPDX-License-Identifier: GPL-2.0-or-later
//
// GPSR over topologies made by hand, and over random ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/host/routing/gpsr_network.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::routing::test {
namespace {

using path = std::vector<ipv4_address>;
constexpr time_us until_all_know_each_other_us = 2 * second_us;

std::size_t frames_of(const gpsr_network& network, std::uint64_t content) {
  return static_cast<std::size_t>(
      std::ranges::count_if(network.sent_frames, [=](const auto& sent) { return sent.packet.content == content; }));
}

// ---- Beacons and neighbours

TEST(GpsrBeacons, EachIntervalIsDrawnAnewFromHalfToOneAndAHalf) {
  gpsr_network network({{0, 0}, {100, 0}});
  network.run(400 * second_us);
  std::vector<time_us> times;
  for (const auto& sent : network.sent_frames) {
    EXPECT_EQ(sent.to, everybody);
    EXPECT_EQ(sent.packet.ttl, 1);
    if (sent.from == 1) times.push_back(sent.at_us);
  }
  ASSERT_GT(times.size(), 300U);
  EXPECT_LT(times.size(), 500U);
  EXPECT_LT(times[0], 2 * second_us) << "the first within an interval of the start";
  time_us least = second_us, most = 0;
  for (std::size_t index = 1; index < times.size(); ++index) {
    least = std::min(least, times[index] - times[index - 1]);
    most = std::max(most, times[index] - times[index - 1]);
  }
  EXPECT_GE(least, second_us / 2);
  EXPECT_LT(least, second_us * 6 / 10);
  EXPECT_LT(most, second_us * 3 / 2);
  EXPECT_GT(most, second_us * 14 / 10);
}

TEST(GpsrBeacons, APacketTellsItsReceiverWhereItsSenderStands) {
  gpsr_network network({{0, 0}, {200, 0}, {400, 0}});
  network.run(until_all_know_each_other_us);
  network.move(2, {210, 30});
  network.send(2, 3);
  network.run(frame_us);
  EXPECT_EQ(network.node(3).neighbours().find(2)->at, (gpsr_position{210'000, 30'000}));
}

TEST(GpsrStale, ANeighbourThatWasNotHeardForFourAndAHalfIntervalsIsNoLongerUsed) {
  // 1 reaches 4 by 2, which is nearer, or by 3.
  gpsr_network network({{0, 0}, {200, 0}, {160, 100}, {380, 0}});
  network.run(until_all_know_each_other_us);
  const auto before = network.send(1, 4);
  network.run(second_us / 2);
  EXPECT_EQ(network.path_of(before), (path{1, 2, 4}));
  network.move(2, {200, 5000});
  network.run(5 * second_us);
  const auto after = network.send(1, 4);
  network.run(second_us);
  EXPECT_EQ(network.path_of(after), (path{1, 3, 4})) << "no frame went to the node that is gone";
}

TEST(GpsrStale, ANeighbourThatDoesNotAnswerIsForgottenAndThePacketGoesAnotherWayAtOnce) {
  gpsr_network network({{0, 0}, {200, 0}, {160, 100}, {380, 0}});
  network.run(until_all_know_each_other_us);
  network.move(2, {200, 5000});
  const auto content = network.send(1, 4);
  network.run(failure_us + 3 * frame_us);
  EXPECT_EQ(network.path_of(content), (path{1, 1, 3, 4})) << "once to the node that is gone, then by the other one";
  EXPECT_EQ(network.node(1).neighbours().find(2), nullptr);
  EXPECT_EQ(network.node(1).counters().links_failed, 1U);
  EXPECT_EQ(network.node(1).counters().forwarded_anew, 1U);
}

TEST(GpsrStale, WhatWaitedForTheNeighbourThatFailedGoesAnotherWayToo) {
  gpsr_network network({{0, 0}, {200, 0}, {160, 100}, {380, 0}});
  network.run(until_all_know_each_other_us);
  gpsr_router& router = network.node(1);
  router.originate(network.now(), 77, 4, 6, 64);
  auto waits = router.take();
  ASSERT_EQ(waits->next_hop, 2U);
  router.on_unsent(network.now(), 2, waits->packet);
  const auto anew = router.take();
  ASSERT_TRUE(anew);
  EXPECT_EQ(anew->next_hop, 3U);
  EXPECT_EQ(anew->packet.content, 77U);
}

// ---- Greedy

TEST(GpsrGreedy, APacketGoesToTheNeighbourNearestToItsDestination) {
  std::vector<place> chain;
  for (int node = 0; node < 8; ++node) chain.push_back({100.0 * node, 0});
  gpsr_network network(chain);
  network.run(until_all_know_each_other_us);
  const auto content = network.send(1, 8);
  network.run(second_us / 2);
  EXPECT_EQ(network.path_of(content), (path{1, 3, 5, 7, 8}));
  EXPECT_EQ(network.arrivals.size(), 1U);
}

TEST(GpsrGreedy, APacketForThisNodeIsDelivered) {
  gpsr_network network({{0, 0}});
  EXPECT_TRUE(network.delivered(network.send(1, 1)));
}

TEST(GpsrGreedy, ADestinationThatIsANeighbourIsSentToThoughThePacketSaysAnotherPlace) {
  gpsr_network network({{0, 0}, {200, 0}, {390, 0}, {390, 100}});
  network.run(until_all_know_each_other_us);
  const auto content = network.send(1, 3);
  // Under way, the destination goes behind the second node, and says so.
  network.move(3, {200, 200});
  network.node(2).receive(network.now(), {.header = {.sender = 3, .sender_at = {200'000, 200'000}}});
  network.run(second_us / 2);
  EXPECT_EQ(network.path_of(content), (path{1, 2, 3}));
}

TEST(GpsrGreedy, WithoutAnyNeighbourAPacketIsLost) {
  gpsr_network network({{0, 0}, {1000, 0}});
  network.run(until_all_know_each_other_us);
  network.send(1, 2);
  ASSERT_EQ(network.losses.size(), 1U);
  EXPECT_EQ(network.losses[0].reason, gpsr_drop::no_neighbour);
}

TEST(GpsrGreedy, TheTimeToLiveEndsAPacket) {
  gpsr_network network({{0, 0}, {200, 0}, {400, 0}, {600, 0}});
  network.run(until_all_know_each_other_us);
  const auto enough = network.send(1, 4, 3), short_of_one = network.send(1, 4, 2);
  network.run(second_us / 2);
  EXPECT_TRUE(network.delivered(enough));
  EXPECT_FALSE(network.delivered(short_of_one));
  EXPECT_EQ(network.losses.at(0).reason, gpsr_drop::ttl_spent);
}

// ---- Around voids

/// No neighbour of 1 is nearer to 2 than 1 is. 3 to 6 lead around to the north, 7 to 10 to the south.
std::vector<place> around_a_void() {
  return {{0, 0}, {500, 0}, {-20, 200}, {150, 330}, {350, 250}, {470, 150}, {-20, -200}, {150, -330}, {350, -250}, {470, -150}};
}

TEST(GpsrVoid, APacketGoesAroundItByTheFirstEdgeCounterclockwiseAndGreedilyFromWhereItIsNearer) {
  gpsr_network network(around_a_void());
  network.run(until_all_know_each_other_us);
  const auto content = network.send(1, 2);
  network.run(second_us / 2);
  EXPECT_EQ(network.path_of(content), (path{1, 3, 4, 5, 6, 2}));
  const path by_perimeter{1, 3};
  path seen;
  for (const auto& sent : network.sent_frames) {
    if (sent.packet.content == content && sent.packet.header.route->perimeter) seen.push_back(sent.from);
  }
  EXPECT_EQ(seen, by_perimeter);
}

TEST(GpsrVoid, WhereTheWayEndsThePacketComesBackAndGoesTheOtherWay) {
  auto places = around_a_void();
  places[3] = {5000, 5000};  // the north ends at 3
  gpsr_network network(places);
  network.run(until_all_know_each_other_us);
  const auto content = network.send(1, 2);
  network.run(second_us / 2);
  EXPECT_EQ(network.path_of(content), (path{1, 3, 1, 7, 8, 9, 10, 2}));
}

TEST(GpsrVoid, ALinkThatFailsOnTheWayAroundIsGoneAroundFromWhereItFailed) {
  gpsr_network network(around_a_void());
  network.run(until_all_know_each_other_us);
  network.cut(3, 4);
  const auto content = network.send(1, 2);
  network.run(second_us / 2);
  EXPECT_EQ(network.path_of(content), (path{1, 3, 3, 1, 7, 8, 9, 10, 2}));
}

TEST(GpsrCrossing, WhereLinksCrossThePacketLeavesTheVoidBecauseTheGraphIsPlanar) {
  // The link of 1 and 8 crosses that of 6 and 7. By the right-hand rule over all links a packet circles between them.
  for (const planar_graph graph : {planar_graph::gabriel, planar_graph::relative_neighbourhood}) {
    gpsr_network network({{750, 410}, {310, 710}, {380, 700}, {500, 520}, {780, 420}, {780, 490}, {700, 410}, {780, 650}},
                         {.graph = graph});
    ASSERT_TRUE(network.linked(1, 8) && network.linked(6, 7));
    network.run(until_all_know_each_other_us);
    const auto content = network.send(1, 2);
    network.run(second_us / 2);
    EXPECT_TRUE(network.delivered(content));
    if (graph == planar_graph::gabriel) {
      EXPECT_EQ(network.path_of(content), (path{1, 8, 6, 5, 1, 7, 4, 3, 2}));
    }
  }
}

TEST(GpsrCrossing, AnEdgeOfTheGabrielGraphHasAnEmptyCircleAndOneOfTheOtherGraphAnEmptyLune) {
  gpsr_neighbours neighbours;
  neighbours.hear(0, 2, {200, 0});
  neighbours.hear(0, 3, {100, 120});  // outside of the circle around the edge to 2, within its lune
  EXPECT_EQ(neighbours.planar({0, 0}, planar_graph::gabriel).size(), 2U);
  EXPECT_EQ(neighbours.planar({0, 0}, planar_graph::relative_neighbourhood).size(), 1U);
  neighbours.hear(0, 3, {100, 90});  // within both
  EXPECT_EQ(neighbours.planar({0, 0}, planar_graph::gabriel).size(), 1U);
}

TEST(GpsrCrossing, AnEdgeThatCrossesTheLineNearerToTheDestinationLeadsIntoTheNextFaceAndIsNotTaken) {
  gpsr_network network({{0, 0}});
  gpsr_router& router = network.node(1);
  // Counterclockwise from 4, which the packet comes from, there are 3 and then 2. The edge to 3 crosses the line at (5, 100).
  router.receive(0, {.header = {.sender = 3, .sender_at = {10'000, 200'000}}});
  router.receive(0, {.header = {.sender = 2, .sender_at = {-150'000, 10'000}}});
  const gpsr_position entered{1'000, 100'000}, goal{900'000, 100'000}, beyond{20'000, 100'000};
  gpsr_packet packet{.source = 9, .destination = 8, .content = 1};
  packet.header = {.sender = 4, .sender_at = {100'000, -50'000}, .route = {{.destination = goal}}};
  packet.header.route->perimeter = {.entered = entered, .face = entered, .first_edge_from = 9, .first_edge_to = 7};
  router.receive(0, packet);
  const auto next_face = router.take();
  EXPECT_EQ(next_face->next_hop, 2U);
  const wire::gpsr_perimeter expected{.entered = entered, .face = {5'000, 100'000}, .first_edge_from = 1, .first_edge_to = 2};
  EXPECT_EQ(next_face->packet.header.route->perimeter, expected);

  // It crossed the line nearer before: this edge is one of the same face.
  packet.header.route->perimeter->face = beyond;
  router.receive(0, packet);
  const auto same_face = router.take();
  EXPECT_EQ(same_face->next_hop, 3U);
  EXPECT_EQ(same_face->packet.header.route->perimeter, packet.header.route->perimeter);
}

TEST(GpsrUnreachable, APacketThatHasBeenAllAroundIsDropped) {
  auto places = around_a_void();
  places[1] = {1500, 0};  // out of everybody's reach
  gpsr_network network(places);
  network.run(until_all_know_each_other_us);
  const auto content = network.send(1, 2, 255);
  network.run(second_us);
  EXPECT_FALSE(network.delivered(content));
  ASSERT_EQ(network.losses.size(), 1U);
  EXPECT_EQ(network.losses[0].reason, gpsr_drop::unreachable);
  // To the nearest node, and at most once around the outside of a ring of ten nodes, each edge in both directions.
  EXPECT_LE(frames_of(network, content), 25U);
}

// ---- Properties

TEST(GpsrProperties, OverRandomNetworksEachPacketArrivesExactlyIfTheNetworkJoinsItsEnds) {
  PERHOP_TELL_SEED();
  std::mt19937_64 random(test_seed());
  unsigned around = 0, apart = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<place> places(25);
    for (place& one : places) one = {static_cast<double>(random() % 1100), static_cast<double>(random() % 1100)};
    gpsr_network network(places, {.graph = round % 2 == 0 ? planar_graph::gabriel : planar_graph::relative_neighbourhood});
    std::set<ipv4_address> reached{1};
    for (std::vector<ipv4_address> open{1}; !open.empty();) {
      const ipv4_address from = open.back();
      open.pop_back();
      for (ipv4_address to = 1; to <= places.size(); ++to) {
        if (network.linked(from, to) && reached.insert(to).second) open.push_back(to);
      }
    }
    network.run(until_all_know_each_other_us);
    const auto content = network.send(1, 2, 255);
    network.run(second_us);
    EXPECT_EQ(network.delivered(content), reached.contains(2)) << "round " << round;
    if (!reached.contains(2)) {
      ++apart;
      ASSERT_EQ(network.losses.size(), 1U);
      EXPECT_NE(network.losses[0].reason, gpsr_drop::ttl_spent) << "round " << round;
    }
    around += std::ranges::any_of(network.sent_frames, [&](const auto& sent) {
      return sent.packet.content == content && sent.packet.header.route->perimeter.has_value();
    });
  }
  EXPECT_GT(around, 40U);
  EXPECT_GT(apart, 20U);
}

}  // namespace
}  // namespace perhop::routing::test
