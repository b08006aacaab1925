// SPDX-License-Identifier: GPL-2.0-or-later
//
// AODV's local repair over topologies made by hand: as ns-2.35 does it, by its traces, and as RFC 3561 wants it.

#include <gtest/gtest.h>

#include "tests/host/routing/aodv_network.hpp"

namespace perhop::routing::test {
namespace {

using hop_list = std::vector<std::pair<ipv4_address, ipv4_address>>;
using wire::aodv_rerr;
using wire::aodv_rreq;
using condition = aodv_route::condition;

TEST(AodvRepair, OnTheLastHopTheDestinationAnswersAndThePacketIsSaved) {
  aodv_network network = aodv_network::chain(4);
  network.send(1, 4);
  network.run(second_us);
  network.fail_once(3, 4);
  const auto saved = network.send(1, 4);
  network.run(second_us);
  EXPECT_TRUE(network.delivered(saved));
  EXPECT_EQ(network.node(3).counters().repairs_done, 1U);
  EXPECT_EQ(network.told<aodv_rreq>(1).size(), 1U) << "the source heard nothing of it";
  EXPECT_TRUE(network.purges.empty());
}

TEST(AodvRepair, WhileNeighboursAnswerFromOldRoutesNothingIsRepairedAndNothingLoops) {
  aodv_network network = aodv_network::chain(7);
  network.send(1, 7);
  network.run(second_us);
  network.fail_once(5, 6);
  const auto waits = network.send(1, 7);
  network.run(second_us);
  EXPECT_EQ(network.node(5).counters().repairs_begun, 1U);
  EXPECT_EQ(network.node(5).route_to(7)->is, condition::in_repair);
  // 4 and 6 answered. 4's route leads back to 5, and 6's is as old as the one that broke.
  EXPECT_GE(network.node(4).counters().replies_from_routes + network.node(6).counters().replies_from_routes, 2U);
  EXPECT_EQ(network.hops_of(waits), (hop_list{{1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}})) << "it went nowhere else";
  EXPECT_EQ(network.node(5).waiting(), 1U);
  network.run(25 * second_us);
  EXPECT_TRUE(network.delivered(waits)) << "the neighbours' routes have expired, so that the destination was asked";
}

TEST(AodvRepair, ARequestOfTheDestinationMendsARouteUnderRepair) {
  aodv_network network = aodv_network::chain(7);
  network.send(1, 7);
  network.run(second_us);
  network.fail_once(5, 6);
  const auto waits = network.send(1, 7);
  network.run(second_us);
  network.inject(6, 7, aodv_rreq{.identification = 50, .destination = 99, .originator = 7, .originator_sequence = 100});
  network.run(second_us);
  EXPECT_TRUE(network.delivered(waits));
  EXPECT_EQ(network.node(5).counters().repairs_done, 1U);
}

TEST(AodvRepair, ARouteUnderRepairIsToldToOthersAndTheirPacketsWait) {
  aodv_network network = aodv_network::chain(7);
  network.send(1, 7);
  network.run(second_us);
  network.fail_once(5, 6);
  network.send(1, 7);
  network.run(second_us / 10);
  const auto known = *network.node(5).route_to(7)->sequence;
  network.inject(
      5, 4, aodv_rreq{.identification = 60, .destination = 7, .destination_sequence = known, .originator = 1, .originator_sequence = 90});
  EXPECT_EQ(network.node(5).counters().replies_from_routes, 1U);
}

TEST(AodvRepair, ItIsGivenUpAtTwiceTheTimeItBegan) {
  aodv_network network = aodv_network::chain(7);
  network.send(1, 7);
  network.run(second_us);
  network.fail_once(5, 6);
  network.send(1, 7);
  network.run(second_us);
  ASSERT_EQ(network.node(5).route_to(7)->is, condition::in_repair);
  // It began at 2.1 s or so, and its first search ended 1.8 s later.
  network.run(second_us * 27 / 10);
  EXPECT_EQ(network.node(5).route_to(7)->is, condition::in_repair);
  network.run(second_us / 2);
  EXPECT_EQ(network.node(5).route_to(7)->is, condition::down);
  EXPECT_TRUE(network.told<aodv_rerr>().empty()) << "nobody is told";
}

TEST(AodvRepair, ByTheRfcItAsksForANewerRouteAndSavesThePacket) {
  aodv_network network = aodv_network::chain(7, {.repair = aodv_repair_by_rfc});
  network.send(1, 7);
  network.run(second_us);
  network.fail_once(5, 6);
  const auto saved = network.send(1, 7);
  network.run(second_us);
  EXPECT_TRUE(network.delivered(saved));
  EXPECT_EQ(network.node(5).counters().repairs_done, 1U);
  EXPECT_EQ(network.node(4).counters().replies_from_routes, 0U);
}

TEST(AodvRepair, ByTheRfcAFailedOneIsToldToWhomeverUsedTheRoute) {
  aodv_network network = aodv_network::chain(7, {.repair = aodv_repair_by_rfc});
  network.send(1, 7);
  network.run(second_us);
  network.cut(5, 6);
  const auto lost = network.send(1, 7);
  network.run(3 * second_us);
  EXPECT_EQ(network.losses.back().content, lost);
  EXPECT_EQ(network.node(5).route_to(7)->is, condition::down);
  EXPECT_EQ(network.node(1).route_to(7)->is, condition::down);
}

TEST(AodvRepair, WithoutItEveryFailureCostsTheRoute) {
  aodv_network network = aodv_network::chain(4, {.repair = {.enabled = false}});
  network.send(1, 4);
  network.run(second_us);
  network.fail_once(3, 4);
  const auto lost = network.send(1, 4);
  network.run(second_us);
  EXPECT_FALSE(network.delivered(lost));
  EXPECT_EQ(network.node(3).counters().repairs_begun, 0U);
}

}  // namespace
}  // namespace perhop::routing::test
