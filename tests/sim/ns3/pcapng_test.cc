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
        pcapng_writer writer(file, *perhop::find_profile("dsss_short"));
        transmission rts = Frame(frame_kind::rts, perhop::rts_bytes);
        rts.start = 5'000'000'000; // needs more than 32 bits
        rts.duration_us = 7000;
        rts.retry = true;
        writer.write(rts);
        transmission cts = Frame(frame_kind::cts, perhop::cts_bytes);
        cts.start = rts.start + 300;
        cts.duration_us = 6600;
        writer.write(cts);
        transmission data = Frame(frame_kind::data, 24 + 8 + 18 + 4);
        data.start = cts.start + 300;
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
        "5000.000000000\t5000000000\t1\t1\t0x001b\t1\t7000\t02:00:00:00:00:02\t02:00:00:00:00:01\t\t\t1",
        "5000.000300000\t5000000300\t1\t1\t0x001c\t0\t6600\t02:00:00:00:00:02\t\t\t\t1",
        "5000.000600000\t5000000600\t5.5\t1\t0x0020\t1\t162\t02:00:00:00:00:02\t02:00:00:00:00:01\t2748\t0x88b5\t1",
        "5000.000900000\t5000000900\t1\t1\t0x001d\t0\t0\t02:00:00:00:00:02\t\t\t\t1",
    };
    EXPECT_EQ(Tshark(file, fields), expected);
}

TEST_F(PcapngTest, ACaptureOfTcpHasNoBadFrameAndEveryChecksumIsGood)
{
    nlohmann::json run = run_file::Chain(2, m_folder.Path());
    run["duration_s"] = 3.0;
    run["warmup_s"] = 0.0;
    run["outputs"]["pcapng"] = true;
    run["flows"][0]["policy"] = {{"cwl", "delay"}}; // windows are rewritten
    const ns3::ScenarioResult result = ns3::RunScenario(parse_run_config(run.dump(), "test"),
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

} // namespace pcapng_test
