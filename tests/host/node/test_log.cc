// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/log.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace perhop::node {
namespace {

TEST(log, a_line_for_a_person_quotes_what_has_spaces) {
  EXPECT_EQ(log_line(log_format::text, 0, "mac_up", {{"address", "02:00"}, {"name", "two words"}, {"empty", ""}}),
            "perhop-node: mac_up address=02:00 name=\"two words\" empty=\"\"");
}

TEST(log, a_line_for_a_program_is_one_json_object_whatever_the_bytes) {
  const std::string line = log_line(log_format::json, 1'700'000'000'000'042, "failed", {{"error", "a\"b\n\xff"}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto object = nlohmann::json::parse(line);
  EXPECT_EQ(object.at("time"), "2023-11-14T22:13:20.000042Z");
  EXPECT_EQ(object.at("program"), "perhop-node");
  EXPECT_EQ(object.at("event"), "failed");
  EXPECT_EQ(object.at("error"), "a\"b\n\xef\xbf\xbd");
}

TEST(log, an_event_that_repeats_is_left_out_and_counted_and_others_are_not) {
  log_limiter limiter;
  const std::uint64_t begin_us = 1'000'000'000;
  for (std::uint64_t i = 0; i < log_burst; ++i) EXPECT_EQ(limiter.take("mac_down", begin_us + i), 0U);
  for (std::uint64_t i = 0; i < 500; ++i) EXPECT_EQ(limiter.take("mac_down", begin_us + 1000 + i), std::nullopt);
  EXPECT_EQ(limiter.take("mac_up", begin_us + 1000), 0U);
  EXPECT_EQ(limiter.take("mac_down", begin_us + log_interval_us), 500U);
  EXPECT_EQ(limiter.take("mac_down", begin_us + log_interval_us), std::nullopt);
}

TEST(log, a_day_of_an_event_at_50_hz_is_less_than_10000_lines) {
  log_limiter limiter;
  std::uint64_t lines = 0;
  for (std::uint64_t at_us = 0; at_us < 86'400'000'000; at_us += 20'000) lines += limiter.take("mac_problem", at_us).has_value() ? 1 : 0;
  EXPECT_LT(lines, 10'000U);
  EXPECT_GT(lines, 8'000U);
}

}  // namespace
}  // namespace perhop::node
