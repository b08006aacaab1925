// SPDX-License-Identifier: GPL-2.0-or-later
//
// Chains of the MAC gateware with a wire behind a gateway: times, queues, transfers, and what the path header tells of such a path.

#include "run_file.h"

#include "sim/ns3/scenario.h"
#include "sim/run/run_config.hpp"

#include <gtest/gtest.h>

#include <string>

namespace wired_hop_test
{

/// On the wire beside the IP packet: the path header, and 2 bytes of PPP.
constexpr uint32_t WIRE_HEADER_BYTES = perhop::path_header_bytes + 2;

class WiredHopTest : public testing::Test
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

    static nlohmann::json Wire(unsigned a, unsigned b, double rateBps, unsigned delayUs, unsigned queuePackets)
    {
        return {{"a", a}, {"b", b}, {"rate_bps", rateBps}, {"delay_us", delayUs}, {"queue_packets", queuePackets}};
    }

    /// A chain, its last node a gateway, and one server behind it: node `hops` + 1.
    nlohmann::json Hybrid(unsigned hops, double rateBps, unsigned delayUs, unsigned queuePackets = 100)
    {
        const unsigned server = hops + 1;
        nlohmann::json run = run_file::Chain(hops, m_folder.Path());
        run["servers"] = 1;
        run["wires"] = {Wire(hops, server, rateBps, delayUs, queuePackets)};
        for (unsigned node = 0; node < hops; ++node)
        {
            run["routes"].push_back({node, server, node + 1});
            run["routes"].push_back({server, node, hops});
        }
        run["routes"].push_back({hops, server, server});
        run["routes"].push_back({server, hops, hops});
        run["flows"][0]["dst"] = server;
        return run;
    }

    /// Two servers, and the node between them: no packet crosses the air.
    nlohmann::json Wires(const nlohmann::json& first, const nlohmann::json& second, double flowBps, unsigned payloadBytes)
    {
        nlohmann::json run = run_file::Chain(1, m_folder.Path());
        run["servers"] = 2;
        run["wires"] = {first, second};
        run["routes"] = {{2, 3, 0}, {0, 3, 3}, {3, 2, 0}, {0, 2, 2}};
        run["flows"] = {
            {{"kind", "cbr"}, {"src", 2}, {"dst", 3}, {"start_s", 0.1}, {"rate_bps", flowBps}, {"payload_bytes", payloadBytes}}};
        return run;
    }

    run_file::TemporaryFolder m_folder;
};

TEST_F(WiredHopTest, APacketTakesItsBytesAtTheRateAndTheDelayOfEachWire)
{
    constexpr unsigned PAYLOAD_BYTES = 972; // 1000 bytes of IP
    const auto result = Run(Wires(Wire(2, 0, 1e6, 10'000, 100), Wire(0, 3, 2e6, 25'000, 100), 50e3, PAYLOAD_BYTES));
    const double bits = 8.0 * (PAYLOAD_BYTES + 28 + WIRE_HEADER_BYTES);
    const auto& flow = result.at("flows").at(0);
    EXPECT_NEAR(flow.at("delay_ms").get<double>(), bits / 1e3 + bits / 2e3 + 35, 0.002);
    EXPECT_EQ(flow.at("loss_share"), 0);
    EXPECT_EQ(result.at("transmissions"), 0);
    // The result says what crossed, direction by direction.
    const auto& wires = result.at("wires");
    ASSERT_EQ(wires.size(), 4U);
    EXPECT_EQ(wires.at(0).at("from"), 2);
    EXPECT_EQ(wires.at(0).at("to"), 0);
    EXPECT_NEAR(wires.at(0).at("packets").get<double>(), 18 * 50e3 / 8 / PAYLOAD_BYTES, 2);
    EXPECT_EQ(wires.at(1).at("packets"), 0) << "nothing comes back";
    EXPECT_NEAR(wires.at(2).at("packets").get<double>(), wires.at(0).at("packets").get<double>(), 1);
}

TEST_F(WiredHopTest, WhatTheQueueOfAWireHasNoRoomForIsLostAndCounted)
{
    constexpr unsigned QUEUE_PACKETS = 5;
    const auto result = Run(Wires(Wire(2, 0, 1e6, 10'000, 100), Wire(0, 3, 0.5e6, 10'000, QUEUE_PACKETS), 900e3, 972));
    const double bits = 8.0 * (1000 + WIRE_HEADER_BYTES);
    const auto& flow = result.at("flows").at(0);
    EXPECT_NEAR(flow.at("packets_per_s").get<double>(), 0.5e6 / bits, 0.2);
    EXPECT_NEAR(flow.at("loss_share").get<double>(), 1 - 0.5e6 / bits / (900e3 / 8 / 972), 0.01);
    // A packet that finds room finds four or five before it, and one on its way out.
    EXPECT_GT(flow.at("delay_ms"), 20 + bits / 1e3 + (QUEUE_PACKETS - 0.5) * bits / 0.5e3);
    EXPECT_LT(flow.at("delay_ms"), 20 + bits / 1e3 + (QUEUE_PACKETS + 1) * bits / 0.5e3);
    const auto& drops = result.at("wires").at(2).at("drops");
    EXPECT_NEAR(drops.get<double>(), 18 * (900e3 / 8 / 972 - 0.5e6 / bits), 4);
    EXPECT_GE(result.at("queue_drops").at(0), drops) << "of the whole run";
    EXPECT_EQ(result.at("queue_drops").size(), 4U);
}

