// SPDX-License-Identifier: GPL-2.0-or-later
//
// TCP over chains of the MAC gateware: goodput against airtime, the congestion window limit, errors and signals.

#include "run_file.h"

#include "sim/ns3/scenario.h"
#include "sim/run/run_config.hpp"

#include "ns3/boolean.h"
#include "ns3/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace scenario_test
{

using perhop::run::config_error;
using perhop::run::parse_run_config;

class ScenarioTest : public testing::Test
{
  protected:
    ns3::ScenarioResult Run(const nlohmann::json& run)
    {
        return ns3::RunScenario(parse_run_config(run.dump(), "test"),
                                [](double)
                                {
                                    return true;
                                });
    }

    run_file::TemporaryFolder m_folder;
};

/// Air that a packet of `ipBytes` takes at least on one hop: DIFS and the whole exchange, no backoff.
uint32_t
LeastAirtimeUs(uint32_t ipBytes)
{
    const perhop::timing_profile& profile = *perhop::find_profile("dsss_long");
    const uint32_t mpduBytes = perhop::mac_header_bytes + perhop::llc_snap_bytes + perhop::path_header_bytes + ipBytes + perhop::fcs_bytes;
    return profile.difs_us + perhop::airtime_us(profile, 0, perhop::rts_bytes) + perhop::airtime_us(profile, 0, perhop::cts_bytes) +
           perhop::airtime_us(profile, 1, mpduBytes) + perhop::airtime_us(profile, 0, perhop::mac_ack_bytes) + 3 * profile.sifs_us;
}

/// Goodput when the air is never idle and `hopsInTurn` hops cannot send at once: a data packet and its TCP ACK cross each of them.
double
GoodputBoundBps(unsigned hopsInTurn)
{
    return 1460 * 8e6 / (hopsInTurn * (LeastAirtimeUs(1500) + LeastAirtimeUs(40)));
}

TEST_F(ScenarioTest, OneHopReachesTheAirtimeBoundUpToBackoff)
{
    const auto flow = Run(run_file::Chain(1, m_folder.Path())).json.at("flows").at(0);
    const double goodput_bps = flow.at("goodput_bps");
    EXPECT_LT(goodput_bps, GoodputBoundBps(1));
    EXPECT_GT(goodput_bps, 0.92 * GoodputBoundBps(1));
    EXPECT_EQ(flow.at("timeouts"), 0);
    EXPECT_NEAR(flow.at("delivered_packets").get<double>(), goodput_bps * 18 / 8 / 1460, 1);
    // 44 packets wait in a queue that gives one every 1460 * 8 / goodput seconds.
    EXPECT_NEAR(flow.at("rtt_ms").get<double>(), 44 * 1460 * 8e3 / goodput_bps, 12);
}

TEST_F(ScenarioTest, ThreeHopsShareTheAir)
{
    const auto result = Run(run_file::Chain(3, m_folder.Path())).json;
    const double goodput_bps = result.at("flows").at(0).at("goodput_bps");
    EXPECT_LT(goodput_bps, GoodputBoundBps(3));
    EXPECT_GT(goodput_bps, 0.75 * GoodputBoundBps(3));
    EXPECT_GT(result.at("completions_checked"), 1000);
    EXPECT_EQ(result.at("sum_mismatches"), 0);
    EXPECT_EQ(result.at("hops").size(), 6U);
}

TEST_F(ScenarioTest, SackAndDelayedTcpAcksWork)
{
    nlohmann::json run = run_file::Chain(1, m_folder.Path());
    run["flows"][0]["sack"] = true;
    run["flows"][0]["tcp_ack_every"] = 2;
    const double goodput_bps = Run(run).json.at("flows").at(0).at("goodput_bps");
    const double bound_bps = 2 * 1460 * 8e6 / (2 * LeastAirtimeUs(1500) + LeastAirtimeUs(40));
    EXPECT_LT(goodput_bps, bound_bps);
    EXPECT_GT(goodput_bps, 0.9 * bound_bps);
}

TEST_F(ScenarioTest, NoMorePacketsAreInFlightThanAFixedLimitAllows)
{
    for (const uint32_t limit : {1U, 2U, 5U})
    {
        nlohmann::json run = run_file::Chain(3, m_folder.Path());
        run["duration_s"] = 10.0;
        run["flows"][0]["policy"] = {{"cwl", "fixed"}, {"cwl_packets", limit}};
        const ns3::ScenarioResult result = Run(run);
        EXPECT_EQ(result.maxPacketsInFlight.at(0), limit);
        EXPECT_DOUBLE_EQ(result.json.at("flows").at(0).at("cwl_packets"), limit);
        EXPECT_LE(result.json.at("flows").at(0).at("cwnd_packets"), limit);
        EXPECT_GT(result.json.at("flows").at(0).at("goodput_bps"), 0.6 * GoodputBoundBps(3));
    }
}

TEST_F(ScenarioTest, TheWindowLimitsWhatIsInFlightWithoutAPolicy)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["duration_s"] = 10.0;
    run["flows"][0]["max_window_packets"] = 7;
    EXPECT_EQ(Run(run).maxPacketsInFlight.at(0), 7U);
    run["flows"][0]["max_window_packets"] = 0; // not limited: window scaling carries more than 44 segments
    run["nodes"].back()["x_m"] = 210;          // one busy place, so that no loss holds the window down
    EXPECT_GT(Run(run).maxPacketsInFlight.at(0), 44U);
}

