// SPDX-License-Identifier: GPL-2.0-or-later
//
// DSR over topologies made by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/host/routing/dsr_network.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::routing::test {
namespace {

using hop_list = std::vector<std::pair<ipv4_address, ipv4_address>>;

TEST(DsrChain, AskedOnceAllPacketsGoAlongTheChain) {
  dsr_network network = dsr_network::chain(6);
  const auto first = network.send(1, 6);
  network.run(second_us);
  EXPECT_TRUE(network.delivered(first));
  EXPECT_EQ(network.arrivals.at(0).hops, 5U);
  EXPECT_EQ(network.hops_of(first), (hop_list{{1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}}));
  const auto requests = network.requests();
  const auto second = network.send(1, 6);
  network.run(second_us);
  EXPECT_EQ(network.requests(), requests);
  EXPECT_TRUE(network.delivered(second));
  // The target learnt the way back from the request.
  const auto back = network.send(6, 1);
  network.run(second_us);
  EXPECT_TRUE(network.delivered(back));
  EXPECT_EQ(network.requests(), requests);
}

TEST(DsrChain, NeighboursAreAskedFirstAndAllAfterThirtyMilliseconds) {
  dsr_network network = dsr_network::chain(3);
  network.send(1, 3);
  network.run(second_us / 2);
  std::vector<std::uint8_t> ttls;
  for (const auto& sent : network.sent_frames) {
    if (sent.from == 1 && sent.to == everybody) ttls.push_back(sent.packet.ttl);
  }
  EXPECT_EQ(ttls, (std::vector<std::uint8_t>{1, 16}));
}

TEST(DsrChain, ANeighbourThatKnowsAnswersFromItsCache) {
  dsr_network network = dsr_network::chain(5);
  network.send(2, 5);
  network.run(second_us);
  const auto requests = network.requests();
  const auto content = network.send(1, 5);
  network.run(second_us);
  EXPECT_TRUE(network.delivered(content));
  EXPECT_EQ(network.requests(), requests + 1) << "the neighbours alone were asked";
  EXPECT_EQ(network.node(2).counters().replies_from_cache, 1U);
}

TEST(DsrChain, ARouteOfMoreThanSixteenNodesIsNotFound) {
  dsr_network fits = dsr_network::chain(16), exceeds = dsr_network::chain(17);
  const auto inside = fits.send(1, 16), outside = exceeds.send(1, 17);
  fits.run(5 * second_us);
  exceeds.run(5 * second_us);
  EXPECT_TRUE(fits.delivered(inside));
  EXPECT_FALSE(exceeds.delivered(outside));
}

TEST(DsrPartition, SearchesBecomeRarerAndThePacketIsGivenUpAfterThirtySeconds) {
  dsr_network network(2);
  const auto content = network.send(1, 2);
  network.run(40 * second_us);
  ASSERT_EQ(network.losses.size(), 1U);
  EXPECT_EQ(network.losses[0].content, content);
  EXPECT_EQ(network.losses[0].reason, dsr_drop::no_route);
  // At 0, 2, 2 + 8 and 2 + 8 + 10 s, a request to the neighbours and one to all each.
  EXPECT_EQ(network.requests(), 8U);
}

TEST(DsrPartition, APacketThatWaitedGoesWhenThePartsMeet) {
  dsr_network network(3);
  network.link(1, 2);
  const auto content = network.send(1, 3);
  network.run(5 * second_us);
  EXPECT_FALSE(network.delivered(content));
  network.link(2, 3);
  network.run(10 * second_us);
  EXPECT_TRUE(network.delivered(content));
}

TEST(DsrPartition, TheSendBufferHolds64PacketsAndTheOldestMakesRoom) {
  dsr_network network(2);
  for (int count = 0; count < 66; ++count) network.send(1, 2);
  ASSERT_EQ(network.losses.size(), 2U);
  EXPECT_EQ(network.losses[0].content, 1U);
  EXPECT_EQ(network.losses[1].content, 2U);
  EXPECT_EQ(network.losses[1].reason, dsr_drop::buffer_full);
  EXPECT_EQ(network.node(1).waiting(), 64U);
}

/// 1 reaches 4 by 2 or by 3.
dsr_network diamond() {
  dsr_network network(4);
  for (const auto& [one, other] : hop_list{{1, 2}, {2, 4}, {1, 3}, {3, 4}}) network.link(one, other);
  return network;
}

TEST(DsrDiamond, TheTargetAnswersBothWaysSoThatTheSourceHasAnotherAtOnce) {
  dsr_network network = diamond();
  network.send(1, 4);
  network.run(second_us);
  const ipv4_address via = network.node(1).route_to(network.now(), 4).value()[1];
  const auto requests = network.requests();
  network.cut(1, via);
  const auto content = network.send(1, 4);
  network.run(second_us);
  EXPECT_TRUE(network.delivered(content));
  EXPECT_EQ(network.requests(), requests) << "the second answer was in the cache";
  EXPECT_EQ(network.hops_of(content).back(), (std::pair<ipv4_address, ipv4_address>{5 - via, 4}));
}

TEST(DsrBreak, ALinkThatBreaksInTheMiddleOfAFlowIsToldToTheSourceAndGoneAround) {
  dsr_network network(6);
  // 1 2 3 6, and around 3: 2 4 5 6.
  for (const auto& [one, other] : hop_list{{1, 2}, {2, 3}, {3, 6}, {2, 4}, {4, 5}, {5, 6}}) network.link(one, other);
  std::vector<std::uint64_t> contents;
  for (int count = 0; count < 40; ++count) {
    if (count == 20) network.cut(3, 6);
    contents.push_back(network.send(1, 6));
    network.run(second_us / 20);
  }
  network.run(5 * second_us);
  for (std::size_t index = 0; index < contents.size(); ++index) {
    EXPECT_TRUE(network.delivered(contents[index])) << index;
  }
  EXPECT_GE(network.node(3).counters().errors_sent, 1U);
  const hop_list around{{1, 2}, {2, 4}, {4, 5}, {5, 6}};
  EXPECT_EQ(network.hops_of(contents.back()), around);
  const auto route = network.node(1).route_to(network.now(), 6);
  ASSERT_TRUE(route);
  EXPECT_EQ(std::ranges::count(*route, 3U), 0);
}

TEST(DsrStale, ARouteOverALinkThatIsGoneIsForgottenByAllThatTheErrorPasses) {
  dsr_network network = dsr_network::chain(5);
  network.send(1, 5);
  network.run(second_us);
  network.cut(4, 5);
  network.send(1, 5);
  network.run(second_us / 10);
  for (ipv4_address node = 1; node <= 4; ++node) EXPECT_FALSE(network.node(node).route_to(network.now(), 5)) << node;
  // What lies before the link is still known.
  EXPECT_TRUE(network.node(1).route_to(network.now(), 4));
}

TEST(DsrStale, AStaleAnswerFromACacheIsWithdrawnByTheErrorThatFollows) {
  dsr_network network = dsr_network::chain(4);
  network.send(2, 4);
  network.run(second_us);
  network.cut(3, 4);
  const auto content = network.send(1, 4);  // 2 still knows 2 3 4
  network.run(2 * second_us);
  EXPECT_FALSE(network.delivered(content));
  EXPECT_FALSE(network.node(1).route_to(network.now(), 4));
  EXPECT_FALSE(network.node(2).route_to(network.now(), 4));
  network.link(3, 4);
  const auto again = network.send(1, 4);
  network.run(12 * second_us);
  EXPECT_TRUE(network.delivered(again));
}

TEST(DsrStale, ARouteThatNothingConfirmsIsForgottenAfterFiveMinutes) {
  dsr_network network = dsr_network::chain(3);
  network.send(1, 3);
  network.run(299 * second_us);
  EXPECT_TRUE(network.node(1).route_to(network.now(), 3));
  network.run(3 * second_us);
  EXPECT_FALSE(network.node(1).route_to(network.now(), 3));
}

TEST(DsrSalvage, ANodeThatKnowsAnotherWaySavesThePacketAndTheSourceIsTold) {
  dsr_network network(5);
  // 1 2 3 5, and 2 4 5 beside it.
  for (const auto& [one, other] : hop_list{{1, 2}, {2, 3}, {3, 5}, {2, 4}, {4, 5}}) network.link(one, other);
  network.cut(2, 4);
  network.send(1, 5);
  network.run(second_us);
  network.link(2, 4);
  network.cut(2, 3);
  network.cut(1, 2);
  const auto warm = network.send(2, 5);  // 2 finds its other way
  network.run(5 * second_us);
  ASSERT_TRUE(network.delivered(warm));
  network.link(1, 2);
  const auto content = network.send(1, 5);  // along 1 2 3 5, of which 2 3 is gone
  network.run(second_us);
  EXPECT_TRUE(network.delivered(content));
  EXPECT_EQ(network.hops_of(content), (hop_list{{1, 2}, {2, 3}, {2, 4}, {4, 5}}));
  EXPECT_EQ(network.node(2).counters().salvaged, 1U);
  EXPECT_EQ(network.arrivals.back().hops, std::nullopt) << "the list of a saved packet does not begin at its source";
  const auto& saved = network.sent_frames.back().packet.header.source_route;
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->salvage, 1);
  EXPECT_EQ(saved->route, (node_path{2, 4}));
  const auto route = network.node(1).route_to(network.now(), 5);
  EXPECT_FALSE(route && std::ranges::count(*route, 3U) != 0);
}

