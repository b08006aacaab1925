// SPDX-License-Identifier: GPL-2.0-or-later
//
// TCP's short way past ns-3's IP, beside the whole way: the same run to the bit, whatever a segment meets.

#include "run_file.h"

#include "sim/ns3/scenario.h"
#include "sim/run/run_config.hpp"

#include "ns3/boolean.h"
#include "ns3/callback.h"
#include "ns3/config.h"
#include "ns3/ipv4-l3-protocol.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace segment_path_test
{

/// Counts packets that ns-3's IP of any node sends or passes on. TCP's connection is up when the first is counted.
class IpCounter
{
  public:
    void Connect()
    {
        ns3::Config::ConnectWithoutContext("/NodeList/*/$ns3::Ipv4L3Protocol/Tx", ns3::MakeCallback(&IpCounter::OnPacket, this));
    }

    unsigned packets = 0;

  private:
    void OnPacket(ns3::Ptr<const ns3::Packet>, ns3::Ptr<ns3::Ipv4>, uint32_t)
    {
        ++packets;
    }
};

class SegmentPathTest : public testing::Test
{
  protected:
    nlohmann::json Run(const nlohmann::json& run)
    {
        IpCounter counter;
        bool connected = false;
        nlohmann::json result = ns3::RunScenario(perhop::run::parse_run_config(run.dump(), "test"),
                                                 [&](double)
                                                 {
                                                     if (!std::exchange(connected, true))
                                                     {
                                                         counter.Connect();
                                                     }
                                                     return true;
                                                 })
                                    .json;
        m_ipPackets = counter.packets;
        return result;
    }

    nlohmann::json RunByIp(const nlohmann::json& run)
    {
        ns3::Config::SetDefault("perhop::AirNetDevice::BulkPath", ns3::BooleanValue(false));
        nlohmann::json result = Run(run);
        ns3::Config::SetDefault("perhop::AirNetDevice::BulkPath", ns3::BooleanValue(true));
        return result;
    }

    /// @return the run's result
    nlohmann::json ExpectTheSame(const nlohmann::json& run)
    {
        const nlohmann::json byIp = RunByIp(run);
        EXPECT_GT(m_ipPackets, 10U);
        nlohmann::json quick = Run(run);
        EXPECT_EQ(quick.at("trace_hash"), byIp.at("trace_hash"));
        EXPECT_EQ(quick.at("flows"), byIp.at("flows"));
        EXPECT_EQ(quick.at("hops"), byIp.at("hops"));
        return quick;
    }

    /// A chain with errors, 6 s.
    nlohmann::json Chain(unsigned hops, const nlohmann::json& policy = {{"cwl", "none"}})
    {
        nlohmann::json run = run_file::Chain(hops, m_folder.Path());
        run["duration_s"] = 6.0;
        run["warmup_s"] = 0.5;
        run["medium"]["frame_error_rate"] = 0.03;
        run["flows"][0]["policy"] = policy;
        return run;
    }

    run_file::TemporaryFolder m_folder;
    unsigned m_ipPackets = 0; ///< that IP sent in the last run
};

TEST_F(SegmentPathTest, SegmentsPassIpBy)
{
    const nlohmann::json result = ExpectTheSame(Chain(2));
    EXPECT_EQ(m_ipPackets, 0U);
    EXPECT_GT(result.at("flows").at(0).at("delivered_packets"), 100);
}

TEST_F(SegmentPathTest, EachPolicyActsAlike)
{
    // Windows written into TCP ACKs, TCP ACKs held and sent again, paced data, congestion marks.
    for (const auto& policy : {nlohmann::json{{"cwl", "delay"}, {"tcp_ack", "dca"}, {"pacing", "path"}},
                               nlohmann::json{{"cwl", "none"}, {"tcp_ack", "daa"}, {"pacing", "window"}},
                               nlohmann::json{{"cwl", "none"}, {"ecn", "service"}, {"ecn_target_ms", 10}}})
    {
        const nlohmann::json result = ExpectTheSame(Chain(3, policy));
        EXPECT_GT(result.at("flows").at(0).at("delivered_packets"), 50) << policy;
        EXPECT_EQ(result.contains("congestion_marks"), policy.contains("ecn"));
    }
}

TEST_F(SegmentPathTest, EachRoutingCarriesThemAlike)
{
    for (const char* routing : {"aodv", "dsr", "gpsr"})
    {
        nlohmann::json run = Chain(4);
        run["routing"] = routing;
        run["routes"] = nlohmann::json::array();
        EXPECT_GT(ExpectTheSame(run).at("flows").at(0).at("delivered_packets"), 20) << routing;
    }
}

TEST_F(SegmentPathTest, EachTcpBeginsAndEndsItsConnectionAlike)
{
    for (const char* variant : {"newreno", "bsd", "cubic", "bbr"})
    {
        nlohmann::json run = Chain(2);
        nlohmann::json& flow = run["flows"][0];
        flow["variant"] = variant;
        flow["transfer_bytes"] = 100'000;
        if (flow["variant"] == "bsd")
        {
            flow["min_rto_ms"] = 1000;
        }
        run["flows"].push_back(flow);
        run["flows"][1].erase("transfer_bytes");
        run["flows"][1]["src"] = 2;
        run["flows"][1]["dst"] = 0;
        run["flows"][1]["stop_s"] = 2.0;
        run["warmup_s"] = 0.0;
        const nlohmann::json flows = ExpectTheSame(run).at("flows");
        EXPECT_TRUE(flows.at(0).at("completion_s").is_number()) << variant;
        EXPECT_GT(flows.at(1).at("delivered_packets"), 10) << variant;
    }
}

TEST_F(SegmentPathTest, AWireCarriesThemWithAllTheirBytes)
{
    nlohmann::json run = Chain(2);
    run["servers"] = 1;
    run["wires"] = {{{"a", 2}, {"b", 3}, {"rate_bps", 1e7}, {"delay_us", 1000}, {"queue_packets", 20}}};
    for (const auto& route : {nlohmann::json{0, 3, 1}, {1, 3, 2}, {2, 3, 3}, {3, 0, 2}, {3, 1, 2}, {3, 2, 2}})
    {
        run["routes"].push_back(route);
    }
    run["flows"][0]["dst"] = 3;
    EXPECT_GT(ExpectTheSame(run).at("flows").at(0).at("delivered_packets"), 50);
}

TEST_F(SegmentPathTest, ATimeToLiveThatEndsOnTheWayIsAnsweredAlike)
{
    nlohmann::json run = run_file::Chain(256, m_folder.Path());
    run["duration_s"] = 6.0;
    std::erase_if(run["routes"].get_ref<nlohmann::json::array_t&>(),
                  [](const nlohmann::json& route)
                  {
                      return route[1] != 0 && route[1] != 256;
                  });
    run["flows"][0]["policy"] = {{"cwl", "fixed"}, {"cwl_packets", 1}};
    const nlohmann::json quick = Run(run);
    EXPECT_EQ(quick.at("flows").at(0).at("delivered_packets"), 0);
    EXPECT_GT(quick.at("transmissions"), 4 * 256) << "an answer has gone back";
    EXPECT_EQ(quick.at("trace_hash"), RunByIp(run).at("trace_hash"));
}

TEST_F(SegmentPathTest, ASegmentThatIpMustDivideGoesThroughIp)
{
    nlohmann::json run = Chain(1);
    run["flows"][0]["segment_bytes"] = 3000;
    run["flows"][0]["max_window_packets"] = 4;
    const nlohmann::json result = ExpectTheSame(run);
    EXPECT_GT(m_ipPackets, 10U);
    EXPECT_GT(result.at("flows").at(0).at("delivered_packets"), 10);
}

} // namespace segment_path_test
