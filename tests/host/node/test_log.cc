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

}  // namespace
}  // namespace perhop::node