TEST_F(ScenarioTest, DelayBasedLimitOfEqualHopsIsTheCorollarys)
{
    // Three hops of equal delays d and d' = r d: CWL = 3 (1 + r) / 4 < 1, so the floor of 1 holds.
    nlohmann::json run = run_file::Chain(3, m_folder.Path());
    run["flows"][0]["policy"] = {{"cwl", "delay"}, {"round", "half_up"}};
    const ns3::ScenarioResult result = Run(run);
    EXPECT_DOUBLE_EQ(result.json.at("flows").at(0).at("cwl_packets"), 1);
    EXPECT_GT(result.json.at("flows").at(0).at("goodput_bps"), 0.75 * GoodputBoundBps(3));
    EXPECT_LT(result.json.at("flows").at(0).at("rtt_ms"), 50);
}

TEST_F(ScenarioTest, ThePathHeaderTellsTheServiceTimeOfTheHop)
{
    const auto hop = Run(run_file::Chain(1, m_folder.Path())).json.at("hops").at(0);
    EXPECT_EQ(hop.at("direction"), "forward");
    const double service_time_us = hop.at("service_time_us");
    EXPECT_NEAR(hop.at("path_header_delay_us").get<double>(), service_time_us, 0.02 * service_time_us);
}

TEST_F(ScenarioTest, ASlowLinkCostsAndStampsWhatItsRateSays)
{
    nlohmann::json run = run_file::Chain(3, m_folder.Path());
    run["links"] = {{{"from", 0}, {"to", 1}, {"data_rate_index", 0}}};
    run["flows"][0]["policy"] = {{"cwl", "fixed"}, {"cwl_packets", 1}}; // one packet on the path: nothing else on the air
    const auto hops = Run(run).json.at("hops");
    const perhop::timing_profile& profile = *perhop::find_profile("dsss_long");
    const uint32_t mpduBytes = perhop::mac_header_bytes + perhop::llc_snap_bytes + perhop::path_header_bytes + 1500 + perhop::fcs_bytes;
    const double moreUs = perhop::airtime_us(profile, 0, mpduBytes) - perhop::airtime_us(profile, 1, mpduBytes);
    const auto of = [&hops](std::size_t hop, const char* field)
    {
        return hops.at(hop).at(field).get<double>();
    };
    EXPECT_DOUBLE_EQ(of(0, "airtime_us") - of(1, "airtime_us"), moreUs);
    EXPECT_NEAR(of(0, "path_header_delay_us"), of(0, "service_time_us"), 0.02 * of(0, "service_time_us"));
    // TCP ACKs come back over the same link at the MAC's rate.
    EXPECT_EQ(hops.at(5).at("to"), 0);
    EXPECT_DOUBLE_EQ(of(5, "airtime_us"), of(4, "airtime_us"));
}

TEST_F(ScenarioTest, AChainOfAHundredHopsDelivers)
{
    nlohmann::json run = run_file::Chain(100, m_folder.Path());
    run["duration_s"] = 20.0;
    run["flows"][0]["policy"] = {{"cwl", "fixed"}, {"cwl_packets", 8}};
    EXPECT_GT(Run(run).json.at("flows").at(0).at("delivered_packets"), 40);
}

