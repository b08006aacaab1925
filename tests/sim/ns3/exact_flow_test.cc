// SPDX-License-Identifier: GPL-2.0-or-later
//
// EXACT over chains of the MAC gateware: what a flow gets, how flows share, what packets carry, what applications do with it.

#include "run_file.h"

#include "sim/ns3/exact-application.h"
#include "sim/ns3/scenario.h"
#include "sim/run/run_config.hpp"

#include "ns3/boolean.h"
#include "ns3/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace exact_flow_test
{

constexpr uint32_t PAYLOAD_BYTES = 1472;

nlohmann::json
Exact(unsigned src, unsigned dst, double startS = 0.1)
{
    return {
        {"kind", "exact"}, {"src", src}, {"dst", dst}, {"start_s", startS}, {"application", "greedy"}, {"payload_bytes", PAYLOAD_BYTES}};
}

using Rows = std::vector<std::map<std::string, double>>;

/// A CSV file of numbers; an empty cell is left out.
Rows
ReadCsv(const std::filesystem::path& path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    std::vector<std::string> names;
    std::string cell;
    for (std::istringstream header(line); std::getline(header, cell, ',');)
    {
        names.push_back(cell);
    }
    Rows rows;
    while (std::getline(file, line))
    {
        rows.emplace_back();
        std::istringstream cells(line);
        for (std::size_t i = 0; std::getline(cells, cell, ','); ++i)
        {
            if (!cell.empty())
            {
                rows.back()[names.at(i)] = std::stod(cell);
            }
        }
    }
    return rows;
}

class ExactFlowTest : public testing::Test
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

    nlohmann::json Chain(unsigned hops, const std::string& mode = "m2")
    {
        nlohmann::json run = run_file::Chain(hops, m_folder.Path());
        run["flows"] = nlohmann::json::array({Exact(0, hops)});
        run["exact"] = {{"mode", mode}, {"fairness", "rate"}, {"eta", 0.9}, {"interval_ms", 100}};
        return run;
    }

    /// Mean of a column of a flow's intervals that lie within [from, to).
    double Mean(std::size_t flow, const std::string& column, double fromS, double toS)
    {
        double sum = 0;
        int count = 0;
        for (const auto& row : ReadCsv(m_folder.Path() / "intervals.csv"))
        {
            if (row.at("flow") == static_cast<double>(flow) && row.at("t_start_s") >= fromS && row.at("t_end_s") <= toS)
            {
                sum += row.count(column) != 0 ? row.at(column) : 0;
                ++count;
            }
        }
        return count == 0 ? 0 : sum / count;
    }

    run_file::TemporaryFolder m_folder;
};

/// Channel time of a packet on an idle medium: DIFS, half of the smallest contention window, the exchange.
double
ServiceS(uint32_t ipAndRiderBytes)
{
    const perhop::timing_profile& profile = *perhop::find_profile("dsss_long");
    const uint32_t mpduBytes =
        perhop::mac_header_bytes + perhop::llc_snap_bytes + perhop::path_header_bytes + ipAndRiderBytes + perhop::fcs_bytes;
    return (profile.difs_us + 15.5 * profile.slot_us + perhop::airtime_us(profile, 0, perhop::rts_bytes) +
            perhop::airtime_us(profile, 0, perhop::cts_bytes) + perhop::airtime_us(profile, 1, mpduBytes) +
            perhop::airtime_us(profile, 0, perhop::mac_ack_bytes) + 3 * profile.sifs_us) /
           1e6;
}

/// eta * S / (hops in turn * (d + d'/w)): the rate at which data and a report for every fourth packet fill the channel time.
double
ShareBps(unsigned hopsInTurn)
{
    const double dataS = ServiceS(PAYLOAD_BYTES + 28 + 5);
    const double reportS = ServiceS(28 + 27);
    return 0.9 * (PAYLOAD_BYTES + 28) * 8 / (hopsInTurn * (dataS + reportS / 4));
}

