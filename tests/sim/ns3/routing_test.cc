// SPDX-License-Identifier: GPL-2.0-or-later
//
// What routing does to a run: AODV of ns-3 on demand, link failures told by the MAC.

#include "run_file.h"

#include "sim/air/run_config.hpp"
#include "sim/ns3/scenario.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace routing_test
{

class RoutingTest : public testing::Test
{
  protected:
    nlohmann::json Run(const nlohmann::json& run)
    {
        return ns3::RunScenario(perhop::air::parse_run_config(run.dump(), "test"),
                                [](double)
                                {
                                    return true;
                                })
            .json;
    }

    /// Far enough apart that a receiver does not hear who disturbs it: packets are lost.
    nlohmann::json LongChain(const char* routing, const char* linkFailure)
    {
        nlohmann::json run = run_file::Chain(6, m_folder.Path());
        for (unsigned node = 0; node <= 6; ++node)
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
    EXPECT_EQ(Sum(result.at("link_failure_drops")), 0U);
    EXPECT_GT(result.at("flows").at(0).at("packets_per_s").get<double>(), 5);
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

} // namespace routing_test
