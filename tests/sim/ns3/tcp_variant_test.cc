// SPDX-License-Identifier: GPL-2.0-or-later
//
// Each variant of TCP that an experiment file may name, over a chain of the MAC gateware.

#include "run_file.h"

#include "sim/ns3/scenario.h"
#include "sim/run/run_config.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace tcp_variant_test
{

TEST(TcpVariantTest, EveryVariantFillsAChainInItsOwnWay)
{
    run_file::TemporaryFolder folder;
    std::set<std::string> hashes;
    // Veno is NewReno as long as it takes no loss for one of the air's.
    const std::vector<std::string> variants = {"veno", "newreno", "linuxreno", "cubic", "bbr", "vegas", "westwood"};
    for (const std::string& variant : variants)
    {
        nlohmann::json run = run_file::Chain(6, folder.Path());
        run["flows"][0]["variant"] = variant;
        run["flows"][0]["sack"] = true;
        const auto result = ns3::RunScenario(perhop::run::parse_run_config(run.dump(), "test"),
                                             [](double)
                                             {
                                                 return true;
                                             })
                                .json;
        // Six hops, of which few can send at once, carry about 250 kb/s.
        EXPECT_GT(result.at("flows").at(0).at("goodput_bps"), 200e3) << variant;
        EXPECT_LT(result.at("flows").at(0).at("goodput_bps"), 300e3) << variant;
        hashes.insert(result.at("trace_hash").get<std::string>());
    }
    EXPECT_GE(hashes.size(), variants.size() - 1);
}

} // namespace tcp_variant_test
