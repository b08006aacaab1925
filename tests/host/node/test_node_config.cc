// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/node_config.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "host/node/json_fields.hpp"

namespace perhop::node {
namespace {

using nlohmann::json;

json least() { return {{"driver", {{"kind", "air"}, {"socket", "/run/air.sock"}, {"node", 3}}}}; }

std::string refusal(const json& config) {
  try {
    parse_node_config(config.dump());
  } catch (const config_error& error) {
    return error.what();
  }
  return "";
}

TEST(json_fields, a_number_that_no_int_holds_is_refused_and_not_taken_for_another_one) {
  const auto read_level = [](const json& value) { return read_integer({{"level_dbm", value}}, "level_dbm", -70, -128, 127); };
  EXPECT_EQ(read_integer(json::object(), "level_dbm", -70, -128, 127), -70);
  for (const int level_dbm : {-128, 0, 127}) EXPECT_EQ(read_level(level_dbm), level_dbm);
  for (const json& wrong :
       {json(-129), json(128), json(0.5), json(1e300), json(-1e300), json(4294967296), json(UINT64_MAX), json(INT64_MIN), json("1")}) {
    EXPECT_THROW(read_level(wrong), config_error) << wrong;
  }
}

TEST(node_config, the_least_there_can_be) {
  const node_config config = parse_node_config(least().dump());
  EXPECT_EQ(config.interface, "radio0");
  EXPECT_EQ(config.log, log_format::text);
  EXPECT_EQ(config.driver.kind, "air");
  EXPECT_EQ(config.driver.given.count("node"), 3U);
  EXPECT_FALSE(config.driver.faults || config.driver.capture);
}

TEST(node_config, a_virtual_radio_is_so_many_times_slower) {
  json object = least();
  EXPECT_EQ(parse_node_config(object.dump()).slow_down, 1U);
  object["slow_down"] = 300;
  EXPECT_EQ(parse_node_config(object.dump()).slow_down, 300U);
  for (const json& wrong : {json(0), json(10'001), json(1.5), json("2")}) {
    object["slow_down"] = wrong;
    EXPECT_NE(refusal(object).find("slow_down"), std::string::npos) << wrong;
  }
}

TEST(node_config, swan_is_there_when_it_is_named) {
  json object = least();
  EXPECT_FALSE(parse_node_config(object.dump()).swan);
  object["swan"] = {{"increase_bps", 9000}};
  const node_config config = parse_node_config(object.dump());
  EXPECT_EQ(config.swan->increase_bps, 9000U);
  EXPECT_EQ(config.swan->period_us, policy::swan_settings{}.period_us);
  object["swan"] = {{"rate_bps", 9000}};
  EXPECT_NE(refusal(object).find("rate_bps"), std::string::npos);
}

TEST(node_config, a_loopback_in_a_capture_behind_faults) {
  json object = least();
  object["log"] = "json";
  object["driver"] = {{"kind", "loopback"},
                      {"socket", "/run/a"},
                      {"peer", "/run/b"},
                      {"mac", "02:00:00:00:00:0a"},
                      {"faults", {{"seed", 9}, {"drop", 0.5}, {"delay_us", 77}}},
                      {"capture", {{"file", "/run/x"}, {"most_bytes", 5}}}};
  const node_config config = parse_node_config(object.dump());
  EXPECT_EQ(config.driver.kind, "loopback");
  EXPECT_EQ(config.driver.given.count("mac"), 0x02'0000'0000'0aU);
  EXPECT_EQ(config.driver.given.text("profile"), "dsss_long");
  EXPECT_EQ(config.driver.faults->seed, 9U);
  EXPECT_EQ(config.driver.faults->drop, 0.5);
  EXPECT_EQ(config.driver.faults->delay_us, 77U);
  EXPECT_EQ(config.driver.capture->most_bytes, 5U);
  EXPECT_EQ(config.log, log_format::json);
}

TEST(node_config, tcp_is_left_alone_unless_it_is_to_tell_the_window) {
  json object = least();
  EXPECT_EQ(parse_node_config(object.dump()).tell_window, shim::window_telling::path_header);
  object["tell_window"] = "option";
  EXPECT_EQ(parse_node_config(object.dump()).tell_window, shim::window_telling::option);
  object["tell_window"] = "window_field";
  EXPECT_EQ(parse_node_config(object.dump()).tell_window, shim::window_telling::window_field);
}

TEST(node_config, every_error_names_its_field) {
  const auto with = [](const std::function<void(json&)>& change) {
    json object = least();
    change(object);
    return refusal(object);
  };
  EXPECT_EQ(with([](json& o) { o.erase("driver"); }), "driver: must be an object {...}");
  EXPECT_EQ(with([](json& o) { o["driver"]["kind"] = "wifi"; }), "kind: is 'wifi'; one of air, loopback, rfnoc");
  EXPECT_EQ(with([](json& o) { o["driver"].erase("socket"); }), "socket: is missing; give the path of a socket");
  EXPECT_EQ(with([](json& o) { o["driver"]["socket"] = std::string(200, 'x'); }), "socket: is longer than 107 bytes");
  EXPECT_EQ(with([](json& o) { o["driver"]["peer"] = "/x"; }), "driver.peer: unknown field");
  EXPECT_EQ(with([](json& o) { o["driver"]["faults"] = {{"drop", 1.5}}; }), "drop: is 1.5; give 0 to 1");
  EXPECT_EQ(with([](json& o) { o["driver"]["faults"] = {{"loss", 1}}; }), "driver.faults.loss: unknown field");
  EXPECT_EQ(with([](json& o) { o["driver"]["capture"] = json::object(); }), "driver.capture.file: is missing");
  EXPECT_EQ(with([](json& o) { o["log"] = "xml"; }), "log: is 'xml'; one of text, json");
  EXPECT_EQ(with([](json& o) { o["tell_window"] = "x"; }), "tell_window: is 'x'; one of path_header, option, window_field");
  EXPECT_EQ(with([](json& o) { o["mtu_bytes"] = 9000; }), "mtu_bytes: is 9000; give a whole number from 576 to 2278");
  EXPECT_EQ(with([](json& o) { o["neighbours"] = {{{"address", "10.0.0.1"}, {"mac", "2:0"}}}; }),
            "'2:0' is no MAC address; write 02:00:00:00:00:01");
  const auto rated = [](const char* address, int rate) {
    return json{{"address", address}, {"mac", "02:00:00:00:00:02"}, {"data_rate_index", rate}};
  };
  EXPECT_EQ(with([&](json& o) { o["neighbours"] = json::array({rated("10.0.0.2", 8)}); }),
            "data_rate_index: is 8; give a whole number from 0 to 7");
  EXPECT_EQ(with([&](json& o) { o["neighbours"] = {rated("10.0.0.2", 0), rated("fd00::2", 1)}; }),
            "neighbours.data_rate_index: differs between two addresses of one MAC; give both the same");
  EXPECT_EQ(with([&](json& o) { o["neighbours"] = {rated("10.0.0.2", 0), rated("fd00::2", 0)}; }), "");
  EXPECT_EQ(with([](json& o) { o["nodes"] = 1; }), "configuration.nodes: unknown field");
}

class policy_file_test : public testing::Test {
protected:
  policy_file_test() : file_(std::filesystem::path(testing::TempDir()) / ("policy-" + std::to_string(getpid()) + ".json")) {}
  ~policy_file_test() override { std::filesystem::remove(file_); }

  /// A configuration that reads this text as its file.
  json with(const std::string& text) const {
    std::ofstream(file_) << text;
    json object = least();
    object["policy_file"] = file_.string();
    return object;
  }

  std::filesystem::path file_;
};

TEST_F(policy_file_test, the_policy_of_a_file_is_the_policy) {
  const node_config config = parse_node_config(with(R"({"label": "cwl 3", "policy": {"cwl": "fixed", "cwl_packets": 3}})").dump());
  EXPECT_EQ(config.policy.cwl.kind, policy::cwl_kind::fixed);
  EXPECT_EQ(config.policy.cwl.fixed_packets, 3U);
  EXPECT_EQ(json::parse(config.policy_json), json::parse(R"({"cwl": "fixed", "cwl_packets": 3})"));
}

TEST_F(policy_file_test, what_is_wrong_with_it_is_said_with_its_name) {
  EXPECT_NE(refusal(with("{")).find(file_.string() + ": is no valid JSON"), std::string::npos);
  EXPECT_NE(refusal(with(R"({"label": "x"})")).find("policy: is missing"), std::string::npos);
  EXPECT_NE(refusal(with(R"({"policy": {"cwl": "wide"}})")).find("cwl: is 'wide'"), std::string::npos);
  json both = with(R"({"policy": {}})");
  both["policy"] = json::object();
  EXPECT_NE(refusal(both).find("policy_file"), std::string::npos);
  std::filesystem::remove(file_);
  both.erase("policy");
  EXPECT_NE(refusal(both).find("cannot be read"), std::string::npos);
}

TEST(node_config, a_policy_that_is_refused_leaves_the_one_before) {
  node_config config = parse_node_config(least().dump());
  set_policy(json{{"cwl", "delay"}}, config);
  EXPECT_THROW(set_policy(json{{"cwl", "fixed"}}, config), config_error);
  EXPECT_EQ(config.policy.cwl.kind, policy::cwl_kind::delay);
  EXPECT_EQ(config.policy_json, R"({"cwl":"delay"})");
}

TEST(node_config, brackets_without_end_are_refused) { EXPECT_THROW(parse_node_config(std::string(1'000'000, '[')), config_error); }

}  // namespace
}  // namespace perhop::node
