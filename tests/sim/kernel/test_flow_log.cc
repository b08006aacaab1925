// SPDX-License-Identifier: GPL-2.0-or-later
//
// From what flow ends say on their consoles to the figures of a run.
#include <gtest/gtest.h>

#include <sstream>

#include "sim/kernel/flow_log.hpp"

namespace perhop::kernels {
namespace {

constexpr time_ns begin = 1'000'000'000;

run::run_config two_flows() {
  run::run_config config;
  config.duration_s = 4;
  config.warmup_s = 1.5;
  config.outputs.interval_s = 1;
  config.flows.resize(2);
  for (run::flow_config& flow : config.flows) {
    flow.kind = run::flow_kind::tcp;
    flow.segment_bytes = 1000;
  }
  return config;
}

std::string sent(unsigned flow, double at_s, unsigned looks, unsigned rtt_ms) {
  std::ostringstream line;
  line << R"({"flow": )" << flow << R"(, "end": "send", "at_ns": )" << begin + static_cast<time_ns>(at_s * 1e9) << R"(, "looks": )" << looks
       << R"(, "rtt_us": )" << looks * rtt_ms * 1000 << R"(, "window_packets": )" << looks * 4500 << R"(, "retransmissions": )"
       << looks / 10 << R"(, "timeouts": )" << looks / 20 << "}\r\n";
  return line.str();
}

std::string received(unsigned flow, double at_s, unsigned bytes) {
  std::ostringstream line;
  line << R"({"flow": )" << flow << R"(, "end": "receive", "at_ns": )" << begin + static_cast<time_ns>(at_s * 1e9)
       << R"(, "received_bytes": )" << bytes << "}\r\n";
  return line.str();
}

/// What both ends of both flows say up to `until_s`: 100 kB a second, 20 looks a second; the second flow sends nothing.
std::string consoles(double until_s) {
  std::string text = "Kernel words\r\n{\"ready_ns\": 12345}\r\n";
  for (const double at_s : {0.0, 1.0, 1.5, 2.0, 3.0, 4.0}) {
    if (at_s > until_s) break;
    text += sent(0, at_s, static_cast<unsigned>(20 * at_s), 30) + received(0, at_s, static_cast<unsigned>(100'000 * at_s));
    text += sent(1, at_s, 0, 0) + received(1, at_s, 0);
  }
  return text;
}

TEST(flow_log, tells_when_flow_ends_are_to_speak) {
  const run::run_config config = two_flows();
  const flow_log log(config, begin);
  EXPECT_EQ(log.edges(), (std::vector<time_ns>{1'000'000'000, 2'000'000'000, 2'500'000'000, 3'000'000'000, 4'000'000'000, 5'000'000'000}));
}

TEST(flow_log, measures_from_the_end_of_the_warm_up) {
  const run::run_config config = two_flows();
  flow_log log(config, begin);
  log.read_console(consoles(4));
  EXPECT_EQ(log.kernels_up(), 1U);
  EXPECT_EQ(log.last_up(), 12345U);
  const run::flow_result result = log.result(0);
  EXPECT_DOUBLE_EQ(result.goodput_bps, 800'000);
  EXPECT_EQ(result.delivered_packets, 250U);
  EXPECT_DOUBLE_EQ(result.rtt_ms.value(), 30);
  EXPECT_DOUBLE_EQ(result.cwnd_packets.value(), 4.5);
  EXPECT_EQ(result.retransmissions, 5U);
  EXPECT_EQ(result.timeouts, 3U);
  EXPECT_FALSE(result.cwl_packets);
  const run::flow_result silent = log.result(1);
  EXPECT_EQ(silent.goodput_bps, 0);
  EXPECT_FALSE(silent.rtt_ms) << "a round trip that nobody looked at is not 0";
}

TEST(flow_log, measures_what_was_cut_short_up_to_where_all_have_told) {
  const run::run_config config = two_flows();
  flow_log log(config, begin);
  log.read_console(consoles(3) + sent(0, 4, 80, 30) + "{\"flow\": 0, \"end\": \"rec");
  EXPECT_EQ(log.measured_until(), begin + 3'000'000'000);
  EXPECT_DOUBLE_EQ(log.result(0).goodput_bps, 800'000);
  flow_log early(config, begin);
  early.read_console(consoles(1));
  EXPECT_EQ(early.result(0).goodput_bps, 0);
  EXPECT_FALSE(early.result(0).rtt_ms);
}

TEST(flow_log, means_limits_of_the_measured_time) {
  const run::run_config config = two_flows();
  flow_log log(config, begin);
  log.read_console(consoles(4));
  log.add_limit(0, begin + 1'000'000'000, 100);
  log.add_limit(0, begin + 2'000'000'000, 3);
  log.add_limit(0, begin + 3'000'000'000, 5);
  EXPECT_DOUBLE_EQ(log.result(0).cwl_packets.value(), 4);
}

TEST(flow_log, writes_a_row_an_interval) {
  const run::run_config config = two_flows();
  flow_log log(config, begin);
  log.read_console(consoles(4));
  std::ostringstream csv;
  log.write_intervals(csv);
  std::istringstream lines(csv.str());
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(line);
  ASSERT_EQ(rows.size(), 9U);
  EXPECT_EQ(rows[0], "flow,t_start_s,t_end_s,goodput_bps,rtt_ms,cwl_packets,cwnd_packets");
  EXPECT_EQ(rows[1], "0,0,1,800000,30,,4.5");
  EXPECT_EQ(rows[4], "0,3,4,800000,30,,4.5");
  EXPECT_EQ(rows[5], "1,0,1,0,,,");
}

TEST(flow_log, keeps_what_a_flow_end_complains_of) {
  const run::run_config config = two_flows();
  flow_log log(config, begin);
  log.read_console("{\"flow\": 1, \"problem\": \"cubik: No such file or directory\"}\n{\"problem\": \"epoll: none\"}\n");
  EXPECT_EQ(log.problems(), (std::vector<std::string>{"flow 1: cubik: No such file or directory", "epoll: none"}));
}

}  // namespace
}  // namespace perhop::kernels