TEST_F(WiredHopTest, TransfersCrossTheGatewayInBothDirections)
{
    nlohmann::json run = Hybrid(3, 10e6, 20'000);
    run["warmup_s"] = 0.0;
    run["duration_s"] = 60.0;
    run["flows"].push_back(run["flows"][0]);
    run["flows"][1]["src"] = 4;
    run["flows"][1]["dst"] = 0;
    run["flows"][1]["start_s"] = 30.0;
    for (auto& flow : run["flows"])
    {
        flow["transfer_bytes"] = 100'000;
    }
    const auto result = Run(run);
    for (const auto& flow : result.at("flows"))
    {
        EXPECT_NEAR(flow.at("goodput_bps").get<double>() * 60 / 8, 100'000, 0.5) << "to the byte";
        EXPECT_LT(flow.at("completion_s"), 15);
        EXPECT_GT(flow.at("rtt_ms"), 40) << "the wire, both ways";
    }
    EXPECT_EQ(result.at("hops").size(), 6U + 6U) << "hops of the air alone, data and TCP ACKs each way";
    // Over the air alone the round trip is shorter by the wire's.
    nlohmann::json without = run_file::Chain(3, m_folder.Path());
    without["flows"][0]["policy"] = {{"cwl", "fixed"}, {"cwl_packets", 1}};
    run["flows"].erase(1);
    run["flows"][0].erase("transfer_bytes");
    run["flows"][0]["policy"] = without["flows"][0]["policy"];
    const double rttMs = Run(run).at("flows").at(0).at("rtt_ms");
    const double airMs = Run(without).at("flows").at(0).at("rtt_ms");
    EXPECT_NEAR(rttMs - airMs, 40 + 8e-4 * (1500 + 40 + 2 * WIRE_HEADER_BYTES), 1);
}

TEST_F(WiredHopTest, TheLimitByHopsCountsTheWirelessSegmentAlone)
{
    nlohmann::json run = Hybrid(6, 10e6, 20'000);
    nlohmann::json air = run_file::Chain(6, m_folder.Path());
    for (auto* each : {&run, &air})
    {
        (*each)["flows"][0]["policy"] = {{"cwl", "hop"}};
    }
    EXPECT_DOUBLE_EQ(Run(run).at("flows").at(0).at("cwl_packets"), Run(air).at("flows").at(0).at("cwl_packets"));
}

TEST_F(WiredHopTest, TheLimitByDelayAddsWhatTheWireHolds)
{
    // One packet after the other at first, so that the least round trip is propagation: over 3 hops of d each, the limit is 1 without the
    // wire, and about 200 ms / d more with it.
    nlohmann::json run = Hybrid(3, 10e6, 100'000);
    run["duration_s"] = 8.0;
    run["warmup_s"] = 3.0;
    run["flows"][0]["policy"] = {{"cwl", "delay"}, {"round", "half_up"}};
    const auto result = Run(run);
    double slowestUs = 0;
    for (const auto& hop : result.at("hops"))
    {
        if (hop.at("direction") == "forward")
        {
            slowestUs = std::max(slowestUs, hop.at("service_time_us").get<double>());
        }
    }
    const double limit = result.at("flows").at(0).at("cwl_packets");
    EXPECT_NEAR(limit, 0.75 + 200e3 / slowestUs, 0.25 * 200e3 / slowestUs);
}

TEST_F(WiredHopTest, TwoGatewaysLeadToOneServer)
{
    // A chain of 4 hops, a gateway at each end: the middle node takes the one that its route names, then the other.
    nlohmann::json run = run_file::Chain(4, m_folder.Path());
    run["servers"] = 1;
    run["wires"] = {Wire(0, 5, 10e6, 10'000, 100), Wire(4, 5, 10e6, 10'000, 100)};
    for (const auto& route : {std::array{2, 5, 1}, {1, 5, 0}, {0, 5, 5}, {5, 2, 0}, {3, 5, 4}, {4, 5, 5}})
    {
        run["routes"].push_back(route);
    }
    run["flows"][0]["src"] = 2;
    run["flows"][0]["dst"] = 5;
    run["events"] = {{{"at_s", 10.0}, {"kind", "route"}, {"path", {2, 3, 4, 5}}}};
    const auto result = Run(run);
    const auto& wires = result.at("wires");
    EXPECT_GT(wires.at(0).at("packets"), 200) << "node 0 to the server";
    EXPECT_GT(wires.at(2).at("packets"), 200) << "node 4 to the server";
    EXPECT_GT(result.at("flows").at(0).at("goodput_bps"), 200e3);
}

TEST_F(WiredHopTest, AodvFindsTheWayAcrossTheGateway)
{
    nlohmann::json run = Hybrid(3, 10e6, 20'000);
    run["routing"] = "aodv";
    run["routes"] = nlohmann::json::array();
    run["flows"].push_back(run["flows"][0]);
    run["flows"][1]["src"] = 4;
    run["flows"][1]["dst"] = 1;
    run["flows"][0]["stop_s"] = 10.0; // one after the other: beside each other one would starve
    run["flows"][1]["start_s"] = 12.0;
    const auto result = Run(run);
    for (const auto& flow : result.at("flows"))
    {
        EXPECT_GT(flow.at("delivered_packets"), 50);
    }
    EXPECT_GT(result.at("wires").at(0).at("packets"), 100);
}

TEST_F(WiredHopTest, FramesWithBytesCarryTheSame)
{
    nlohmann::json run = Hybrid(2, 10e6, 20'000);
    run["duration_s"] = 2.0;
    run["warmup_s"] = 0.5;
    const auto core = Run(run);
    run["mac"]["fidelity"] = "bytes";
    run["outputs"]["pcapng"] = true;
    const auto bytes = Run(run);
    EXPECT_EQ(core.at("trace_hash"), bytes.at("trace_hash"));
    EXPECT_GT(bytes.at("flows").at(0).at("delivered_packets"), 20);
}

} // namespace wired_hop_test
