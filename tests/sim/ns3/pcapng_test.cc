// SPDX-License-Identifier: GPL-2.0-or-later
//
// Captures as tshark reads them: every frame with its fields, none malformed, every FCS good.

#include "run_file.h"

#include "sim/air/fcs.hpp"
#include "sim/air/pcapng.hpp"
#include "sim/ns3/scenario.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace pcapng_test
{

using namespace perhop::air;
using perhop::frame_kind;

struct TsharkOutput
{
    int status;
    std::string text;
};

TsharkOutput
Shell(const std::string& command)
{
    TsharkOutput result{-1, {}};
    FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
    if (pipe == nullptr)
    {
        return result;
    }
    std::array<char, 4096> buffer;
    while (const std::size_t size = fread(buffer.data(), 1, buffer.size(), pipe))
    {
        result.text.append(buffer.data(), size);
    }
    result.status = pclose(pipe);
    return result;
}

/// One line a frame, the fields separated by tabs.
std::vector<std::string>
Tshark(const std::filesystem::path& file, const std::vector<std::string>& fields, const std::string& options = "")
{
    std::string command = "tshark -n -o wlan.check_checksum:TRUE -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE " + options + " -r " +
                          file.string() + " -T fields";
    for (const std::string& field : fields)
    {
        command += " -e " + field;
    }
    const TsharkOutput output = Shell(command);
    EXPECT_EQ(output.status, 0) << command;
    std::vector<std::string> lines;
    std::istringstream text(output.text);
    for (std::string line; std::getline(text, line);)
    {
        lines.push_back(line);
    }
    return lines;
}

std::map<std::string, int>
Count(const std::vector<std::string>& lines)
{
    std::map<std::string, int> counts;
    for (const std::string& line : lines)
    {
        ++counts[line];
    }
    return counts;
}

class PcapngTest : public testing::Test
{
  protected:
    void SetUp() override
    {
        if (Shell("tshark --version").status != 0)
        {
            GTEST_SKIP() << "tshark is not installed";
        }
    }

    static transmission Frame(frame_kind kind, uint16_t psdu_bytes)
    {
        transmission frame{};
        frame.kind = kind;
        frame.psdu_bytes = psdu_bytes;
        frame.ra = mac_address(1);
        frame.ta = kind == frame_kind::rts || kind == frame_kind::data ? mac_address(0) : 0;
        return frame;
    }

    run_file::TemporaryFolder m_folder;
};

TEST(Crc32, MeetsTheCheckValueOfItsPolynomial)
{
    const std::string text = "123456789";
    EXPECT_EQ(crc32_ieee({reinterpret_cast<const uint8_t*>(text.data()), text.size()}), 0xCBF43926U);
}

TEST(FrameBytes, RefusesALengthThatIsNotTheFrames)
{
    transmission frame{};
    frame.kind = frame_kind::cts;
    frame.psdu_bytes = perhop::rts_bytes;
    EXPECT_THROW(frame_bytes(frame, {}), std::length_error);
    frame.kind = frame_kind::data;
    frame.psdu_bytes = 100;
    EXPECT_THROW(frame_bytes(frame, std::vector<uint8_t>(71)), std::length_error);
    EXPECT_EQ(frame_bytes(frame, std::vector<uint8_t>(72)).size(), 100U);
}

TEST_F(PcapngTest, TsharkReadsEveryFieldOfEveryKindOfFrame)
{
    const std::filesystem::path file = m_folder.Path() / "kinds.pcapng";
    {
        pcapng_writer writer(file, *perhop::find_profile("dsss_short"), 2);
        transmission rts = Frame(frame_kind::rts, perhop::rts_bytes);
        rts.start = 5'000'000'000; // needs more than 32 bits
        rts.end = rts.start + 272;
        rts.duration_us = 7000;
        rts.retry = true;
        writer.write(rts);
        transmission cts = Frame(frame_kind::cts, perhop::cts_bytes);
        cts.start = rts.start + 300;
        cts.end = cts.start + 208;
        cts.duration_us = 6600;
        writer.write(cts);
        transmission data = Frame(frame_kind::data, 24 + 8 + 18 + 4);
        data.start = cts.start + 300;
        data.end = data.start + 175;
        data.rate_index = 2;
        data.duration_us = 162;
        data.sequence = 0xABC;
        data.retry = true;
        std::vector<uint8_t> msdu(8 + 18);
        msdu[0] = msdu[1] = 0xAA;
        msdu[2] = 3;
        msdu[6] = 0x88;
        msdu[7] = 0xB5;
        writer.write(data, msdu);
        transmission mac_ack = Frame(frame_kind::mac_ack, perhop::mac_ack_bytes);
        mac_ack.start = data.start + 300;
        mac_ack.end = mac_ack.start + 209;
        writer.write(mac_ack);
        EXPECT_EQ(writer.frames(), 4U);
    }
    const std::vector<std::string> fields = {"frame.time_epoch",
                                             "radiotap.mactime",
                                             "radiotap.datarate",
                                             "radiotap.flags.preamble",
                                             "wlan.fc.type_subtype",
                                             "wlan.fc.retry",
                                             "wlan.duration",
                                             "wlan.ra",
                                             "wlan.ta",
                                             "wlan.seq",
                                             "llc.type",
                                             "wlan.fcs.status"};
    const std::vector<std::string> expected = {
        "5000.000000000\t5000000272\t1\t0\t0x001b\t1\t7000\t02:00:00:00:00:02\t02:00:00:00:00:01\t\t\t1",
        "5000.000300000\t5000000508\t1\t0\t0x001c\t0\t6600\t02:00:00:00:00:02\t\t\t\t1",
        "5000.000600000\t5000000775\t5.5\t1\t0x0020\t1\t162\t02:00:00:00:00:02\t02:00:00:00:00:01\t2748\t0x88b5\t1",
        "5000.000900000\t5000001109\t1\t0\t0x001d\t0\t0\t02:00:00:00:00:02\t\t\t\t1",
    };
    EXPECT_EQ(Tshark(file, fields), expected);
}

TEST_F(PcapngTest, WiresharkReckonsTheSpacesBetweenFramesFromTheirTimes)
{
    nlohmann::json run = run_file::Chain(1, m_folder.Path());
    run["duration_s"] = 1.0;
    run["warmup_s"] = 0.0;
    run["outputs"]["pcapng"] = true;
    run["mac"]["profile"] = "dsss_short"; // preambles of two lengths
    ns3::RunScenario(perhop::run::parse_run_config(run.dump(), "test"),
                     [](double)
                     {
                         return true;
                     });
    // With Wireshark's own settings: it takes TSFT for the frame's end unless it is told otherwise.
    const std::string options = "-Y 'wlan.fc.type_subtype in {0x1c, 0x1d}'";
    const auto spaces = Count(Tshark(m_folder.Path() / "packets.pcapng", {"wlan_radio.ifs"}, options));
    // SIFS, and the microsecond in which the frame before it came here.
    ASSERT_EQ(spaces.size(), 1U);
    EXPECT_EQ(spaces.begin()->first, "11");
    EXPECT_GT(spaces.begin()->second, 100);
}

TEST_F(PcapngTest, ARateThatRadiotapCannotTellIsAbsent)
{
    const std::filesystem::path file = m_folder.Path() / "rates.pcapng";
    const std::array rates{perhop::transmit_rate{.bps = 256'000, .control_rate_index = 0, .preamble_us = 192, .bits_per_symbol = 0}};
    perhop::timing_profile slow = *perhop::find_profile("dsss_long");
    slow.rates = rates;
    {
        pcapng_writer writer(file, slow, 1);
        writer.write(Frame(frame_kind::rts, perhop::rts_bytes));
    }
    EXPECT_EQ(Tshark(file, {"radiotap.present.rate", "radiotap.datarate", "radiotap.channel.freq", "wlan.fcs.status"}),
              std::vector<std::string>{"0\t\t" + std::to_string(slow.channel_mhz) + "\t1"});
}

TEST_F(PcapngTest, EveryNodeIsAnInterfaceWithItsName)
{
    const std::filesystem::path file = m_folder.Path() / "nodes.pcapng";
    {
        pcapng_writer writer(file, *perhop::find_profile("dsss_long"), 3);
        transmission rts = Frame(frame_kind::rts, perhop::rts_bytes);
        writer.write(rts);
        transmission cts = Frame(frame_kind::cts, perhop::cts_bytes);
        cts.start = 400;
        cts.node = 2;
        writer.write(cts);
    }
    EXPECT_EQ(Tshark(file, {"frame.interface_id", "frame.interface_name", "frame.packet_flags_direction"}),
              (std::vector<std::string>{"0\tn0\t0x00000002", "2\tn2\t0x00000002"}));
}

TEST_F(PcapngTest, OfChosenNodesThereIsWhatTheySendAndWhatIsForThem)
{
    const std::filesystem::path file = m_folder.Path() / "chosen.pcapng";
    {
        pcapng_writer writer(file, *perhop::find_profile("dsss_long"), 4, {2});
        uint64_t start = 0;
        for (const auto& [from, to] : std::vector<std::pair<uint32_t, uint32_t>>{{0, 1}, {2, 3}, {3, 2}, {1, 3}, {2, 1}})
        {
            transmission rts = Frame(frame_kind::rts, perhop::rts_bytes);
            rts.start = start += 400;
            rts.node = from;
            rts.ra = mac_address(to);
            EXPECT_EQ(writer.keeps(rts), from == 2 || to == 2);
            writer.write(rts);
        }
        transmission hello = Frame(frame_kind::data, 24 + 4);
        hello.start = start + 400;
        hello.node = 1;
        hello.ra = perhop::broadcast_address;
        writer.write(hello);
        EXPECT_EQ(writer.frames(), 3U);
    }
    EXPECT_EQ(Tshark(file, {"frame.interface_name", "frame.time_epoch"}).size(), 3U);
    EXPECT_EQ(Count(Tshark(file, {"frame.interface_name"})), (std::map<std::string, int>{{"n2", 2}, {"n3", 1}}));
}

TEST_F(PcapngTest, ARunRecordsTheFramesOfItsChosenNodesAlone)
{
    nlohmann::json run = run_file::Chain(3, m_folder.Path());
    run["duration_s"] = 1.0;
    run["warmup_s"] = 0.0;
    run["outputs"]["pcapng"] = true;
    run["outputs"]["pcapng_nodes"] = {3};
    const auto always = [](double)
    {
        return true;
    };
    const nlohmann::json chosen = ns3::RunScenario(perhop::run::parse_run_config(run.dump(), "test"), always).json;
    const std::vector<std::string> lines = Tshark(m_folder.Path() / "packets.pcapng", {"frame.interface_name"});
    const std::map<std::string, int> interfaces = Count(lines);
    EXPECT_EQ(interfaces.size(), 2U) << "its own and that of its neighbour, who sends to it";
    EXPECT_GT(interfaces.at("n3"), 10);
    EXPECT_GT(interfaces.at("n2"), 10);
    EXPECT_LT(lines.size(), chosen["transmissions"].get<std::size_t>() / 2);
    run["outputs"].erase("pcapng_nodes");
    const nlohmann::json all = ns3::RunScenario(perhop::run::parse_run_config(run.dump(), "test"), always).json;
    EXPECT_EQ(all["trace_hash"], chosen["trace_hash"]);
    EXPECT_EQ(Tshark(m_folder.Path() / "packets.pcapng", {"frame.interface_name"}).size(), all["transmissions"].get<std::size_t>());
}

/// Two nodes that do not hear each other send to the one between them.
TEST_F(PcapngTest, FramesThatCollidedAreFlaggedAndSayWhere)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["duration_s"] = 2.0;
    run["warmup_s"] = 0.0;
    run["medium"]["cs_range_m"] = run["medium"]["tx_range_m"];
    run["outputs"]["pcapng"] = true;
    run["outputs"]["completions"] = true;
    ns3::RunScenario(perhop::run::parse_run_config(run.dump(), "test"),
                     [](double)
                     {
                         return true;
                     });
    const std::filesystem::path file = m_folder.Path() / "packets.pcapng";
    const auto comments = Count(Tshark(file, {"frame.comment"}, "-Y 'frame.packet_flags_crc_error == 1'"));
    ASSERT_FALSE(comments.empty());
    int collided = 0;
    for (const auto& [comment, frames] : comments)
    {
        EXPECT_TRUE(comment == "lost at n1: collided with a frame of n0" || comment == "lost at n1: collided with a frame of n2" ||
                    comment == "lost at n1: it was sending" || comment == "lost at n0: it was sending" ||
                    comment == "lost at n2: it was sending")
            << comment;
        collided += comment.find("collided") == std::string::npos ? 0 : frames;
    }
    // As many RTS were not answered as were lost, but for the one that the end of the run cut off.
    const auto sent = Count(Tshark(file, {"wlan.fc.type_subtype", "frame.packet_flags_crc_error"}));
    const auto of = [&](const std::string& line)
    {
        return sent.contains(line) ? sent.at(line) : 0;
    };
    EXPECT_GT(collided, 10);
    EXPECT_NEAR(of("0x001b\t0"), of("0x001c\t0") + of("0x001c\t1"), 1 + of("0x001b\t0") / 20);
    EXPECT_GT(of("0x001b\t1"), 0);
}

TEST_F(PcapngTest, ACaptureOfTcpHasNoBadFrameAndEveryChecksumIsGood)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["duration_s"] = 3.0;
    run["warmup_s"] = 0.0;
    run["outputs"]["pcapng"] = true;
    run["flows"][0]["policy"] = {{"cwl", "delay"}}; // windows are rewritten
    const ns3::ScenarioResult result = ns3::RunScenario(perhop::run::parse_run_config(run.dump(), "test"),
                                                        [](double)
                                                        {
                                                            return true;
                                                        });
    const auto transmissions = result.json.at("transmissions").get<int>();
    ASSERT_GT(transmissions, 1000);

    const std::filesystem::path file = m_folder.Path() / "packets.pcapng";
    EXPECT_EQ(Count(Tshark(file, {"wlan.fcs.status", "_ws.malformed"})), (std::map<std::string, int>{{"1\t", transmissions}}));

    // With the dissector of the path header tshark sees the IP packets too.
    const std::string dissector = "-X lua_script:" PERHOP_DISSECTOR;
    EXPECT_TRUE(Tshark(file, {"frame.number"}, dissector + " -Y _ws.malformed").empty());
    const std::string tcp = dissector + " -Y tcp";
    for (const auto& [status, frames] : Count(Tshark(file, {"perhop.version", "ip.checksum.status", "tcp.checksum.status"}, tcp)))
    {
        EXPECT_EQ(status, "1\t1\t1") << frames << " frames";
    }
    const auto hops = Count(Tshark(file, {"perhop.hops", "ip.ttl"}, tcp));
    EXPECT_EQ(hops.size(), 2U);
    EXPECT_GT(hops.at("1\t255"), 100);
    EXPECT_GT(hops.at("2\t254"), 100);
}

TEST_F(PcapngTest, TsharkReadsDsrBetweenIpAndTcp)
{
    for (const char* fidelity : {"core", "bytes"})
    {
        nlohmann::json run = run_file::Chain(3, m_folder.Path());
        run["routing"] = "dsr";
        run["duration_s"] = 1.0;
        run["warmup_s"] = 0.5;
        run["mac"]["path_header"] = false;
        run["mac"]["fidelity"] = fidelity;
        run["outputs"]["pcapng"] = true;
        ns3::RunScenario(perhop::run::parse_run_config(run.dump(), "test"),
                         [](double)
                         {
                             return true;
                         });
        const std::vector<std::string> fields = {"dsr.option.type", "tcp.len", "ip.checksum.status", "_ws.malformed"};
        const auto counts = Count(Tshark(m_folder.Path() / "packets.pcapng", fields, "-Y dsr"));
        SCOPED_TRACE(testing::PrintToString(counts));
        const auto frames = [&counts](const std::string& line)
        {
            const auto found = counts.find(line);
            return found == counts.end() ? 0 : found->second;
        };
        EXPECT_GT(frames("96\t1460\t1\t"), 50) << "data, read through DSR";
        EXPECT_GT(frames("96\t0\t1\t"), 50) << "TCP ACKs";
        EXPECT_GE(frames("1\t\t1\t"), 3) << "requests";
        int replies = 0;
        for (const auto& [line, count] : counts)
        {
            replies += line.starts_with("2,") ? count : 0;
            EXPECT_TRUE(line.ends_with("\t1\t")) << line;
        }
        EXPECT_GE(replies, 3);
    }
}

} // namespace pcapng_test
