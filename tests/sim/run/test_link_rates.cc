// SPDX-License-Identifier: GPL-2.0-or-later
//
// Links with a data rate of their own: what a packet costs there, and what its path header says that it will cost.
#include <gtest/gtest.h>

#include <algorithm>

#include "host/core/wire/path_header.hpp"
#include "run_json.hpp"
#include "sim/air/air.hpp"
#include "sim/run/mac_traffic.hpp"
#include "sim/run/run_config.hpp"
#include "sim/run/run_report.hpp"

namespace perhop::run {
namespace {

using nlohmann::json;

json result_of(const json& run) {
  const run_config config = parse_run_config(run.dump(), "run.json");
  run_report report(config, nullptr, nullptr, nullptr);
  mac_traffic traffic(config, report, nullptr);
  perhop::air::air medium(config.air, traffic);
  traffic.attach(medium);
  const auto end = static_cast<tick>(config.duration_s * ticks_per_second);
  for (traffic.act(0); medium.now() < end; traffic.act(medium.now())) medium.advance(std::min(end, traffic.next_event()));
  return json::parse(report.result(end, medium.counters(), {}, traffic.results(end), false).dump());
}

/// An exchange with RTS on a medium that was idle: no inter-frame space, no backoff, 1 us of propagation behind each frame.
double idle_exchange_us(std::uint32_t ip_bytes, unsigned rate_index) {
  const timing_profile& profile = *find_profile("dsss_long");
  const std::uint32_t mpdu_bytes = mac_header_bytes + llc_snap_bytes + path_header_bytes + ip_bytes + fcs_bytes;
  return airtime_us(profile, 0, rts_bytes) + airtime_us(profile, 0, cts_bytes) + airtime_us(profile, rate_index, mpdu_bytes) +
         airtime_us(profile, 0, mac_ack_bytes) + 3 * profile.sifs_us + 4;
}

TEST(link_rates, each_link_has_the_service_time_and_the_estimate_of_its_own_rate) {
  json run = two_node_run();
  run["nodes"].push_back({{"x_m", 500}, {"y_m", 0}});
  run["links"] = json::parse(R"([{"from": 1, "to": 2, "data_rate_index": 0}, {"from": 0, "to": 1, "data_rate_index": 2}])");
  run["duration_s"] = 60.0;
  run["flows"] = json::array();
  // One after another, so few packets that each finds the medium idle.
  const auto flow = [&run](int from, int to, double start_s) {
    run["flows"].push_back({{"kind", "mac_poisson"},
                            {"src", from},
                            {"dst", to},
                            {"ip_bytes", 1500},
                            {"path_header", true},
                            {"rate_packets_per_s", 0.4},
                            {"start_s", start_s},
                            {"stop_s", start_s + 19}});
  };
  flow(0, 1, 0);
  flow(1, 2, 20);
  flow(2, 1, 40);
  const json hops = result_of(run).at("hops");
  ASSERT_EQ(hops.size(), 3U);
  const unsigned rates[] = {2, 0, 1};  // the last one is the MAC's
  for (std::size_t hop = 0; hop < hops.size(); ++hop) {
    EXPECT_GT(hops[hop].at("packets"), 4);
    EXPECT_EQ(hops[hop].at("service_time_us"), idle_exchange_us(1500, rates[hop]));
    EXPECT_EQ(hops[hop].at("path_header_delay_us"),
              wire::quantise_delay_us(static_cast<std::uint32_t>(idle_exchange_us(1500, rates[hop]))));
  }
}

}  // namespace
}  // namespace perhop::run
