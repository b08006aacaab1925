// SPDX-License-Identifier: GPL-2.0-or-later
//
// TFRC across chains of the MAC gateware: its rate against the equation, its feedback when the path breaks; what is measured of it.

#include "run_file.h"

#include "sim/ns3/scenario.h"
#include "sim/run/run_config.hpp"

#include "host/core/policy/tfrc_equation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tfrc_flow_test
{

class TfrcFlowTest : public testing::Test
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

    nlohmann::json Chain(unsigned hops)
    {
        nlohmann::json run = run_file::Chain(hops, m_folder.Path());
        run["flows"] = {{{"kind", "tfrc"}, {"src", 0}, {"dst", hops}, {"start_s", 0.1}, {"payload_bytes", 1000}}};
        return run;
    }

    /// The rows of a file of the run, as numbers, without its header. An empty cell is not a number.
    std::vector<std::vector<double>> Rows(const char* name)
    {
        std::ifstream csv(m_folder.Path() / name);
        std::string line;
        std::getline(csv, line);
        std::vector<std::vector<double>> rows;
        while (std::getline(csv, line))
        {
            std::istringstream cells(line);
            rows.emplace_back();
            for (std::string cell; std::getline(cells, cell, ',');)
            {
                rows.back().push_back(cell.empty() ? NAN : std::stod(cell));
            }
        }
        return rows;
    }

    run_file::TemporaryFolder m_folder;
};

TEST_F(TfrcFlowTest, AloneItFillsMostOfAHop)
{
    nlohmann::json run = Chain(1);
    run["duration_s"] = 60.0;
    run["warmup_s"] = 20.0;
    const auto flow = Run(run).at("flows").at(0);
    nlohmann::json most = Chain(1);
    most["flows"][0] = {{"kind", "cbr"}, {"src", 0}, {"dst", 1}, {"start_s", 0.1}, {"payload_bytes", 1000}, {"rate_bps", 3e6}};
    const double capacity_bps = Run(most).at("flows").at(0).at("goodput_bps");
    EXPECT_EQ(flow.at("kind"), "tfrc");
    EXPECT_GT(flow.at("goodput_bps"), 0.8 * capacity_bps);
    EXPECT_LT(flow.at("loss_share"), 0.05);
    EXPECT_EQ(flow.at("no_feedback_halvings"), 0);
    EXPECT_GT(flow.at("rtt_ms"), 20);
}

TEST_F(TfrcFlowTest, BehindARandomLossItsRateIsTheEquationsForTheLossEventsThatItFound)
{
    nlohmann::json run = Chain(1);
    run["duration_s"] = 200.0;
    run["medium"]["frame_error_rate"] = 0.5;      // four attempts: a packet is lost with probability 1/16
    run["flows"][0]["avoid_oscillation"] = false; // with it packets leave faster than at the rate where round trips vary, as they do here
    for (const auto profile : {perhop::policy::tfrc_profile::paper, perhop::policy::tfrc_profile::rfc5348})
    {
        run["flows"][0]["profile"] = profile == perhop::policy::tfrc_profile::paper ? "paper" : "rfc5348";
        const auto flow = Run(run).at("flows").at(0);
        EXPECT_NEAR(flow.at("loss_share").get<double>(), 1.0 / 16, 0.015);
        const double equation_bps = 8 * perhop::policy::tfrc_rate({.packet_bytes = 1000,
                                                                   .round_trip_s = flow.at("rtt_ms").get<double>() / 1e3,
                                                                   .loss_event_rate = flow.at("loss_event_rate").get<double>()},
                                                                  profile);
        // The estimate varies, and the equation's rate falls with it more than it rises.
        EXPECT_NEAR(flow.at("allowed_rate_bps").get<double>(), equation_bps, 0.25 * equation_bps);
        EXPECT_NEAR(flow.at("goodput_bps").get<double>(), flow.at("allowed_rate_bps").get<double>() * 15 / 16, 0.05 * equation_bps);
    }
}

TEST_F(TfrcFlowTest, EachLossIntervalIsWrittenBesideItsPrediction)
{
    nlohmann::json run = Chain(1);
    run["duration_s"] = 60.0;
    run["warmup_s"] = 1.0;
    run["medium"]["frame_error_rate"] = 0.5;
    const auto flow = Run(run).at("flows").at(0);
    double errors = 0;
    double packets = 0;
    unsigned measured = 0;
    for (const auto& row : Rows("loss_intervals.csv"))
    {
        ASSERT_EQ(row.size(), 4U);
        if (row[0] >= 1e6)
        {
            ++measured;
            errors += std::abs(row[2] - row[3]) / row[3];
            packets += row[3];
        }
    }
    ASSERT_GT(measured, 20U);
    EXPECT_EQ(flow.at("loss_intervals"), measured);
    EXPECT_NEAR(flow.at("loss_prediction_error").get<double>(), errors / measured, 1e-4);
    EXPECT_NEAR(flow.at("loss_event_rate").get<double>(), measured / packets, 1e-6);
}

TEST_F(TfrcFlowTest, ABrokenPathHalvesTheRateUntilFeedbackComesAgain)
{
    nlohmann::json run = Chain(2);
    run["duration_s"] = 60.0;
    run["events"] = {{{"at_s", 20.0}, {"kind", "link_down"}, {"a", 1}, {"b", 2}},
                     {{"at_s", 40.0}, {"kind", "link_up"}, {"a", 1}, {"b", 2}}};
    const auto flow = Run(run).at("flows").at(0);
    EXPECT_GE(flow.at("no_feedback_halvings"), 4);
    const auto rows = Rows("intervals.csv");
    ASSERT_EQ(rows.size(), 60U);
    constexpr std::size_t ALLOWED_RATE = 11;
    constexpr std::size_t LOSS_EVENT_RATE = 13;
    ASSERT_EQ(rows[0].size(), LOSS_EVENT_RATE + 1);
    EXPECT_LT(rows[39][ALLOWED_RATE], 0.1 * rows[18][ALLOWED_RATE]) << "after 20 s without feedback";
    EXPECT_EQ(rows[39][3], 0) << "nothing is delivered";
    EXPECT_GT(rows[59][3], 100e3) << "and it is back";
    EXPECT_GT(rows[59][LOSS_EVENT_RATE], 0);
}

TEST_F(TfrcFlowTest, TfrcAndTcpShareAChain)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["duration_s"] = 60.0;
    run["flows"].push_back({{"kind", "tfrc"}, {"src", 0}, {"dst", 2}, {"start_s", 0.1}, {"payload_bytes", 1000}});
    const auto flows = Run(run).at("flows");
    EXPECT_GT(flows.at(0).at("goodput_bps"), 50e3);
    EXPECT_GT(flows.at(1).at("goodput_bps"), 50e3);
}

} // namespace tfrc_flow_test