TEST_F(ScenarioTest, ARunIsAFunctionOfItsFile)
{
    nlohmann::json run = run_file::Chain(4, m_folder.Path());
    run["duration_s"] = 5.0;
    const std::string hash = Run(run).json.at("trace_hash");
    EXPECT_EQ(Run(run).json.at("trace_hash"), hash);
    run["outputs"]["pcapng"] = true;
    run["outputs"]["trace"] = true;
    EXPECT_EQ(Run(run).json.at("trace_hash"), hash) << "looking changes nothing";
    run["seed"] = 2;
    EXPECT_NE(Run(run).json.at("trace_hash"), hash);
}

TEST_F(ScenarioTest, ForwardingInTheShimIsForwardingInNs3sIp)
{
    nlohmann::json run = run_file::Chain(4, m_folder.Path());
    run["flows"][0]["policy"] = {{"cwl", "delay"}};
    run["medium"]["frame_error_rate"] = 0.05;
    const auto quick = Run(run).json;
    ns3::Config::SetDefault("perhop::AirNetDevice::ForwardInShim", ns3::BooleanValue(false));
    const auto slow = Run(run).json;
    ns3::Config::SetDefault("perhop::AirNetDevice::ForwardInShim", ns3::BooleanValue(true));
    EXPECT_EQ(slow.at("trace_hash"), quick.at("trace_hash"));
    EXPECT_EQ(slow.at("flows"), quick.at("flows"));
    EXPECT_EQ(slow.at("hops"), quick.at("hops"));
}

TEST_F(ScenarioTest, APacketWhoseTimeToLiveIsSpentDies)
{
    // 255 hops are the most that IP allows: the 256th node is reached, the 257th is not.
    nlohmann::json run = run_file::Chain(256, m_folder.Path());
    run["duration_s"] = 6.0;
    std::erase_if(run["routes"].get_ref<nlohmann::json::array_t&>(),
                  [](const nlohmann::json& route)
                  {
                      return route[1] != 0 && route[1] < 255;
                  });
    run["flows"][0]["policy"] = {{"cwl", "fixed"}, {"cwl_packets", 1}};
    EXPECT_EQ(Run(run).json.at("flows").at(0).at("delivered_packets"), 0);
    run["flows"][0]["dst"] = 255;
    EXPECT_GT(Run(run).json.at("flows").at(0).at("delivered_packets"), 0);
}

TEST_F(ScenarioTest, ALossyHopLosesNoDataOfTcp)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["duration_s"] = 30.0;
    run["medium"]["frame_error_rate"] = 0.25;
    const auto flow = Run(run).json.at("flows").at(0);
    EXPECT_GT(flow.at("retransmissions"), 0);
    EXPECT_GT(flow.at("delivered_packets"), 100);
}

TEST_F(ScenarioTest, TheLeastRetransmissionTimeoutIsTheFlows)
{
    // A window of one segment has no duplicate TCP ACKs: every loss waits for the timer.
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["duration_s"] = 60.0;
    run["medium"]["frame_error_rate"] = 0.25;
    run["flows"][0]["policy"] = {{"cwl", "fixed"}, {"cwl_packets", 1}};
    run["flows"][0]["min_rto_ms"] = 200;
    const auto quick = Run(run).json.at("flows").at(0);
    run["flows"][0]["min_rto_ms"] = 3000;
    const auto slow = Run(run).json.at("flows").at(0);
    EXPECT_GT(quick.at("timeouts"), slow.at("timeouts"));
    EXPECT_GT(slow.at("timeouts"), 0);
    EXPECT_EQ(quick.at("timeouts"), quick.at("retransmissions"));
    EXPECT_GT(quick.at("goodput_bps").get<double>(), 1.5 * slow.at("goodput_bps").get<double>());
}

TEST_F(ScenarioTest, TheLargestRetransmissionTimeoutIsTheFlows)
{
    nlohmann::json run = run_file::Chain(1, m_folder.Path());
    run["duration_s"] = 30.0;
    run["flows"][0]["min_rto_ms"] = 200;
    run["events"] = {{{"at_s", 4.0}, {"kind", "link_down"}, {"a", 0}, {"b", 1}}, {{"at_s", 24.0}, {"kind", "link_up"}, {"a", 0}, {"b", 1}}};
    // The timer at the break is about 0.5 s, for 44 packets are on their way. Doubled each time, it has expired five times within 20 s.
    const auto doubled = Run(run).json.at("flows").at(0);
    run["flows"][0]["max_rto_ms"] = 2000;
    const auto bounded = Run(run).json.at("flows").at(0);
    EXPECT_LE(doubled.at("timeouts"), 6);
    EXPECT_GE(bounded.at("timeouts"), 10);
    EXPECT_GT(bounded.at("goodput_bps"), doubled.at("goodput_bps")) << "it is back within 2 s";
}

