// SPDX-License-Identifier: GPL-2.0-or-later
//
// CBR over UDP across chains of the MAC gateware, alone and beside TCP; what is measured of it.

#include "run_file.h"

#include "sim/ns3/scenario.h"
#include "sim/ns3/udp-statistics.h"
#include "sim/run/run_config.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

namespace udp_flow_test
{

nlohmann::json
Cbr(unsigned src, unsigned dst, double rateBps)
{
    return {{"kind", "cbr"}, {"src", src}, {"dst", dst}, {"start_s", 0.1}, {"rate_bps", rateBps}, {"payload_bytes", 1000}};
}

class UdpFlowTest : public testing::Test
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

    nlohmann::json Chain(unsigned hops, const nlohmann::json& flow)
    {
        nlohmann::json run = run_file::Chain(hops, m_folder.Path());
        run["flows"] = nlohmann::json::array({flow});
        return run;
    }

    run_file::TemporaryFolder m_folder;
};

/// Air that a packet of 1000 bytes of UDP payload takes at least on one hop: DIFS and the whole exchange, no backoff.
double
LeastAirtimeMs()
{
    const perhop::timing_profile& profile = *perhop::find_profile("dsss_long");
    const uint32_t mpduBytes = perhop::mac_header_bytes + perhop::llc_snap_bytes + perhop::path_header_bytes + 1028 + perhop::fcs_bytes;
    return (profile.difs_us + perhop::airtime_us(profile, 0, perhop::rts_bytes) + perhop::airtime_us(profile, 0, perhop::cts_bytes) +
            perhop::airtime_us(profile, 1, mpduBytes) + perhop::airtime_us(profile, 0, perhop::mac_ack_bytes) + 3 * profile.sifs_us) /
           1e3;
}

TEST_F(UdpFlowTest, AChainWithRoomDeliversEveryPacketAtItsRate)
{
    const auto flow = Run(Chain(3, Cbr(0, 3, 100e3))).at("flows").at(0);
    EXPECT_EQ(flow.at("kind"), "cbr");
    EXPECT_EQ(flow.at("loss_share"), 0);
    EXPECT_NEAR(flow.at("goodput_bps").get<double>(), 100e3, 500);
    EXPECT_NEAR(flow.at("sent_packets").get<double>(), 18 * 12.5, 1);
    // Three hops one after the other, each with half of the smallest contention window on average.
    const double slotsMs = 15.5 * 0.02;
    EXPECT_NEAR(flow.at("delay_ms").get<double>(), 3 * (LeastAirtimeMs() + slotsMs), 3);
    EXPECT_GT(flow.at("delay_p95_ms").get<double>(), flow.at("delay_ms").get<double>());
    EXPECT_FALSE(flow.contains("rtt_ms")) << "nothing comes back";
}

TEST_F(UdpFlowTest, WhatIsTooMuchForTheFirstHopIsLostInItsQueue)
{
    nlohmann::json run = Chain(1, Cbr(0, 1, 3e6));
    const auto result = Run(run);
    const auto& flow = result.at("flows").at(0);
    const double capacity_bps = 8e6 / LeastAirtimeMs();
    EXPECT_LT(flow.at("goodput_bps").get<double>(), capacity_bps);
    EXPECT_GT(flow.at("goodput_bps").get<double>(), 0.9 * capacity_bps);
    EXPECT_NEAR(flow.at("loss_share").get<double>(), 1 - flow.at("goodput_bps").get<double>() / 3e6, 0.01);
    EXPECT_GT(result.at("queue_drops").at(0), 1000);
    // 50 packets wait in front of each that arrives, and what the MAC's own queue holds.
    EXPECT_NEAR(flow.at("delay_ms").get<double>(), 52 * 1e3 * 8e3 / flow.at("goodput_bps").get<double>(), 25);
}

TEST_F(UdpFlowTest, ALossyHopLosesWhatTheMacGivesUp)
{
    nlohmann::json run = Chain(1, Cbr(0, 1, 100e3));
    run["duration_s"] = 60.0;
    run["medium"]["frame_error_rate"] = 0.5;
    // Four attempts: a packet is lost with probability 1/16.
    EXPECT_NEAR(Run(run).at("flows").at(0).at("loss_share").get<double>(), 1.0 / 16, 0.03);
}

TEST_F(UdpFlowTest, CbrAndTcpShareAChain)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    const double alone_bps = Run(run).at("flows").at(0).at("goodput_bps");
    run["flows"].push_back(Cbr(2, 0, 100e3));
    const auto flows = Run(run).at("flows");
    EXPECT_LT(flows.at(0).at("goodput_bps").get<double>(), alone_bps - 70e3);
    EXPECT_GT(flows.at(0).at("goodput_bps").get<double>(), alone_bps - 180e3);
    EXPECT_GT(flows.at(1).at("goodput_bps").get<double>(), 80e3);
}

TEST_F(UdpFlowTest, SwanSlowsTcpForAFlowThatIsMarkedAndForNoOther)
{
    nlohmann::json run = run_file::Chain(3, m_folder.Path());
    run["duration_s"] = 40.0;
    run["flows"].push_back(Cbr(0, 3, 64e3));
    const auto delayMs = [&](bool expedited, bool swan)
    {
        run["flows"][1]["expedited"] = expedited;
        run.erase("swan");
        if (swan)
        {
            run["swan"] = nlohmann::json::object();
        }
        return Run(run).at("flows").at(1).at("delay_ms").get<double>();
    };
    const double withoutMs = delayMs(true, false);
    EXPECT_EQ(delayMs(false, false), withoutMs) << "without SWAN nobody asks for the mark";
    EXPECT_LT(delayMs(true, true), 0.5 * withoutMs);
    EXPECT_GT(delayMs(false, true), delayMs(true, true)) << "it waits with TCP's packets";
}

TEST_F(UdpFlowTest, AFlowIsSilentBeforeItsStartAndAfterItsStop)
{
    nlohmann::json run = Chain(1, Cbr(0, 1, 80e3));
    run["duration_s"] = 6.0;
    run["flows"][0]["start_s"] = 3.0;
    run["flows"][0]["stop_s"] = 4.0;
    EXPECT_EQ(Run(run).at("flows").at(0).at("sent_packets"), 10);
    std::ifstream csv(m_folder.Path() / "intervals.csv");
    std::string line;
    std::getline(csv, line);
    for (int second = 0; second < 6; ++second)
    {
        std::getline(csv, line);
        EXPECT_EQ(line.find("80000") != std::string::npos, second == 3) << line;
    }
}

TEST(DelayHistogramTest, AQuantileIsTheUpperEdgeOfItsStep)
{
    ns3::DelayHistogram histogram;
    EXPECT_EQ(histogram.QuantileUs(0.5), 0);
    for (uint64_t delayUs = 1; delayUs <= 10000; ++delayUs)
    {
        histogram.Add(delayUs);
    }
    EXPECT_GE(histogram.QuantileUs(0.95), 9500);
    EXPECT_LE(histogram.QuantileUs(0.95), 9500 * std::exp2(1.0 / 16));
    histogram.Clear();
    EXPECT_EQ(histogram.QuantileUs(0.5), 0);
}

} // namespace udp_flow_test
