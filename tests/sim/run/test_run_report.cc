// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <sstream>

#include "run_json.hpp"
#include "sim/run/run_report.hpp"

namespace perhop::run {
namespace {

completion record(tick done_us, std::uint32_t backoff_us) {
  completion result{};
  result.node = 0;
  result.ra = mac_address(1);
  result.mpdu_bytes = 1554;
  result.rate_index = 1;
  result.result = tx_result::delivered;
  result.rts_attempts = 2;
  result.data_attempts = 1;
  result.parts = {
      .queue_us = 100, .ifs_us = 50, .backoff_us = backoff_us, .control_us = 704, .data_us = 6408, .response_us = 642, .timeout_us = 222};
  result.t_done_us = done_us;
  result.t_enqueue_us = done_us - result.parts.sum_us();
  result.t_head_us = result.t_enqueue_us + 100;
  result.avg_contention_us16 = 16 * 500;
  result.avg_overhead_us16 = 16 * 900;
  result.avg_data_attempts_256 = 256 + 128;
  return result;
}

run_config config(double warmup_s) {
  auto run = two_node_run();
  run["warmup_s"] = warmup_s;
  return parse_run_config(run.dump(), "run.json");
}

TEST(run_report, a_hop_gets_the_means_of_its_completions) {
  run_report report(config(0));
  report.on_completion(record(20'000, 100));
  report.on_completion(record(40'000, 300));
  report.on_path_header_delay(30'000, 0, 1, 8000);
  const auto result = report.result(500'000, {}, {}, {flow_result{}}, false);
  const auto& hop = result.at("hops").at(0);
  EXPECT_EQ(hop.at("from"), 0);
  EXPECT_EQ(hop.at("to"), 1);
  EXPECT_EQ(hop.at("direction"), "forward");
  EXPECT_EQ(hop.at("packets"), 2);
  EXPECT_DOUBLE_EQ(hop.at("parts_us").at("backoff"), 200);
  EXPECT_DOUBLE_EQ(hop.at("service_time_us"), 50 + 200 + 704 + 6408 + 642 + 222);
  EXPECT_DOUBLE_EQ(hop.at("airtime_us"), 704 + 6408 + 642);
  EXPECT_DOUBLE_EQ(hop.at("contention_us"), 50 + 200 + 222);
  EXPECT_EQ(hop.at("retries"), 2);
  EXPECT_EQ(hop.at("drops"), 0);
  EXPECT_DOUBLE_EQ(hop.at("neighbour_table").at("mean_service_us"), 500 + 900 + 1.5 * 6408);
  EXPECT_DOUBLE_EQ(hop.at("path_header_delay_us"), 8000);
  EXPECT_EQ(result.at("completions_checked"), 2);
  EXPECT_EQ(result.at("sum_mismatches"), 0);
  EXPECT_DOUBLE_EQ(result.at("measured_s"), 0.5);
}

TEST(run_report, data_and_answers_on_one_link_are_told_apart) {
  run_report report(config(0));
  report.on_completion(record(20'000, 100), hop_traffic::data);
  report.on_completion(record(40'000, 300), hop_traffic::answer);
  report.on_path_header_delay(30'000, 0, 1, 8000, hop_traffic::answer);
  const auto hops = report.result(500'000, {}, {}, {flow_result{}}, false).at("hops");
  ASSERT_EQ(hops.size(), 2U);
  EXPECT_EQ(hops.at(0).at("direction"), "forward");
  EXPECT_EQ(hops.at(1).at("direction"), "return");
  EXPECT_DOUBLE_EQ(hops.at(0).at("parts_us").at("backoff"), 100);
  EXPECT_DOUBLE_EQ(hops.at(1).at("parts_us").at("backoff"), 300);
  EXPECT_DOUBLE_EQ(hops.at(0).at("path_header_delay_us"), 0);
  EXPECT_DOUBLE_EQ(hops.at(1).at("path_header_delay_us"), 8000);
}

TEST(run_report, what_a_flow_does_not_have_is_no_zero) {
  run_report report(config(0.03));
  const auto mac = report.result(500'000, {}, {}, {flow_result{}}, false).at("flows").at(0);
  EXPECT_FALSE(mac.contains("rtt_ms") || mac.contains("cwl_packets") || mac.contains("retransmissions")) << mac;
  EXPECT_EQ(mac.at("goodput_bps"), 0);
  const auto warming_up = report.result(20'000, {}, {}, {flow_result{}}, true).at("flows").at(0);
  EXPECT_FALSE(warming_up.contains("goodput_bps")) << "nothing was measured: " << warming_up;
}

TEST(run_report, a_microsecond_unaccounted_for_is_counted) {
  run_report report(config(0));
  completion wrong = record(20'000, 100);
  --wrong.parts.ifs_us;
  report.on_completion(wrong);
  report.on_completion(record(40'000, 100));
  EXPECT_EQ(report.completions_checked(), 2U);
  EXPECT_EQ(report.sum_mismatches(), 1U);
}

TEST(run_report, the_warm_up_is_checked_and_traced_but_not_measured) {
  run_report report(config(0.03));
  report.on_completion(record(20'000, 100));
  report.on_completion(record(40'000, 300));
  const auto result = report.result(500'000, {}, {}, {}, true);
  EXPECT_EQ(result.at("completions_checked"), 2);
  EXPECT_EQ(result.at("hops").at(0).at("packets"), 1);
  EXPECT_DOUBLE_EQ(result.at("measured_s"), 0.47);
  EXPECT_EQ(result.at("interrupted"), true);
}

TEST(run_report, completions_csv_has_as_many_values_as_names) {
  std::ostringstream csv;
  run_report report(config(0), nullptr, &csv);
  report.on_completion(record(20'000, 100));
  std::istringstream lines(csv.str());
  std::string names, values;
  ASSERT_TRUE(std::getline(lines, names) && std::getline(lines, values));
  EXPECT_EQ(std::count(names.begin(), names.end(), ','), std::count(values.begin(), values.end(), ','));
}

}  // namespace
}  // namespace perhop::run