TEST_F(ScenarioTest, AFlowWithoutSamplesHasNoRoundTripAndWithoutALimitNone)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["flows"].push_back(run["flows"][0]);
    run["flows"][1]["src"] = 2; // cut off: its SYN never arrives
    run["flows"][1]["dst"] = 0;
    run["flows"][1]["start_s"] = 3.0;
    run["events"] = {{{"at_s", 2.5}, {"kind", "link_down"}, {"a", 1}, {"b", 2}}};
    run["duration_s"] = 6.0;
    const nlohmann::json flows = Run(run).json.at("flows");
    EXPECT_GT(flows.at(0).at("rtt_ms"), 0);
    EXPECT_TRUE(flows.at(0).at("cwl_packets").is_null()) << flows.at(0);
    const nlohmann::json& dead = flows.at(1);
    EXPECT_EQ(dead.at("goodput_bps"), 0);
    for (const char* name : {"rtt_ms", "rtt_p95_ms", "cwl_packets", "tcp_acks_per_packet", "tcp_acks_timer_share"})
    {
        EXPECT_TRUE(dead.at(name).is_null()) << name << " of a flow that got nothing: " << dead;
    }
}

TEST_F(ScenarioTest, DataAndTcpAcksOfCrossingFlowsAreToldApart)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["flows"].push_back(run["flows"][0]);
    run["flows"][1]["src"] = 2;
    run["flows"][1]["dst"] = 0;
    std::map<std::string, double> airtimesUs;
    const nlohmann::json result = Run(run).json;
    for (const auto& hop : result.at("hops"))
    {
        const std::string name = std::to_string(hop.at("from").get<int>()) + std::to_string(hop.at("to").get<int>());
        airtimesUs[name + hop.at("direction").get<std::string>()] = hop.at("airtime_us");
    }
    ASSERT_EQ(airtimesUs.size(), 8U) << "each of four links in both directions";
    for (const std::string link : {"01", "12", "21", "10"})
    {
        // 1460 bytes are 5.8 ms at 2 Mb/s.
        EXPECT_GT(airtimesUs.at(link + "forward"), airtimesUs.at(link + "return") + 4'000) << link;
    }
}

TEST_F(ScenarioTest, TwoFlowsOnTheSameNodesStayApart)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["flows"].push_back(run["flows"][0]);
    run["flows"][1]["policy"] = {{"cwl", "fixed"}, {"cwl_packets", 3}};
    run["flows"].push_back(run["flows"][0]);
    run["flows"][2]["src"] = 2;
    run["flows"][2]["dst"] = 0;
    run["flows"][2]["start_s"] = 4.0;
    run["flows"][2]["stop_s"] = 8.0;
    const ns3::ScenarioResult result = Run(run);
    EXPECT_GT(result.maxPacketsInFlight.at(0), 3U);
    EXPECT_EQ(result.maxPacketsInFlight.at(1), 3U);
    for (const auto& flow : result.json.at("flows"))
    {
        EXPECT_GT(flow.at("delivered_packets"), 20);
    }

    // One row a flow and interval; the third flow is silent before it starts.
    std::ifstream csv(m_folder.Path() / "intervals.csv");
    std::string line;
    std::getline(csv, line);
    EXPECT_TRUE(line.starts_with("flow,t_start_s,t_end_s,goodput_bps,rtt_ms,cwl_packets,cwnd_packets,")) << line;
    int rows = 0;
    while (std::getline(csv, line))
    {
        ++rows;
        if (line.starts_with("2,2,3,"))
        {
            EXPECT_EQ(line, "2,2,3,0,,,,,,,,,,") << "what was not measured stays empty";
        }
    }
    EXPECT_EQ(rows, 3 * 20);
}