TEST(DsrSalvage, WithoutAnotherWayANodeAsksItsNeighboursOnceForSomebodyElsesPacket) {
  dsr_network network = dsr_network::chain(4);
  const auto before = network.send(1, 4);
  network.run(second_us);
  ASSERT_TRUE(network.delivered(before));
  network.cut(3, 4);
  network.send(1, 4);
  network.run(20 * second_us);
  std::size_t asked = 0;
  for (const auto& sent : network.sent_frames) {
    if (sent.from == 3 && sent.to == everybody && sent.packet.source == 3) {
      ++asked;
      EXPECT_EQ(sent.packet.ttl, 1);
    }
  }
  EXPECT_EQ(asked, 1U);
  EXPECT_EQ(network.node(3).waiting(), 0U);
}

TEST(DsrSalvage, APacketThatWasSavedFifteenTimesIsNotSavedAgain) {
  dsr_network network = diamond();
  network.send(1, 4);
  network.run(second_us);
  dsr_packet tired{.source = 9, .destination = 4, .content = 99};
  tired.header.source_route = {.salvage = wire::most_dsr_salvages, .segments_left = 0, .route = {1}};
  const ipv4_address gone = 2;
  network.node(1).on_link_failure(network.now(), gone, dsr_packet(tired));
  bool dropped = false;
  while (const auto action = network.node(1).take()) {
    dropped |= action->what == dsr_action::kind::drop && action->reason == dsr_drop::salvage_spent;
    EXPECT_FALSE(action->what == dsr_action::kind::send && action->packet.content);
  }
  EXPECT_TRUE(dropped);
}

