// SPDX-License-Identifier: GPL-2.0-or-later
//
// What routing does to a run: the project's AODV and DSR on demand, link failures told by the MAC.

#include "run_file.h"

#include "sim/ns3/node-address.h"
#include "sim/ns3/scenario.h"
#include "sim/run/run_config.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace routing_test
{

TEST(NodeAddress, IsOneOfItsNodeAloneUpToTheLargestNetwork)
{
    std::set<uint32_t> addresses;
    for (uint32_t node = 0; node < 65'536 + 64; ++node)
    {
        const uint32_t address = ns3::NodeIpv4Address(node).Get();
        ASSERT_EQ(ns3::NodeOfIpv4Address(address), node);
        ASSERT_TRUE(addresses.insert(address).second);
    }
    EXPECT_EQ(ns3::NodeIpv4Address(0), ns3::Ipv4Address("10.0.0.1"));
    EXPECT_EQ(ns3::NodeIpv4Address(63'999), ns3::Ipv4Address("10.0.255.250"));
    EXPECT_EQ(ns3::NodeIpv4Address(64'000), ns3::Ipv4Address("10.1.0.1"));
    for (const char* nobody : {"10.0.0.0", "10.0.0.251", "10.255.255.255", "11.0.0.1", "255.255.255.255"})
    {
        EXPECT_EQ(ns3::NodeOfIpv4Address(ns3::Ipv4Address(nobody).Get()), ns3::MAX_NODES) << nobody;
    }
}

class RoutingTest : public testing::Test
{
  protected:
    nlohmann::json Run(const nlohmann::json& run)
    {
        return ns3::RunScenario(perhop::run::parse_run_config(run.dump(), "test"),
                                [](double)
                                {
                                    return true;
                                })
            .json;
    }

    /// Far enough apart that a receiver does not hear who disturbs it: packets are lost.
    nlohmann::json LongChain(const char* routing, const char* linkFailure, unsigned hops = 6)
    {
        nlohmann::json run = run_file::Chain(hops, m_folder.Path());
        for (unsigned node = 0; node <= hops; ++node)
        {
            run["nodes"][node]["x_m"] = 250.0 * node;
        }
        run["routing"] = routing;
        run["link_failure"] = linkFailure;
        return run;
    }

    static uint64_t Sum(const nlohmann::json& counts)
    {
        return std::accumulate(counts.begin(),
                               counts.end(),
                               uint64_t{0},
                               [](uint64_t sum, const auto& next)
                               {
                                   return sum + next.template get<uint64_t>();
                               });
    }

    static uint64_t MacDrops(const nlohmann::json& result)
    {
        uint64_t drops = 0;
        for (const auto& hop : result.at("hops"))
        {
            drops += hop.at("drops").get<uint64_t>();
        }
        return drops;
    }

    run_file::TemporaryFolder m_folder;
};

TEST_F(RoutingTest, AodvFindsTheChainAndCarriesTcpOverItAsStaticRoutesDo)
{
    nlohmann::json run = run_file::Chain(3, m_folder.Path());
    run["flows"][0]["policy"] = {{"cwl", "fixed"}, {"cwl_packets", 1}};
    const double fixed_bps = Run(run).at("flows").at(0).at("goodput_bps");
    run["routing"] = "aodv";
    run["routes"] = nlohmann::json::array({{0, 3, 1}, {1, 3, 2}, {2, 3, 3}, {3, 0, 2}, {2, 0, 1}, {1, 0, 0}});
    const nlohmann::json onDemand = Run(run);
    // With a window of 1 nothing collides, so that the route never breaks.
    EXPECT_NEAR(onDemand.at("flows").at(0).at("goodput_bps").get<double>(), fixed_bps, 0.02 * fixed_bps);
    bool broadcast = false;
    for (const auto& hop : onDemand.at("hops"))
    {
        broadcast |= hop.at("to") == -1;
    }
    EXPECT_FALSE(broadcast) << "a route that is used needs no further request after the warm-up";
}

TEST_F(RoutingTest, AodvTakesALostPacketForABrokenLinkAndAsksAgain)
{
    const nlohmann::json result = Run(LongChain("aodv", "ignore"));
    EXPECT_GT(MacDrops(result), 10U);
    uint64_t requests = 0;
    for (const auto& hop : result.at("hops"))
    {
        requests += hop.at("to") == -1 ? hop.at("packets").get<uint64_t>() : 0;
    }
    EXPECT_GT(requests, MacDrops(result));
    // Those without a route; with purge, those that wait for the failed neighbour as well.
    EXPECT_LT(Sum(result.at("link_failure_drops")), Sum(Run(LongChain("aodv", "purge")).at("link_failure_drops")));
    EXPECT_GT(result.at("flows").at(0).at("packets_per_s").get<double>(), 5);
}

TEST_F(RoutingTest, AodvCountsEachFailedLinkOfAChainThatStandsStillAsFalse)
{
    const nlohmann::json result = Run(LongChain("aodv", "purge"));
    EXPECT_EQ(result.at("link_failures"), result.at("false_link_failures"));
    EXPECT_GE(result.at("false_link_failures").get<unsigned>(), 5U);
    EXPECT_GT(Sum(result.at("link_failure_drops")), 5U);
    // Data and TCP ACKs of the one flow are all that is purged, and both are.
    const auto flow = result.at("flows").at(0);
    EXPECT_GT(flow.at("link_failure_drops_data_packets"), 0);
    EXPECT_LT(flow.at("link_failure_drops_data_packets"), flow.at("link_failure_drops_packets"));
    EXPECT_EQ(result.at("sum_mismatches"), 0);
}

TEST_F(RoutingTest, AodvRepairsRoutesAsTheRunFileSays)
{
    nlohmann::json run = LongChain("aodv", "purge", 12);
    const nlohmann::json asNs2 = Run(run);
    run["local_repair"] = "ns2";
    EXPECT_EQ(Run(run).at("trace_hash"), asNs2.at("trace_hash"));
    run["local_repair"] = "rfc3561";
    const nlohmann::json byRfc = Run(run);
    run["local_repair"] = "off";
    const nlohmann::json without = Run(run);
    EXPECT_NE(byRfc.at("trace_hash"), asNs2.at("trace_hash"));
    EXPECT_NE(without.at("trace_hash"), asNs2.at("trace_hash"));
    EXPECT_NE(without.at("trace_hash"), byRfc.at("trace_hash"));
}

TEST_F(RoutingTest, AodvCarriesAFlowOfExactWithItsRatesAndReports)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["flows"] = {{{"kind", "exact"}, {"src", 0}, {"dst", 2}, {"start_s", 0.1}, {"application", "greedy"}, {"payload_bytes", 1000}}};
    run["exact"] = {{"mode", "m2"}, {"fairness", "rate"}, {"eta", 0.9}, {"interval_ms", 100}};
    const double fixedBps = Run(run).at("flows").at(0).at("goodput_bps");
    run["routing"] = "aodv";
    EXPECT_NEAR(Run(run).at("flows").at(0).at("goodput_bps").get<double>(), fixedBps, 0.05 * fixedBps);
}

TEST_F(RoutingTest, PurgeDropsWhatWaitsForTheFailedLinkAndIgnoreDoesNot)
{
    const nlohmann::json ignored = Run(LongChain("static", "ignore")), purged = Run(LongChain("static", "purge"));
    EXPECT_GT(MacDrops(ignored), 10U);
    EXPECT_EQ(Sum(ignored.at("link_failure_drops")), 0U);
    EXPECT_GT(MacDrops(purged), 10U);
    EXPECT_GT(Sum(purged.at("link_failure_drops")), 10U);
    EXPECT_EQ(purged.at("sum_mismatches"), 0);
}

TEST_F(RoutingTest, ASeedDecidesARunWithAodv)
{
    const nlohmann::json run = LongChain("aodv", "purge");
    const nlohmann::json once = Run(run), again = Run(run);
    EXPECT_EQ(once.at("trace_hash"), again.at("trace_hash"));
    EXPECT_EQ(once.at("flows"), again.at("flows"));
}

/// A diamond: 0 reaches 3 by 1 or by 2, and the two ways do not meet. TCP from 0 to 3 by 1 first.
nlohmann::json
Diamond(const std::filesystem::path& directory)
{
    nlohmann::json run = run_file::Chain(3, directory);
    run["nodes"] = {{{"x_m", 0}, {"y_m", 0}}, {{"x_m", 200}, {"y_m", 100}}, {{"x_m", 200}, {"y_m", -100}}, {{"x_m", 400}, {"y_m", 0}}};
    run["routes"] = {{0, 3, 1}, {1, 3, 3}, {3, 0, 1}, {1, 0, 0}};
    return run;
}

double
PacketsOver(const nlohmann::json& result, int from, int to)
{
    double packets = 0;
    for (const auto& hop : result.at("hops"))
    {
        packets += hop.at("from") == from && hop.at("to") == to ? hop.at("packets").get<double>() : 0;
    }
    return packets;
}

TEST_F(RoutingTest, PacketsTakeTheNewRouteFromItsTimeOn)
{
    nlohmann::json run = Diamond(m_folder.Path());
    run["events"] = {{{"at_s", 11.0}, {"kind", "route"}, {"path", {0, 2, 3}}, {"both_ways", false}}};
    const nlohmann::json oneWay = Run(run);
    // Half of the measured 18 s each way; TCP ACKs stay on the old one.
    EXPECT_NEAR(PacketsOver(oneWay, 0, 1), PacketsOver(oneWay, 0, 2), 0.1 * PacketsOver(oneWay, 0, 1));
    EXPECT_EQ(PacketsOver(oneWay, 3, 2), 0);
    // What was sent before and what was sent after arrive out of order once.
    EXPECT_LE(oneWay.at("flows").at(0).at("timeouts"), 2);

    run["events"][0]["both_ways"] = true;
    const nlohmann::json bothWays = Run(run);
    EXPECT_NEAR(PacketsOver(bothWays, 3, 1), PacketsOver(bothWays, 3, 2), 0.1 * PacketsOver(bothWays, 3, 1));
}

TEST_F(RoutingTest, WhatWaitsInAQueueGoesWhereItWasQueuedFor)
{
    nlohmann::json run = Diamond(m_folder.Path());
    run["routes"].push_back({2, 3, 3});
    run["duration_s"] = 3.0;
    run["warmup_s"] = 0.0;
    run["outputs"]["completions"] = true;
    run["events"] = {{{"at_s", 2.0}, {"kind", "route"}, {"path", {0, 2, 3}}}};
    Run(run);
    std::ifstream csv(m_folder.Path() / "completions.csv");
    std::string line;
    unsigned oldRoute = 0;
    while (std::getline(csv, line))
    {
        if (const std::size_t comma = line.find(",0,1,"); comma != std::string::npos && line.find(',') == comma)
        {
            oldRoute += std::stoull(line) > 2'100'000;
        }
    }
    // 44 packets were in flight at 2 s, at 17 ms a packet; most of them waited in the first node's queue.
    EXPECT_GT(oldRoute, 10U);
    EXPECT_LT(oldRoute, 44U);
}

TEST_F(RoutingTest, ABlockedLinkLetsNothingThroughUntilItIsBack)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["flows"][0]["min_rto_ms"] = 200;
    run["events"] = {{{"at_s", 10.0}, {"kind", "link_down"}, {"a", 1}, {"b", 2}}};
    const nlohmann::json down = Run(run);
    run["events"].push_back({{"at_s", 12.0}, {"kind", "link_up"}, {"a", 2}, {"b", 1}});
    const nlohmann::json back = Run(run);
    run.erase("events");
    const double undisturbed = Run(run).at("flows").at(0).at("delivered_packets");
    const auto delivered = [](const nlohmann::json& result)
    {
        return result.at("flows").at(0).at("delivered_packets").get<double>();
    };
    EXPECT_NEAR(delivered(down), undisturbed * 8 / 18, 0.05 * undisturbed);
    EXPECT_LT(delivered(back), 0.92 * undisturbed); // 2 s of 18 s
    EXPECT_GT(delivered(back), 0.75 * undisturbed);
}

TEST_F(RoutingTest, ANodeThatMovesOutOfRangeIsGoneForStaticRoutesAndReplacedByAodv)
{
    nlohmann::json run = Diamond(m_folder.Path());
    run["flows"][0]["min_rto_ms"] = 200;
    run["events"] = {{{"at_s", 11.0}, {"kind", "move"}, {"node", 1}, {"x_m", 200}, {"y_m", 5000}}};
    const double fixed = Run(run).at("flows").at(0).at("delivered_packets");
    run["routing"] = "aodv";
    const nlohmann::json onDemand = Run(run);
    EXPECT_GT(onDemand.at("flows").at(0).at("delivered_packets").get<double>(), 1.8 * fixed);
    EXPECT_GT(PacketsOver(onDemand, 0, 2), 100);
}

TEST_F(RoutingTest, DsrCarriesTcpOverAChainAndItsListsCostTheirAirtime)
{
    nlohmann::json run = run_file::Chain(3, m_folder.Path());
    run["flows"][0]["policy"] = {{"cwl", "fixed"}, {"cwl_packets", 1}};
    const double fixedBps = Run(run).at("flows").at(0).at("goodput_bps");
    run["routing"] = "dsr";
    const nlohmann::json onDemand = Run(run);
    // 16 bytes at 2 Mb/s are 64 us in each of the frames, whose exchange takes about 8 ms with data, 2.5 ms with a TCP ACK.
    const double dsrBps = onDemand.at("flows").at(0).at("goodput_bps");
    EXPECT_LT(dsrBps, 0.995 * fixedBps);
    EXPECT_GT(dsrBps, 0.97 * fixedBps);
    EXPECT_EQ(onDemand.at("link_failures"), 0);
    // The window limit saw TCP through it.
    EXPECT_EQ(onDemand.at("flows").at(0).at("cwl_packets"), 1);
}

TEST_F(RoutingTest, DsrFindsAnotherWayForWhatTheMacGaveUp)
{
    const nlohmann::json result = Run(LongChain("dsr", "purge"));
    EXPECT_GE(MacDrops(result), 5U);
    EXPECT_GT(result.at("flows").at(0).at("packets_per_s").get<double>(), 5);
    EXPECT_EQ(result.at("sum_mismatches"), 0);
    // No node moves: each link that failed was there.
    EXPECT_EQ(result.at("link_failures"), result.at("false_link_failures"));
    EXPECT_GE(result.at("false_link_failures").get<unsigned>(), 5U);
}

TEST_F(RoutingTest, DsrGoesAroundANodeThatMovedOutOfRangeAndItsLinksAreTrueFailures)
{
    nlohmann::json run = Diamond(m_folder.Path());
    run["flows"][0]["min_rto_ms"] = 200;
    run["routing"] = "dsr";
    run["events"] = {{{"at_s", 11.0}, {"kind", "move"}, {"node", 1}, {"x_m", 200}, {"y_m", 5000}}};
    nlohmann::json other = run;
    other["events"][0]["node"] = 2;
    // Whichever of the two ways it took, it lost in one of the runs.
    const nlohmann::json one = Run(run), two = Run(other);
    const auto lost = [](const nlohmann::json& result)
    {
        return result.at("link_failures").get<unsigned>() - result.at("false_link_failures").get<unsigned>();
    };
    EXPECT_GT(lost(one) + lost(two), 0U);
    for (const nlohmann::json& result : {one, two})
    {
        EXPECT_GT(result.at("flows").at(0).at("packets_per_s").get<double>(), 50);
    }
    EXPECT_GT(PacketsOver(one, 0, 2), 100);
    EXPECT_GT(PacketsOver(two, 0, 1), 100);
}

TEST_F(RoutingTest, DsrShortensARouteThatOverhearingShowsToBeLongerThanItNeedBe)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["routing"] = "dsr";
    run["events"] = {{{"at_s", 5.0}, {"kind", "move"}, {"node", 2}, {"x_m", 150}, {"y_m", 100}}};
    // Nothing fails: only that the last node hears the first one's frames for the middle one can tell them.
    const nlohmann::json result = Run(run);
    EXPECT_EQ(result.at("link_failures"), 0);
    EXPECT_GT(PacketsOver(result, 0, 1), 100);
    EXPECT_GT(PacketsOver(result, 0, 2), 100);
}

TEST_F(RoutingTest, ASeedDecidesARunWithDsr)
{
    const nlohmann::json run = LongChain("dsr", "purge");
    const nlohmann::json once = Run(run), again = Run(run);
    EXPECT_EQ(once.at("trace_hash"), again.at("trace_hash"));
    EXPECT_EQ(once.at("flows"), again.at("flows"));
}

/// When each node with GPSR has sent a beacon: what leaves earlier may be lost for want of a neighbour.
constexpr double KNOWN_S = 1.2;

TEST_F(RoutingTest, GpsrCarriesTcpOverAChainAndItsHeadersAndBeaconsCostTheirAirtime)
{
    nlohmann::json run = run_file::Chain(3, m_folder.Path());
    run["flows"][0]["policy"] = {{"cwl", "fixed"}, {"cwl_packets", 1}};
    run["flows"][0]["start_s"] = KNOWN_S;
    const double fixedBps = Run(run).at("flows").at(0).at("goodput_bps");
    run["routing"] = "gpsr";
    const nlohmann::json byPlaces = Run(run);
    // 22 bytes at 2 Mb/s are 88 us in each of the frames, whose exchange takes about 8 ms with data, 2.5 ms with a TCP ACK.
    const double gpsrBps = byPlaces.at("flows").at(0).at("goodput_bps");
    EXPECT_LT(gpsrBps, 0.99 * fixedBps);
    EXPECT_GT(gpsrBps, 0.95 * fixedBps);
    EXPECT_EQ(byPlaces.at("flows").at(0).at("cwl_packets"), 1);
    // One a second of each of the 4 nodes for 18 s.
    double beacons = 0;
    for (uint32_t node = 0; node < 4; ++node)
    {
        beacons += PacketsOver(byPlaces, static_cast<int>(node), -1);
    }
    EXPECT_NEAR(beacons, 72, 15);
}

TEST_F(RoutingTest, GpsrForgetsANeighbourThatWasTakenForGoneUntilItIsHeardAgain)
{
    const nlohmann::json result = Run(LongChain("gpsr", "purge"));
    EXPECT_GE(MacDrops(result), 5U);
    EXPECT_GT(result.at("flows").at(0).at("packets_per_s").get<double>(), 5);
    EXPECT_EQ(result.at("sum_mismatches"), 0);
    EXPECT_EQ(result.at("link_failures"), result.at("false_link_failures"));
}

TEST_F(RoutingTest, GpsrGoesAroundANodeThatMovedOutOfRangeAsSoonAsItsLinkFails)
{
    nlohmann::json run = Diamond(m_folder.Path());
    run["flows"][0]["min_rto_ms"] = 200;
    run["flows"][0]["start_s"] = KNOWN_S;
    run["routing"] = "gpsr";
    for (const int gone : {1, 2})
    {
        run["events"] = {{{"at_s", 11.0}, {"kind", "move"}, {"node", gone}, {"x_m", 200}, {"y_m", 5000}}};
        const nlohmann::json result = Run(run);
        EXPECT_GT(result.at("flows").at(0).at("packets_per_s").get<double>(), 45) << gone;
        EXPECT_GT(PacketsOver(result, 0, 3 - gone), 100) << gone;
    }
}

TEST_F(RoutingTest, GpsrFollowsANodeThatMovesAllTheTime)
{
    nlohmann::json run = Diamond(m_folder.Path());
    run["flows"][0]["min_rto_ms"] = 200;
    run["flows"][0]["start_s"] = KNOWN_S;
    run["routing"] = "gpsr";
    // The destination goes past the source, 400 m away on either side, at 60 m/s.
    run["events"] = {{{"at_s", 3.0}, {"kind", "move"}, {"node", 3}, {"x_m", -200}, {"y_m", 100}, {"speed_mps", 60.0}}};
    const nlohmann::json result = Run(run);
    EXPECT_GT(PacketsOver(result, 0, 3), 500) << "straight to it once it is near";
    EXPECT_GT(result.at("flows").at(0).at("packets_per_s").get<double>(), 55) << "two hops carry 52";
}

TEST_F(RoutingTest, ASeedDecidesARunWithGpsr)
{
    nlohmann::json run = LongChain("gpsr", "purge");
    const nlohmann::json once = Run(run), again = Run(run);
    EXPECT_EQ(once.at("trace_hash"), again.at("trace_hash"));
    EXPECT_EQ(once.at("flows"), again.at("flows"));
    run["seed"] = 99;
    EXPECT_NE(Run(run).at("trace_hash"), once.at("trace_hash"));
}

} // namespace routing_test