TEST_F(ScenarioTest, WhatOnlyNs3CanRefuseNamesFieldAndRemedy)
{
    const auto message = [this](const nlohmann::json& run) -> std::string
    {
        try
        {
            Run(run);
        }
        catch (const config_error& error)
        {
            return error.what();
        }
        return "no error";
    };
    nlohmann::json run = run_file::Chain(1, m_folder.Path());
    run["flows"][0]["variant"] = "tahoe";
    EXPECT_NE(message(run).find("field flows[0].variant: there is no TCP 'tahoe'; one of newreno, reno, bsd, linuxreno, cubic, bbr"),
              std::string::npos)
        << message(run);
    run = run_file::Chain(1, m_folder.Path());
    run["flows"][0]["policy"]["cwl"] = "hop";
    run["flows"][0]["max_window_packets"] = 45;
    EXPECT_NE(message(run).find("field flows[0].max_window_packets: 45 segments"), std::string::npos) << message(run);
    EXPECT_NE(message(run).find("use at most 44"), std::string::npos) << message(run);
    run = run_file::Chain(1, m_folder.Path());
    run["flows"] = std::vector<nlohmann::json>(5537, run["flows"][0]);
    EXPECT_EQ(message(run), "field flows: 5537 flows, but only 5536 have ports of their own; use fewer flows");
    run = run_file::Chain(1, m_folder.Path());
    run["flows"][0] = {{"kind", "mac_saturated"}, {"src", 0}, {"dst", 1}, {"ip_bytes", 1500}, {"path_header", true}};
    EXPECT_NE(message(run).find("field flows[0].kind"), std::string::npos) << message(run);
}

/// The binary, as `perhop run` starts it.
class BinaryTest : public ScenarioTest
{
  protected:
    /// @return its process; its output goes to files in the folder
    pid_t Start(const nlohmann::json& run)
    {
        const std::string file = m_folder.Path() / "run.json";
        std::ofstream(file) << run.dump();
        const pid_t child = fork();
        if (child == 0)
        {
            const std::string out = m_folder.Path() / "stdout";
            const std::string err = m_folder.Path() / "stderr";
            dup2(open(out.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644), 1);
            dup2(open(err.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644), 2);
            execl(PERHOP_SIM_BINARY, PERHOP_SIM_BINARY, file.c_str(), nullptr);
            _exit(127);
        }
        return child;
    }

    static int ExitStatus(pid_t child)
    {
        int status = 0;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    std::string Text(const char* name) const
    {
        std::ifstream file(m_folder.Path() / name);
        return {std::istreambuf_iterator<char>(file), {}};
    }
};

TEST_F(BinaryTest, WritesItsResultAndTellsItsProgress)
{
    nlohmann::json run = run_file::Chain(1, m_folder.Path() / "new" / "folder");
    run["duration_s"] = 3.0;
    ASSERT_EQ(ExitStatus(Start(run)), 0) << Text("stderr");
    EXPECT_EQ(Text("stdout"), "PROGRESS 0.000 3.000\nPROGRESS 3.000 3.000\n");
    const auto result = nlohmann::json::parse(Text("new/folder/result.json"));
    EXPECT_EQ(result.at("interrupted"), false);
    EXPECT_DOUBLE_EQ(result.at("measured_s"), 1.0);
}

TEST_F(BinaryTest, AWrongFieldEndsWithStatusTwoAndOneClearLine)
{
    nlohmann::json run = run_file::Chain(1, m_folder.Path());
    run["routes"] = nlohmann::json::array({{0, 1, 1}}); // and no way back
    EXPECT_EQ(ExitStatus(Start(run)), 2);
    EXPECT_NE(Text("stderr").find("routes do not lead from node 0 to node 1 and back"), std::string::npos) << Text("stderr");
    run = run_file::Chain(1, m_folder.Path());
    run["routes"].push_back({0, 9, 1});
    EXPECT_EQ(ExitStatus(Start(run)), 2);
    EXPECT_NE(Text("stderr").find("routes"), std::string::npos) << Text("stderr");
    run = run_file::Chain(1, m_folder.Path());
    run["flows"][0]["variant"] = "tahoe";
    EXPECT_EQ(ExitStatus(Start(run)), 2);
    EXPECT_NE(Text("stderr").find("run.json: field flows[0].variant"), std::string::npos) << Text("stderr");
    const std::string text = Text("stderr");
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST_F(BinaryTest, AnInterruptKeepsTheResultsSoFar)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["duration_s"] = 1e6;
    const pid_t child = Start(run);
    // A progress line after the first one says that it is under way.
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (Text("stdout").find("PROGRESS", 10) == std::string::npos && std::chrono::steady_clock::now() < give_up)
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    kill(child, SIGINT);
    EXPECT_EQ(ExitStatus(child), 130);
    const auto result = nlohmann::json::parse(Text("result.json"));
    EXPECT_EQ(result.at("interrupted"), true);
    EXPECT_LT(result.at("measured_s"), 1e6);
    EXPECT_GT(result.at("measured_s"), 0);
    EXPECT_GT(result.at("flows").at(0).at("delivered_packets"), 0);
}

} // namespace scenario_test
