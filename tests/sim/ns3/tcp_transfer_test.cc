// SPDX-License-Identifier: GPL-2.0-or-later
//
// TCP that sends so much in all, or at a rate, across chains of the MAC gateware.

#include "run_file.h"

#include "sim/ns3/scenario.h"
#include "sim/run/run_config.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace tcp_transfer_test
{

class TcpTransferTest : public testing::Test
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

    run_file::TemporaryFolder m_folder;
};

TEST_F(TcpTransferTest, ATransferOfAGivenSizeIsCompleteWhenItsLastByteIsRead)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["warmup_s"] = 0.0;
    run["duration_s"] = 40.0;
    run["flows"][0]["start_s"] = 2.0;
    run["flows"].push_back(run["flows"][0]); // the other way, later
    run["flows"][1]["src"] = 2;
    run["flows"][1]["dst"] = 0;
    run["flows"][1]["start_s"] = 20.0;
    run["flows"][0]["transfer_bytes"] = 200'001;
    run["flows"][1]["transfer_bytes"] = 50'000;
    const auto flows = Run(run).at("flows");
    // As goodput over the whole run: to the byte.
    EXPECT_NEAR(flows.at(0).at("goodput_bps").get<double>() * 40 / 8, 200'001, 0.5);
    EXPECT_NEAR(flows.at(1).at("goodput_bps").get<double>() * 40 / 8, 50'000, 0.5);
    // Two hops carry about 600 kb/s.
    EXPECT_GT(flows.at(0).at("completion_s"), 1.8);
    EXPECT_LT(flows.at(0).at("completion_s"), 6);
    EXPECT_LT(flows.at(1).at("completion_s"), 0.6 * flows.at(0).at("completion_s").get<double>());
    // Silent from then on.
    std::ifstream csv(m_folder.Path() / "intervals.csv");
    std::string line;
    std::getline(csv, line);
    double lastBusyS = 0;
    while (std::getline(csv, line))
    {
        std::istringstream cells(line);
        std::string flow;
        std::string startS;
        std::string endS;
        std::string goodputBps;
        std::getline(cells, flow, ',') && std::getline(cells, startS, ',') && std::getline(cells, endS, ',') &&
            std::getline(cells, goodputBps, ',');
        if (flow == "0" && goodputBps != "0")
        {
            lastBusyS = std::stod(endS);
        }
    }
    EXPECT_NEAR(lastBusyS, 2 + flows.at(0).at("completion_s").get<double>(), 1.0);
    // Cut off, it has no such time; without a size it is never complete.
    run["flows"].erase(1);
    run["duration_s"] = 3.0;
    EXPECT_TRUE(Run(run).at("flows").at(0).at("completion_s").is_null());
    run["flows"][0].erase("transfer_bytes");
    EXPECT_FALSE(Run(run).at("flows").at(0).contains("completion_s"));
}

TEST_F(TcpTransferTest, ATcpFlowOfAGivenRateSendsAtItAndNoFasterThanThePath)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    const double bulk_bps = Run(run).at("flows").at(0).at("goodput_bps");
    run["flows"][0]["rate_bps"] = 50e3;
    run["flows"][0]["segment_bytes"] = 500;
    const auto slow = Run(run).at("flows").at(0);
    EXPECT_NEAR(slow.at("goodput_bps").get<double>(), 50e3, 500);
    EXPECT_LT(slow.at("rtt_ms"), 30) << "nothing waits";
    run["flows"][0]["segment_bytes"] = 1460;
    run["flows"][0]["rate_bps"] = 2e6;
    EXPECT_NEAR(Run(run).at("flows").at(0).at("goodput_bps").get<double>(), bulk_bps, 0.05 * bulk_bps);
    run["flows"][0]["rate_bps"] = 50e3;
    run["flows"][0]["transfer_bytes"] = 29'200; // twenty segments, one each 0.2336 s
    EXPECT_NEAR(Run(run).at("flows").at(0).at("completion_s").get<double>(), 19 * 0.2336, 0.1);
}

TEST_F(TcpTransferTest, ItsLossIsThatOfTheDataPacketsAndNotOfTheTcpAcks)
{
    nlohmann::json run = run_file::Chain(1, m_folder.Path());
    run["duration_s"] = 100.0;
    run["medium"]["frame_error_rate"] = 0.5; // four attempts: a packet is lost with probability 1/16
    const auto flow = Run(run).at("flows").at(0);
    EXPECT_GT(flow.at("mac_drops_tcp_ack_packets"), 10);
    EXPECT_NEAR(flow.at("loss_share").get<double>(), 1.0 / 16, 0.02);
    run["medium"]["frame_error_rate"] = 0.0;
    EXPECT_NEAR(Run(run).at("flows").at(0).at("loss_share").get<double>(), 0, 0.002);
    run["mac"]["queue_packets"] = 4; // what its own queue refuses is lost, too
    const auto refused = Run(run).at("flows").at(0);
    const double drops = refused.at("queue_drops_data_packets");
    EXPECT_GT(drops, 10);
    EXPECT_NEAR(refused.at("loss_share").get<double>() * refused.at("sent_packets").get<double>(), drops, 4);
}

TEST_F(TcpTransferTest, AnInteractiveSourceLosesWhatBsdsBufferOf16KbDoesNotHold)
{
    nlohmann::json run = run_file::Chain(1, m_folder.Path());
    run["duration_s"] = 200.0;
    run["flows"][0]["min_rto_ms"] = 1000;
    run["flows"][0]["rate_bps"] = 23'360; // two packets a second
    run["flows"][0]["max_window_packets"] = 1;
    run["events"] = {{{"at_s", 10.0}, {"kind", "link_down"}, {"a", 0}, {"b", 1}},
                     {{"at_s", 22.0}, {"kind", "link_up"}, {"a", 0}, {"b", 1}}};
    const auto missing = [&](const char* variant)
    {
        run["flows"][0]["variant"] = variant;
        return 396 - Run(run).at("flows").at(0).at("delivered_packets").get<double>(); // in 198 s
    };
    // At least 12 s of silence are 24 packets, of which 11 fit; the last timeout may end up to 8 s later.
    EXPECT_GE(missing("bsd"), 24 - 11 - 1);
    EXPECT_LE(missing("bsd"), 24 + 16 - 11 + 1);
    EXPECT_LE(missing("newreno"), 1) << "33 packets wait";
}

} // namespace tcp_transfer_test
