// SPDX-License-Identifier: GPL-2.0-or-later
//
// Run files for tests: a chain with one TCP flow from end to end, to be changed as a test wants it.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

#include <unistd.h>

namespace run_file
{

/// A folder of its own, removed at the end.
class TemporaryFolder
{
  public:
    TemporaryFolder()
        : m_path(std::filesystem::temp_directory_path() / ("perhop-test-" + std::to_string(getpid())))
    {
        std::filesystem::create_directories(m_path);
    }

    ~TemporaryFolder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(m_path, ignored);
    }

    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::filesystem::path& Path() const
    {
        return m_path;
    }

  private:
    std::filesystem::path m_path;
};

/// 802.11b at 2 Mb/s with RTS/CTS, nodes 200 m apart, TCP NewReno from the first to the last node.
inline nlohmann::json
Chain(unsigned hops, const std::filesystem::path& directory)
{
    nlohmann::json run = {
        {"schema", 1},
        {"label", "test"},
        {"seed", 1},
        {"duration_s", 20.0},
        {"warmup_s", 2.0},
        {"mac",
         {{"profile", "dsss_long"},
          {"compat", "standard"},
          {"data_rate_index", 1},
          {"rts_threshold_bytes", 0},
          {"short_retry_limit", 7},
          {"long_retry_limit", 4},
          {"queue_packets", 50},
          {"average_shift", 4}}},
        {"medium",
         {{"reception", "ns2"},
          {"loss", "range"},
          {"tx_range_m", 250},
          {"cs_range_m", 550},
          {"capture_ratio_db", 10},
          {"propagation_us", "auto"},
          {"frame_error_rate", 0.0}}},
        {"warp", "on"},
        {"nodes", nlohmann::json::array()},
        {"routes", nlohmann::json::array()},
        {"flows",
         {{{"kind", "tcp"},
           {"src", 0},
           {"dst", hops},
           {"variant", "newreno"},
           {"sack", false},
           {"segment_bytes", 1460},
           {"start_s", 0.1},
           {"tcp_ack_every", 1},
           {"max_window_packets", 44},
           {"policy", {{"cwl", "none"}}}}}},
        {"outputs", {{"directory", directory.string()}, {"pcapng", false}, {"trace", false}, {"completions", false}, {"interval_s", 1.0}}},
    };
    for (unsigned node = 0; node <= hops; ++node)
    {
        run["nodes"].push_back({{"x_m", 200.0 * node}, {"y_m", 0.0}});
        for (unsigned destination = 0; destination <= hops; ++destination)
        {
            if (destination != node)
            {
                run["routes"].push_back({node, destination, destination > node ? node + 1 : node - 1});
            }
        }
    }
    return run;
}

} // namespace run_file
