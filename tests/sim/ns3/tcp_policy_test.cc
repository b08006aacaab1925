// SPDX-License-Identifier: GPL-2.0-or-later
//
// Policies of TCP flows over chains of the MAC gateware: TCP ACKs, pacing, variants, several flows.

#include "run_file.h"

#include "sim/ns3/scenario.h"
#include "sim/run/run_config.hpp"

#include "ns3/boolean.h"
#include "ns3/config.h"

#include <gtest/gtest.h>

#include <string>

namespace tcp_policy_test
{

class TcpPolicyTest : public testing::Test
{
  protected:
    ns3::ScenarioResult Run(const nlohmann::json& run)
    {
        return ns3::RunScenario(perhop::run::parse_run_config(run.dump(), "test"),
                                [](double)
                                {
                                    return true;
                                });
    }

    nlohmann::json RunFlow(const nlohmann::json& run)
    {
        return Run(run).json.at("flows").at(0);
    }

    nlohmann::json Chain(unsigned hops, const nlohmann::json& policy)
    {
        nlohmann::json run = run_file::Chain(hops, m_folder.Path());
        run["flows"][0]["policy"] = policy;
        return run;
    }

    run_file::TemporaryFolder m_folder;
};

nlohmann::json
Dca(uint32_t window, const nlohmann::json& more = nlohmann::json::object())
{
    nlohmann::json policy = {{"cwl", "none"}, {"tcp_ack", "dca"}, {"tcp_ack_window", window}};
    policy.update(more);
    return policy;
}

TEST_F(TcpPolicyTest, AHopWithoutLossHasOneTcpAckForEveryWPackets)
{
    const double every_bps = RunFlow(Chain(1, {{"cwl", "none"}})).at("goodput_bps");
    double before_bps = every_bps;
    for (const uint32_t window : {2U, 3U, 5U})
    {
        const auto flow = RunFlow(Chain(1, Dca(window)));
        const double packets = flow.at("delivered_packets");
        EXPECT_NEAR(flow.at("tcp_acks_sent").get<double>(), packets / window, 1.01);
        EXPECT_NEAR(flow.at("tcp_acks_held").get<double>(), packets - packets / window, 4);
        EXPECT_EQ(flow.at("tcp_acks_timer_share"), 0);
        EXPECT_EQ(flow.at("tcp_acks_disorder_share"), 0);
        EXPECT_GT(flow.at("tcp_acks_window_share"), 0.99);
        EXPECT_EQ(flow.at("timeouts"), 0);
        EXPECT_GT(flow.at("goodput_bps"), before_bps);
        before_bps = flow.at("goodput_bps");
    }
    EXPECT_GT(before_bps, 1.15 * every_bps);
}

TEST_F(TcpPolicyTest, TheWindowOfTcpAcksIsNeverAboveWhatIsInFlight)
{
    // With no more than two packets in flight a receiver that waits for five would wait for its timer every time.
    const auto flow = RunFlow(Chain(1, Dca(5, {{"cwl", "fixed"}, {"cwl_packets", 2}})));
    EXPECT_NEAR(flow.at("tcp_acks_per_packet").get<double>(), 0.5, 0.01);
    EXPECT_LT(flow.at("tcp_acks_timer_share"), 0.01);
    const auto whole = RunFlow(Chain(1, {{"cwl", "fixed"}, {"cwl_packets", 4}, {"tcp_ack", "dca"}, {"tcp_ack_whole_window", true}}));
    EXPECT_NEAR(whole.at("tcp_acks_per_packet").get<double>(), 0.25, 0.01);
    EXPECT_LT(whole.at("tcp_acks_timer_share"), 0.01);
}

TEST_F(TcpPolicyTest, LossesAreMendedByDuplicateTcpAcksUnderDcaToo)
{
    // Held duplicates would leave every loss to the timer.
    nlohmann::json run = Chain(2, Dca(3));
    run["medium"]["frame_error_rate"] = 0.25;
    run["duration_s"] = 60.0;
    const auto flow = RunFlow(run);
    EXPECT_GT(flow.at("mac_drops_data_packets"), 10);
    EXPECT_GE(flow.at("retransmissions"), flow.at("mac_drops_data_packets"));
    EXPECT_LT(flow.at("timeouts").get<double>(), 0.5 * flow.at("mac_drops_data_packets").get<double>());
    // Each loss has at least the packet behind it and the one that mends it.
    EXPECT_GE(flow.at("tcp_acks_disorder_share").get<double>() * flow.at("tcp_acks_sent").get<double>(),
              2 * flow.at("mac_drops_data_packets").get<double>());
}

TEST_F(TcpPolicyTest, ADaaSenderHasNoMoreThanFourPacketsInFlight)
{
    for (const char* profile : {"own_papers", "as_in_001"})
    {
        const ns3::ScenarioResult result = Run(Chain(1, {{"cwl", "none"}, {"tcp_ack", "daa"}, {"tcp_ack_profile", profile}}));
        EXPECT_EQ(result.maxPacketsInFlight.at(0), 4U) << profile;
        const auto& flow = result.json.at("flows").at(0);
        EXPECT_LE(flow.at("cwnd_packets"), 4) << profile;
        EXPECT_LT(flow.at("tcp_acks_per_packet"), 0.51) << profile;
    }
}

TEST_F(TcpPolicyTest, TheTimerOfDaasOwnPapersLetsItsWindowFillOverThreeHops)
{
    const auto own = RunFlow(Chain(3, {{"cwl", "none"}, {"tcp_ack", "daa"}}));
    const auto hasty = RunFlow(Chain(3, {{"cwl", "none"}, {"tcp_ack", "daa"}, {"tcp_ack_profile", "as_in_001"}}));
    EXPECT_LT(own.at("tcp_acks_timer_share").get<double>(), 0.5 * hasty.at("tcp_acks_timer_share").get<double>());
    EXPECT_GT(own.at("goodput_bps").get<double>(), 1.05 * hasty.at("goodput_bps").get<double>());
}

TEST_F(TcpPolicyTest, PacingByThePathLosesFewerPacketsToContention)
{
    const auto burst = RunFlow(Chain(6, {{"cwl", "none"}}));
    const auto paced = RunFlow(Chain(6, {{"cwl", "none"}, {"pacing", "path"}}));
    EXPECT_GT(burst.at("mac_drops_data_packets"), 0);
    EXPECT_LT(paced.at("mac_drops_data_packets"), burst.at("mac_drops_data_packets"));
    EXPECT_GT(paced.at("goodput_bps").get<double>(), 0.8 * burst.at("goodput_bps").get<double>());
}

TEST_F(TcpPolicyTest, EveryPolicyIsAFunctionOfTheFileAndForwardsAlike)
{
    for (const auto& policy : {nlohmann::json{{"cwl", "delay"}, {"tcp_ack", "dca"}, {"pacing", "path"}},
                               nlohmann::json{{"cwl", "none"}, {"tcp_ack", "daa"}, {"pacing", "window"}},
                               nlohmann::json{{"cwl", "none"}, {"pacing", "adaptive"}}})
    {
        nlohmann::json run = Chain(4, policy);
        run["duration_s"] = 8.0;
        run["medium"]["frame_error_rate"] = 0.05;
        const auto first = Run(run).json;
        EXPECT_GT(first.at("flows").at(0).at("delivered_packets"), 50);
        EXPECT_EQ(Run(run).json.at("trace_hash"), first.at("trace_hash"));
        ns3::Config::SetDefault("perhop::AirNetDevice::ForwardInShim", ns3::BooleanValue(false));
        const auto slow = Run(run).json;
        ns3::Config::SetDefault("perhop::AirNetDevice::ForwardInShim", ns3::BooleanValue(true));
        EXPECT_EQ(slow.at("trace_hash"), first.at("trace_hash"));
        EXPECT_EQ(slow.at("flows"), first.at("flows"));
    }
}

TEST_F(TcpPolicyTest, NewRenoWithoutSackDoesNotSendTheSameWindowAgainAndAgain)
{
    // Seeds with a timeout early on; without the rule of RFC 6582, 3.2, step 2, there are about 300 retransmissions each.
    for (const unsigned seed : {2U, 3U})
    {
        nlohmann::json run = run_file::Chain(4, m_folder.Path());
        for (std::size_t node = 0; node < run["nodes"].size(); ++node)
        {
            run["nodes"][node]["x_m"] = 250.0 * static_cast<double>(node);
        }
        run["seed"] = seed;
        run["duration_s"] = 40.0;
        run["warmup_s"] = 5.0;
        run["flows"][0]["min_rto_ms"] = 200;
        const auto flow = RunFlow(run);
        EXPECT_LT(flow.at("retransmissions"), 60) << "seed " << seed;
        EXPECT_GT(flow.at("goodput_bps"), 290e3) << "seed " << seed;
    }
}

TEST_F(TcpPolicyTest, EveryLossIsCountedAtItsPlace)
{
    nlohmann::json run = run_file::Chain(4, m_folder.Path());
    run["mac"]["queue_packets"] = 3;
    run["warmup_s"] = 0.0;
    const auto result = Run(run).json;
    const auto& flow = result.at("flows").at(0);
    unsigned macDrops = 0;
    for (const auto& hop : result.at("hops"))
    {
        macDrops += hop.at("drops").get<unsigned>();
    }
    unsigned queueDrops = 0;
    for (const auto& drops : result.at("queue_drops"))
    {
        queueDrops += drops.get<unsigned>();
    }
    EXPECT_GT(macDrops, 0U);
    EXPECT_GT(queueDrops, 0U);
    EXPECT_EQ(flow.at("mac_drops_data_packets").get<unsigned>() + flow.at("mac_drops_tcp_ack_packets").get<unsigned>(), macDrops);
    EXPECT_EQ(flow.at("queue_drops_data_packets").get<unsigned>() + flow.at("queue_drops_tcp_ack_packets").get<unsigned>(), queueDrops);
    EXPECT_GE(flow.at("rtt_p95_ms"), flow.at("rtt_ms"));
}

TEST_F(TcpPolicyTest, FlowsBothWaysOverTheSameNodesKeepTheirPolicies)
{
    nlohmann::json run = Chain(2, Dca(2));
    run["flows"].push_back(run["flows"][0]);
    run["flows"][1]["src"] = 2;
    run["flows"][1]["dst"] = 0;
    run["flows"][1]["policy"] = {{"cwl", "fixed"}, {"cwl_packets", 4}, {"pacing", "path"}};
    run["flows"].push_back(run["flows"][0]);
    run["flows"][2]["dst"] = 1;
    run["flows"][2]["policy"] = Dca(4, {{"cwl", "fixed"}, {"cwl_packets", 4}});
    run["duration_s"] = 30.0;
    const auto flows = Run(run).json.at("flows");
    EXPECT_NEAR(flows.at(0).at("tcp_acks_per_packet").get<double>(), 0.5, 0.1);
    EXPECT_GT(flows.at(1).at("tcp_acks_per_packet"), 0.99);
    EXPECT_EQ(flows.at(1).at("tcp_acks_held"), 0);
    EXPECT_NEAR(flows.at(2).at("tcp_acks_per_packet").get<double>(), 0.25, 0.1);
    for (const auto& flow : flows)
    {
        EXPECT_GT(flow.at("delivered_packets"), 100);
    }
}

} // namespace tcp_policy_test