TEST(DsrSalvage, AReplyThatTellsOfTheFailedLinkIsNotSaved) {
  dsr_router router(2, 1);
  dsr_packet reply{.source = 4, .destination = 1};
  reply.header.replies = {{.route = {2, 3, 4}}};
  reply.header.source_route = {.segments_left = 0, .route = {3, 2}};
  router.on_unsent(second_us, 3, std::move(reply));
  EXPECT_EQ(router.waiting(), 0U);
  EXPECT_FALSE(router.take());
}

TEST(DsrLoops, ARouteTwiceOverANodeIsNeitherFollowedNorLearnt) {
  dsr_network network = dsr_network::chain(4);
  dsr_packet looping{.source = 1, .destination = 4, .content = 7};
  looping.header.source_route = {.segments_left = 3, .route = {2, 3, 2}};
  network.inject(2, looping);
  ASSERT_EQ(network.losses.size(), 1U);
  EXPECT_EQ(network.losses[0].reason, dsr_drop::malformed);
  EXPECT_TRUE(network.sent_frames.empty());
  dsr_packet reply{.source = 4, .destination = 1};
  reply.header.replies = {{.route = {2, 3, 2, 4}}};
  network.inject(1, reply);
  EXPECT_FALSE(network.node(1).route_to(network.now(), 4));
}

TEST(DsrLoops, AnAnswerFromACacheThatWouldLeadBackIsNotGiven) {
  dsr_network network(4);
  // 2 knows 2 1 4 only. The request of 3 comes to it through 1, so that an answer would lead over 1 twice.
  for (const auto& [one, other] : hop_list{{3, 1}, {1, 2}, {1, 4}}) network.link(one, other);
  network.send(2, 4);
  network.run(second_us);
  network.cut(1, 4);
  network.node(1).on_link_failure(network.now(), 4, dsr_packet{.source = 1, .destination = 4, .header = {.request = {{}}}});
  network.send(3, 4);
  network.run(second_us);
  EXPECT_EQ(network.node(2).counters().replies_from_cache, 0U);
  EXPECT_FALSE(network.node(3).route_to(network.now(), 4));
}

TEST(DsrShortening, ThatAPacketIsHeardEarlyIsToldToItsSourceOnceASecond) {
  dsr_network network = dsr_network::chain(4);
  network.send(1, 4);
  network.run(second_us);
  network.link(1, 3);
  network.let_all_overhear();
  network.send(1, 4);
  network.run(second_us / 2);
  network.send(1, 4);
  network.run(second_us / 4);
  EXPECT_EQ(network.node(3).counters().gratuitous_replies, 1U);
  const auto content = network.send(1, 4);
  network.run(second_us);
  EXPECT_EQ(network.hops_of(content), (hop_list{{1, 3}, {3, 4}}));
}