TEST_F(ExactFlowTest, ASingleFlowGetsTheChannelTimeOfItsNeighbourhoodWithoutLoss)
{
    for (const unsigned hops : {1U, 2U, 3U, 4U, 6U})
    {
        const auto flow = Run(Chain(hops)).at("flows").at(0);
        const double rate_bps = flow.at("goodput_bps").get<double>() * (PAYLOAD_BYTES + 28) / PAYLOAD_BYTES;
        EXPECT_NEAR(rate_bps / ShareBps(std::min(hops, 4U)), 1, 0.15) << hops << " hops";
        EXPECT_LT(flow.at("loss_share"), 0.01) << hops << " hops";
        // Nothing queues: a packet takes the service times of its hops, and some waiting where hops take turns.
        EXPECT_LT(flow.at("delay_ms").get<double>(), 1e3 * 1.4 * hops * ServiceS(PAYLOAD_BYTES + 33)) << hops << " hops";
    }
}

TEST_F(ExactFlowTest, ARouterWithoutItsNeighbourhoodGivesTooMuchOnAChain)
{
    const auto alone = Run(Chain(4, "m2")).at("flows").at(0);
    const auto ownOnly = Run(Chain(4, "m1")).at("flows").at(0);
    EXPECT_GT(ownOnly.at("rate_signal_bps").get<double>(), 1.2 * alone.at("rate_signal_bps").get<double>());
    EXPECT_GT(ownOnly.at("delay_ms").get<double>(), 1.5 * alone.at("delay_ms").get<double>());
}

TEST_F(ExactFlowTest, TheRateThatArrivesIsTheLeastOfTheRouters)
{
    nlohmann::json run = Chain(3, "m1");
    run["exact"]["packets"] = true;
    run["flows"].push_back(Exact(1, 3, 5.0));
    Run(run);
    struct Packet
    {
        double leastBps = 1e18;
        int routers = 0;
        double arrivedBps = -1;
    };
    std::map<std::pair<double, double>, Packet> packets;
    for (const auto& row : ReadCsv(m_folder.Path() / "exact_packets.csv"))
    {
        Packet& packet = packets[{row.at("flow"), row.at("sequence")}];
        if (row.count("allocation_bps") != 0)
        {
            ++packet.routers;
            packet.leastBps = std::min(packet.leastBps, row.at("allocation_bps"));
            EXPECT_LE(row.at("sent_bps"), row.at("arrived_bps"));
        }
        else
        {
            packet.arrivedBps = row.at("sent_bps");
        }
    }
    std::map<double, int> arrived;
    for (const auto& [key, packet] : packets)
    {
        if (packet.arrivedBps < 0)
        {
            continue; // lost
        }
        ++arrived[key.first];
        EXPECT_EQ(packet.routers, key.first == 0 ? 3 : 2);
        // Rounded down to what a 16-bit float can carry: 11 bits.
        EXPECT_LE(packet.arrivedBps, packet.leastBps + 1);
        EXPECT_GE(packet.arrivedBps, packet.leastBps * (1 - 1.0 / 1024) - 1);
    }
    EXPECT_GT(arrived[0], 300);
    EXPECT_GT(arrived[1], 300);
}

TEST_F(ExactFlowTest, FlowsShareEvenlyAndTakeUpWhatOneLeaves)
{
    nlohmann::json run = Chain(3);
    run["flows"].push_back(Exact(3, 0, 6.0));
    run["flows"][1]["stop_s"] = 12.0;
    Run(run);
    const double alone_bps = Mean(0, "rate_signal_bps", 3, 6);
    EXPECT_NEAR(Mean(0, "rate_signal_bps", 7, 12) / alone_bps, 0.5, 0.03);
    EXPECT_NEAR(Mean(1, "rate_signal_bps", 7, 12) / alone_bps, 0.5, 0.03);
    EXPECT_NEAR(Mean(0, "rate_signal_bps", 14, 20) / alone_bps, 1, 0.02);
    EXPECT_EQ(Mean(1, "goodput_bps", 13, 20), 0);
}

TEST_F(ExactFlowTest, AWeightIsTheFlowsShareOfTheRate)
{
    nlohmann::json run = Chain(2);
    run["flows"].push_back(Exact(0, 2));
    run["flows"][1]["weight"] = 3.0;
    const auto flows = Run(run).at("flows");
    EXPECT_NEAR(flows.at(1).at("goodput_bps").get<double>() / flows.at(0).at("goodput_bps").get<double>(), 3, 0.15);
}

