// SPDX-License-Identifier: GPL-2.0-or-later
//
// AODV over topologies made by hand. The way of packets that wait and of failed links is what ns-2.35's does, as its traces show.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/host/routing/aodv_network.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::routing::test {
namespace {

using hop_list = std::vector<std::pair<ipv4_address, ipv4_address>>;
using wire::aodv_rerr;
using wire::aodv_rrep;
using wire::aodv_rreq;
using condition = aodv_route::condition;

TEST(AodvChain, AskedOnceAllPacketsGoAlongTheChainBothWays) {
  aodv_network network = aodv_network::chain(6);
  const auto first = network.send(1, 6);
  network.run(second_us);
  EXPECT_TRUE(network.delivered(first));
  EXPECT_EQ(network.hops_of(first), (hop_list{{1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}}));
  EXPECT_EQ(network.told<aodv_rreq>().size(), 5U) << "each node but the destination passes the request on once";
  EXPECT_EQ(network.told<aodv_rrep>().size(), 5U);
  const auto second = network.send(1, 6), back = network.send(6, 1);
  network.run(second_us);
  EXPECT_TRUE(network.delivered(second) && network.delivered(back));
  EXPECT_EQ(network.told<aodv_rreq>().size(), 5U);
  EXPECT_EQ(network.node(1).route_to(6)->hops, 5);
  EXPECT_EQ(network.node(6).route_to(1)->hops, 5);
}

TEST(AodvChain, ANeighbourThatKnowsAnswersFromItsRoute) {
  aodv_network network = aodv_network::chain(5);
  network.send(2, 5);
  network.run(second_us);
  const auto requests = network.told<aodv_rreq>().size();
  const auto content = network.send(1, 5);
  network.run(second_us);
  EXPECT_TRUE(network.delivered(content));
  EXPECT_EQ(network.told<aodv_rreq>().size(), requests + 1);
  EXPECT_EQ(network.node(2).counters().replies_from_routes, 1U);
  EXPECT_TRUE(network.node(2).route_to(5)->precursors.contains(1));
}

TEST(AodvChain, ADestinationOnlyRequestIsAnsweredByTheDestinationAlone) {
  aodv_network network = aodv_network::chain(3);
  network.send(2, 3);
  network.run(second_us);
  network.inject(2, 1,
                 aodv_rreq{.destination_only = true, .identification = 77, .destination = 3, .originator = 1, .originator_sequence = 8});
  network.run(second_us);
  EXPECT_EQ(network.node(2).counters().replies_from_routes, 0U);
  EXPECT_EQ(network.node(3).counters().replies_sent, 2U);
}

TEST(AodvChain, ARouteFurtherAwayThanTheNetworkIsWideIsNotFound) {
  aodv_network fits = aodv_network::chain(31), exceeds = aodv_network::chain(32);
  const auto inside = fits.send(1, 31), outside = exceeds.send(1, 32);
  fits.run(3 * second_us);
  exceeds.run(3 * second_us);
  EXPECT_TRUE(fits.delivered(inside));
  EXPECT_FALSE(exceeds.delivered(outside));
}

TEST(AodvChain, WhatWaitedGoesTenMillisecondsApart) {
  aodv_network network = aodv_network::chain(2);
  for (int count = 0; count < 3; ++count) network.send(1, 2);
  network.run(second_us);
  ASSERT_EQ(network.arrivals.size(), 3U);
  EXPECT_EQ(network.arrivals[1].when_us - network.arrivals[0].when_us, 10'000U);
  EXPECT_EQ(network.arrivals[2].when_us - network.arrivals[1].when_us, 10'000U);
}

TEST(AodvChain, ARouteInUseLivesOnAndAnUnusedOneExpiresAfterTenSeconds) {
  aodv_network network = aodv_network::chain(3);
  network.send(1, 3);
  for (int count = 0; count < 4; ++count) {
    network.run(8 * second_us);
    network.send(1, 3);
  }
  EXPECT_EQ(network.told<aodv_rreq>(1).size(), 1U);
  const auto sequence = *network.node(1).route_to(3)->sequence;
  network.run(9 * second_us);
  EXPECT_EQ(network.node(1).route_to(3)->is, condition::up);
  network.run(2 * second_us);
  EXPECT_EQ(network.node(1).route_to(3)->is, condition::down);
  EXPECT_EQ(*network.node(1).route_to(3)->sequence, sequence + 1) << "so that nobody's older route replaces it";
}

TEST(AodvSearch, FourSearchesOfTheWholeNetworkAndThenAPauseOfTenSeconds) {
  aodv_network network(2);
  const auto content = network.send(1, 2);
  network.run(40 * second_us);
  ASSERT_EQ(network.losses.size(), 1U);
  EXPECT_EQ(network.losses[0].content, content);
  std::vector<time_us> after_us;
  for (const auto& asked : network.told<aodv_rreq>(1)) {
    EXPECT_EQ(asked.ttl, 30);
    after_us.push_back(asked.when_us - second_us);
  }
  // 2 * 30 hops * 30 ms, once, twice and three times as long, and then looked after each half second.
  EXPECT_EQ(after_us, (std::vector<time_us>{0, 2'000'000, 6'000'000, 11'500'000}));
  EXPECT_EQ(network.losses[0].when_us - second_us, 19'000'000U);
  // The pause: nobody is asked.
  const auto early = network.send(1, 2);
  network.run(second_us);
  EXPECT_EQ(network.told<aodv_rreq>(1).size(), 5U) << "the pause was over";
  EXPECT_FALSE(network.delivered(early));
}

TEST(AodvSearch, ALostRouteIsLookedForAsFarAsItWasAndTwoHopsFirst) {
  aodv_network network = aodv_network::chain(5);
  network.send(1, 5);
  network.run(second_us);
  network.cut(1, 2);
  network.send(1, 5);
  network.run(second_us / 10);
  network.send(1, 5);
  network.run(4 * second_us);
  std::vector<int> ttls;
  for (const auto& asked : network.told<aodv_rreq>(1)) ttls.push_back(asked.ttl);
  ASSERT_GE(ttls.size(), 4U);
  EXPECT_EQ((std::vector<int>(ttls.begin(), ttls.begin() + 4)), (std::vector<int>{30, 6, 8, 30}));
}

TEST(AodvSearch, ASearchLastsAsLongAsAnswersTook) {
  aodv_network network = aodv_network::chain(3);
  network.send(1, 3);
  network.run(second_us);
  const auto latency = network.node(1).route_to(3)->hop_latency(0);
  EXPECT_GE(latency, 2 * frame_us);
  EXPECT_LE(latency, 2 * frame_us + 5'000);
  EXPECT_FALSE(network.node(1).route_to(3)->search_ends_us) << "the answer ended it";
}

TEST(AodvSearch, TheBufferHolds64PacketsAndTheOldestMakesRoom) {
  aodv_network network(2);
  for (int count = 0; count < 66; ++count) network.send(1, 2);
  ASSERT_EQ(network.losses.size(), 2U);
  EXPECT_EQ(network.losses[0].content, 1U);
  EXPECT_EQ(network.losses[1].reason, aodv_drop::buffer_full);
  EXPECT_EQ(network.node(1).waiting(), 64U);
}

TEST(AodvSequence, AnOlderOrEquallyOldAndNoShorterRouteChangesNothing) {
  aodv_network network = aodv_network::chain(4);
  network.send(2, 4);
  network.run(second_us);
  const aodv_route before = *network.node(2).route_to(4);
  ASSERT_EQ(before.hops, 2);
  network.inject(
      2, 1, aodv_rrep{.hops = 0, .destination = 4, .destination_sequence = *before.sequence - 2, .originator = 2, .lifetime_ms = 9000});
  EXPECT_EQ(network.node(2).route_to(4)->next_hop, before.next_hop) << "a stale one, though shorter";
  network.inject(2, 1,
                 aodv_rrep{.hops = 1, .destination = 4, .destination_sequence = *before.sequence, .originator = 2, .lifetime_ms = 9000});
  EXPECT_EQ(network.node(2).route_to(4)->next_hop, before.next_hop) << "one as long";
  network.inject(2, 1,
                 aodv_rrep{.hops = 0, .destination = 4, .destination_sequence = *before.sequence, .originator = 2, .lifetime_ms = 9000});
  EXPECT_EQ(network.node(2).route_to(4)->next_hop, 1U) << "a shorter one";
  network.inject(
      2, 3, aodv_rrep{.hops = 5, .destination = 4, .destination_sequence = *before.sequence + 2, .originator = 2, .lifetime_ms = 9000});
  EXPECT_EQ(network.node(2).route_to(4)->next_hop, 3U) << "a newer one, though longer";
}

TEST(AodvSequence, NumbersGoRound) {
  EXPECT_TRUE(is_newer(2, 0xffff'fffe));
  EXPECT_FALSE(is_newer(0xffff'fffe, 2));
  EXPECT_FALSE(is_newer(7, 7));
}

TEST(AodvSequence, ANodeWithAnOlderRouteDoesNotAnswer) {
  aodv_network network = aodv_network::chain(4);
  network.send(1, 4);
  network.run(second_us);
  const auto sequence = *network.node(2).route_to(4)->sequence;
  const auto ask = [&](std::uint32_t identification, std::uint32_t known) {
    network.inject(2, 1,
                   aodv_rreq{.identification = identification,
                             .destination = 4,
                             .destination_sequence = known,
                             .originator = 1,
                             .originator_sequence = 1000 + identification});
  };
  ask(100, sequence + 1);
  EXPECT_EQ(network.node(2).counters().replies_from_routes, 0U);
  ask(101, sequence);
  EXPECT_EQ(network.node(2).counters().replies_from_routes, 1U);
}

TEST(AodvSequence, ADestinationAnswersWithANewerNumberThanTheOneThatIsAskedFor) {
  aodv_network network = aodv_network::chain(2);
  network.inject(2, 1,
                 aodv_rreq{.identification = 9, .destination = 2, .destination_sequence = 41, .originator = 1, .originator_sequence = 4});
  const auto replies = network.told<aodv_rrep>(2);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(std::get<aodv_rrep>(replies[0].message).destination_sequence, 42U);
}

TEST(AodvBreak, AFailureOnTheNearerHalfCostsTheRouteAndTheSourceIsTold) {
  aodv_network network = aodv_network::chain(7);
  network.send(1, 7);
  network.run(second_us);
  network.fail_once(3, 4);
  const auto lost = network.send(1, 7);
  network.run(second_us / 2);
  EXPECT_FALSE(network.delivered(lost));
  ASSERT_EQ(network.losses.size(), 1U);
  EXPECT_EQ(network.losses[0].reason, aodv_drop::link_failure);
  EXPECT_EQ(network.purges, (hop_list{{3, 4}, {2, 3}, {1, 2}}))
      << "what waits for whom the route went over is lost, here and up to the source";
  EXPECT_EQ(network.node(1).route_to(7)->is, condition::down);
  const auto next = network.send(1, 7);
  network.run(second_us);
  EXPECT_TRUE(network.delivered(next));
  EXPECT_EQ(network.told<aodv_rreq>(1).size(), 2U);
}

TEST(AodvBreak, ALostErrorIsToldAgainWhenAPacketComesForWhichThereIsNoRoute) {
  aodv_network network = aodv_network::chain(7);
  network.send(1, 7);
  network.run(second_us);
  bool lose = true;
  network.is_lost = [&](const aodv_network::transmission& sent) { return lose && std::holds_alternative<aodv_rerr>(sent.message); };
  network.fail_once(2, 3);
  network.send(1, 7);
  network.run(second_us / 2);
  EXPECT_EQ(network.node(1).route_to(7)->is, condition::up) << "it has not heard";
  lose = false;
  const auto into_the_hole = network.send(1, 7);
  network.run(second_us / 2);
  EXPECT_FALSE(network.delivered(into_the_hole));
  EXPECT_EQ(network.losses.back().reason, aodv_drop::no_route);
  EXPECT_EQ(network.node(1).route_to(7)->is, condition::down) << "now it has";
  const auto next = network.send(1, 7);
  network.run(second_us);
  EXPECT_TRUE(network.delivered(next));
}

TEST(AodvBreak, AnErrorOfANeighbourThatTheRouteDoesNotGoOverOrOfAnOlderRouteChangesNothing) {
  aodv_network network = aodv_network::chain(4);
  network.send(2, 4);
  network.run(second_us);
  const auto sequence = *network.node(2).route_to(4)->sequence;
  network.inject(2, 1, aodv_rerr{.lost = {{4, sequence + 1}}});
  EXPECT_EQ(network.node(2).route_to(4)->is, condition::up);
  network.inject(2, 3, aodv_rerr{.lost = {{4, sequence - 1}}});
  EXPECT_EQ(network.node(2).route_to(4)->is, condition::up);
  network.inject(2, 3, aodv_rerr{.no_delete = true, .lost = {{4, sequence + 1}}});
  EXPECT_EQ(network.node(2).route_to(4)->is, condition::up) << "it has been repaired";
  network.inject(2, 3, aodv_rerr{.lost = {{4, sequence + 1}}});
  EXPECT_EQ(network.node(2).route_to(4)->is, condition::down);
}

TEST(AodvBreak, ErrorsGoOnlyWhereTheRouteIsUsed) {
  aodv_network network = aodv_network::chain(5);
  network.send(1, 5);
  network.run(second_us);
  // The way back has no precursors: an error about it goes one hop.
  network.fail_once(3, 2);
  network.send(5, 1);
  network.run(second_us / 4);
  EXPECT_FALSE(network.told<aodv_rerr>(3).empty());
  EXPECT_EQ(network.node(4).route_to(1)->is, condition::down);
  EXPECT_EQ(network.node(5).route_to(1)->is, condition::up);
}

TEST(AodvLoops, APacketThatComesBackToItsSourceIsDropped) {
  aodv_network network = aodv_network::chain(3);
  network.send(1, 3);
  network.run(second_us);
  network.node(1).receive(network.now(), {.source = 1, .destination = 3, .ttl = 5, .content = 77});
  const auto action = network.node(1).take();
  ASSERT_TRUE(action);
  EXPECT_EQ(action->what, aodv_action::kind::drop);
  EXPECT_EQ(action->reason, aodv_drop::loop);
}

TEST(AodvLoops, ATimeToLiveThatIsSpentEndsAPacket) {
  aodv_network network = aodv_network::chain(3);
  network.send(2, 3);
  network.run(second_us);
  network.node(2).receive(network.now(), {.source = 1, .destination = 3, .ttl = 1, .content = 77});
  const auto action = network.node(2).take();
  ASSERT_TRUE(action);
  EXPECT_EQ(action->reason, aodv_drop::ttl_spent);
}

TEST(AodvDiamond, TheOtherWayIsTakenWhenOneIsCut) {
  aodv_network network(4);
  for (const auto& [one, other] : hop_list{{1, 2}, {2, 4}, {1, 3}, {3, 4}}) network.link(one, other);
  network.send(1, 4);
  network.run(second_us);
  const ipv4_address via = network.node(1).route_to(4)->next_hop;
  network.cut(1, via);
  network.send(1, 4);
  network.run(second_us);
  const auto content = network.send(1, 4);
  network.run(2 * second_us);
  EXPECT_TRUE(network.delivered(content));
  EXPECT_EQ(network.node(1).route_to(4)->next_hop, 5 - via);
}

/// Links come and go, and everybody sends to everybody.
class AodvProperties : public testing::TestWithParam<bool> {};

TEST_P(AodvProperties, EveryPacketEndsOnceAndNoneGoesTwiceOverALink) {
  PERHOP_TELL_SEED();
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 20; ++round) {
    aodv_config config;
    if (GetParam()) config.repair = aodv_repair_by_rfc;
    aodv_network network(8, config, random());
    for (ipv4_address one = 1; one <= 8; ++one) {
      for (ipv4_address other = 1; other < one; ++other) {
        if (random() % 3 == 0) network.link(one, other);
      }
    }
    std::vector<std::uint64_t> sent;
    for (int step = 0; step < 60; ++step) {
      const auto one = static_cast<ipv4_address>(1 + random() % 8), other = static_cast<ipv4_address>(1 + random() % 8);
      if (one != other && random() % 4 == 0) {
        if (network.linked(one, other)) {
          network.cut(one, other);
        } else {
          network.link(one, other);
        }
      }
      if (one != other) sent.push_back(network.send(one, other));
      network.run(random() % 300'000);
    }
    network.run(120 * second_us);
    for (const std::uint64_t content : sent) {
      const auto ends = std::ranges::count(network.arrivals, content, &aodv_network::arrival::content) +
                        std::ranges::count(network.losses, content, &aodv_network::loss::content);
      EXPECT_EQ(ends, 1) << "packet " << content;
      EXPECT_LT(network.hops_of(content).size(), 30U) << "packet " << content << " went round";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Repairs, AodvProperties, testing::Bool(),
                         [](const auto& repair) { return repair.param ? "ByTheRfc" : "AsInNs2"; });

}  // namespace
}  // namespace perhop::routing::test