TEST(DsrOverhearing, ANeighbourOfThePathLearnsItAndNeedsNoRequest) {
  dsr_network network = dsr_network::chain(4);
  dsr_network beside(5);
  for (const auto& [one, other] : hop_list{{1, 2}, {2, 3}, {3, 4}, {5, 2}}) beside.link(one, other);
  beside.let_all_overhear();
  beside.send(1, 4);
  beside.run(second_us);
  EXPECT_EQ(beside.node(5).route_to(beside.now(), 4), (node_path{5, 2, 3, 4}));
}

TEST(DsrErrors, TheLastErrorToldToANodeGoesWithItsNextRequest) {
  dsr_network network = dsr_network::chain(4);
  network.send(1, 4);
  network.run(second_us);
  network.cut(3, 4);
  network.send(1, 4);
  network.run(second_us / 20);
  network.send(1, 4);
  network.run(second_us / 5);
  const bool carried = std::ranges::any_of(network.sent_frames, [](const dsr_network::transmission& sent) {
    return sent.from == 1 && sent.to == everybody && sent.packet.header.errors.size() == 1 && sent.packet.header.errors[0].source == 3 &&
           sent.packet.header.errors[0].unreachable == 4;
  });
  EXPECT_TRUE(carried);
}

TEST(DsrErrors, AnErrorThatCannotBeDeliveredTravelsInTheOneAboutIt) {
  dsr_router router(3, 1);
  // 4 told 1 of 4-5; 3 cannot reach 2. 4 is told of 3-2, and of what it wanted to say.
  dsr_packet error{.source = 4, .destination = 1};
  error.header.errors = {{.source = 4, .destination = 1, .unreachable = 5}};
  error.header.source_route = {.segments_left = 1, .route = {3, 2}};
  router.on_link_failure(second_us, 2, std::move(error));
  std::vector<dsr_action> actions;
  while (auto action = router.take()) actions.push_back(std::move(*action));
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(actions[0].next_hop, 4U);
  ASSERT_EQ(actions[0].packet.header.errors.size(), 2U);
  EXPECT_EQ(actions[0].packet.header.errors[1], (wire::dsr_route_error{.source = 3, .destination = 4, .unreachable = 2}));
}

/// Whatever links come and go: nothing arrives twice or at a wrong node, no list is followed over a node twice, all packets end, and
/// where the network holds still and is whole, they arrive.
TEST(DsrProperties, RandomNetworks) {
  PERHOP_TELL_SEED();
  std::mt19937_64 random(test_seed());
  for (int trial = 0; trial < 20; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const unsigned nodes = 4 + static_cast<unsigned>(random() % 7);
    dsr_network network(nodes, {}, random());
    if (trial % 2 == 0) network.let_all_overhear();
    const auto any = [&] { return static_cast<ipv4_address>(random() % nodes + 1); };
    const auto flip = [&] {
      const ipv4_address one = any(), other = any();
      if (one == other) return;
      network.linked(one, other) ? network.cut(one, other) : network.link(one, other);
    };
    for (unsigned count = 0; count < 2 * nodes; ++count) flip();
    std::map<std::uint64_t, ipv4_address> sent;
    for (int step = 0; step < 150; ++step) {
      const ipv4_address from = any(), to = any();
      if (from != to) sent[network.send(from, to)] = to;
      if (step % 3 == 0) flip();
      network.run(random() % 100'000);
    }
    // Now whole, and still.
    for (ipv4_address node = 1; node < nodes; ++node) network.link(node, node + 1);
    network.run(60 * second_us);
    for (ipv4_address node = 1; node <= nodes; ++node) EXPECT_EQ(network.node(node).waiting(), 0U) << node;
    for (const auto& arrival : network.arrivals) {
      EXPECT_EQ(arrival.at, sent.at(arrival.content));
      EXPECT_TRUE(network.delivered(arrival.content)) << "twice";
    }
    for (const auto& [content, to] : sent) {
      const auto lost = std::ranges::count(network.losses, content, &dsr_network::loss::content);
      EXPECT_EQ(lost + (network.delivered(content) ? 1 : 0), 1) << content << ": lost " << lost << " times";
    }
    for (const auto& frame : network.sent_frames) {
      EXPECT_TRUE(!frame.packet.header.source_route || is_simple(route_of(frame.packet)));
      EXPECT_LE(wire::size_bytes(frame.packet.header), 200U);
    }
    const auto last = network.send(1, nodes);
    network.run(5 * second_us);
    EXPECT_TRUE(network.delivered(last));
  }
}

}  // namespace
}  // namespace perhop::routing::test