TEST_F(ExactFlowTest, AFlowThatWantsLittleLeavesTheRestToOthers)
{
    nlohmann::json run = Chain(2);
    const double alone_bps = Run(run).at("flows").at(0).at("rate_signal_bps");
    run["flows"].push_back(Exact(0, 2));
    run["flows"][1]["demand_bps"] = 0.2 * alone_bps;
    Run(run);
    EXPECT_NEAR(Mean(1, "goodput_bps", 10, 20), 0.2 * alone_bps * PAYLOAD_BYTES / 1500, 0.02 * alone_bps);
    EXPECT_GT(Mean(0, "rate_signal_bps", 10, 20), 0.75 * alone_bps);
}

TEST_F(ExactFlowTest, OtherTrafficTakesItsTimeFromTheBudget)
{
    nlohmann::json run = Chain(2);
    run["flows"].push_back(
        {{"kind", "cbr"}, {"src", 0}, {"dst", 2}, {"start_s", 8.0}, {"rate_bps", 200e3}, {"payload_bytes", PAYLOAD_BYTES}});
    const auto flows = Run(run).at("flows");
    EXPECT_NEAR(Mean(0, "rate_signal_bps", 3, 8) - Mean(0, "rate_signal_bps", 12, 20), 200e3, 50e3);
    EXPECT_EQ(flows.at(1).at("loss_share"), 0);
}

TEST_F(ExactFlowTest, HellosGoOnTheAirUnderM2Only)
{
    const auto broadcasts = [this](const std::string& mode)
    {
        double packets = 0;
        double air_us = 0;
        const nlohmann::json result = Run(Chain(2, mode));
        for (const auto& hop : result.at("hops"))
        {
            if (hop.at("to") == -1)
            {
                packets += hop.at("packets").get<double>();
                air_us += hop.at("packets").get<double>() * hop.at("airtime_us").get<double>();
                EXPECT_EQ(hop.at("direction"), "broadcast");
                EXPECT_GT(hop.at("airtime_us"), 500) << "at the lowest rate";
            }
        }
        // 2 % of the time, and what 10 s before have saved.
        EXPECT_LE(air_us, 0.02 * (18 + 10) * 1e6);
        return packets;
    };
    EXPECT_EQ(broadcasts("m1"), 0);
    // Three nodes, each at least every 5 s in 18 s: where nothing changes hellos get so rare.
    EXPECT_GE(broadcasts("m2"), 3 * 18 / 5);
}

TEST_F(ExactFlowTest, ASilentRouterOnTheWayIsFoundOutAndTheFlowGoesOn)
{
    nlohmann::json run = Chain(4);
    run["exact"]["silent_routers"] = {2};
    run["exact"]["packets"] = true;
    const auto flow = Run(run).at("flows").at(0);
    EXPECT_GT(flow.at("goodput_bps").get<double>(), 150e3);
    EXPECT_LT(flow.at("loss_share"), 0.1);
    bool wasRouter = false;
    for (const auto& row : ReadCsv(m_folder.Path() / "exact_packets.csv"))
    {
        wasRouter |= row.at("node") == 2;
    }
    EXPECT_FALSE(wasRouter);
    // The reported rate is an upper bound only: the sender looks for its own below it.
    EXPECT_LT(flow.at("app_rate_bps").get<double>(), 0.999 * flow.at("rate_signal_bps").get<double>());
}

TEST_F(ExactFlowTest, AnEndOfAFlowCannotBeSilent)
{
    nlohmann::json run = Chain(2);
    run["exact"]["silent_routers"] = {2};
    try
    {
        Run(run);
        FAIL() << "no error";
    }
    catch (const perhop::run::config_error& error)
    {
        EXPECT_NE(std::string(error.what()).find("exact.silent_routers: node 2"), std::string::npos) << error.what();
    }
}

TEST_F(ExactFlowTest, AudioStaysBelowTheSignalAndChangesLessThanIt)
{
    nlohmann::json run = Chain(3, "m1");
    run["duration_s"] = 40.0;
    run["flows"].push_back(Exact(0, 3));
    run["flows"][1]["application"] = "audio";
    run["flows"][1]["payload_bytes"] = 300;
    run["flows"][1]["diid_s"] = 3.0;
    // Something for the signal to move about: 30 packets at once every 2.4 s.
    run["flows"].push_back(
        {{"kind", "cbr"}, {"src", 1}, {"dst", 2}, {"start_s", 1.0}, {"rate_bps", 100e3}, {"payload_bytes", 1000}, {"burst_packets", 30}});
    const auto flow = Run(run).at("flows").at(1);
    EXPECT_LT(flow.at("rate_changes").get<double>(), 0.7 * flow.at("signal_changes").get<double>());
    EXPECT_GT(flow.at("signal_changes"), 5);
    EXPECT_LT(flow.at("allowed_rate_bps").get<double>(), flow.at("rate_signal_bps").get<double>());
    EXPECT_GT(flow.at("goodput_bps"), 0);
    int rows = 0;
    for (const auto& row : ReadCsv(m_folder.Path() / "signals.csv"))
    {
        if (row.at("flow") == 1)
        {
            ++rows;
            EXPECT_LE(row.at("app_bps"), row.at("allowed_bps"));
            EXPECT_LE(row.at("allowed_bps"), row.at("signal_bps"));
        }
    }
    EXPECT_GT(rows, 20);
}

TEST_F(ExactFlowTest, ARunIsAFunctionOfItsFileAndLookingChangesNothing)
{
    nlohmann::json run = Chain(4);
    run["duration_s"] = 5.0;
    const std::string hash = Run(run).at("trace_hash");
    EXPECT_EQ(Run(run).at("trace_hash"), hash);
    run["outputs"]["pcapng"] = true;
    run["exact"]["packets"] = true;
    EXPECT_EQ(Run(run).at("trace_hash"), hash);
    // Reports and data carry what they carry across ns-3's IP, too.
    ns3::Config::SetDefault("perhop::AirNetDevice::ForwardInShim", ns3::BooleanValue(false));
    const std::string byIp = Run(run).at("trace_hash");
    ns3::Config::SetDefault("perhop::AirNetDevice::ForwardInShim", ns3::BooleanValue(true));
    EXPECT_EQ(byIp, hash);
}

perhop::run::flow_config
Audio(double diidS)
{
    perhop::run::flow_config config;
    config.application = perhop::run::exact_application::audio;
    config.payload_bytes = 280;
    config.diid_s = diidS;
    return config;
}

TEST(ExactApplicationTest, AudioTakesTheFastestSamplingThatFits)
{
    ns3::ExactApplication audio(Audio(1));
    EXPECT_FALSE(audio.GetQualityBps());
    // 280 bytes of sound in packets of 308: 8 kHz of one byte take 70400 b/s, 11.025 kHz take 97020 b/s.
    audio.OnSignal(0, 97'019);
    audio.Settle(0);
    EXPECT_EQ(audio.GetQualityBps(), 70'400U);
    audio.OnSignal(10, 17'000);
    audio.Settle(10);
    EXPECT_EQ(audio.GetQualityBps(), 0U) << "2 kHz take 17600 b/s";
    EXPECT_EQ(audio.GetQualityChanges(), 1U);
}

TEST(ExactApplicationTest, AudioRisesOnlyWhenTheSignalHasStayedUp)
{
    ns3::ExactApplication audio(Audio(1));
    audio.OnSignal(0, 80'000);
    audio.OnSignal(500'000, 300'000);
    audio.Settle(600'000);
    EXPECT_EQ(audio.GetQualityBps(), 70'400U);
    audio.Settle(1'600'000);
    EXPECT_GT(audio.GetQualityBps(), 200'000U);
    EXPECT_EQ(audio.GetSignalChanges(), 1U);
}

TEST(ExactApplicationTest, AGreedyApplicationTakesTheSignalUpToItsDemand)
{
    perhop::run::flow_config config;
    config.demand_bps = 50'000;
    ns3::ExactApplication greedy(config);
    greedy.OnSignal(0, 20'000);
    EXPECT_EQ(greedy.GetAllowedBps(0), 20'000U);
    EXPECT_FALSE(greedy.GetQualityBps());
    EXPECT_EQ(greedy.GetDemandBps(), 50'000U);
}

} // namespace exact_flow_test
