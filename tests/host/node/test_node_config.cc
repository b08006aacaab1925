// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/node_config.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

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

TEST(node_config, the_least_there_can_be) {
  const node_config config = parse_node_config(least().dump());
  EXPECT_EQ(config.interface, "radio0");
  EXPECT_EQ(config.log, log_format::text);
  ASSERT_TRUE(std::holds_alternative<air_config>(config.driver.mac));
  EXPECT_EQ(std::get<air_config>(config.driver.mac).node, 3);
  EXPECT_FALSE(config.driver.faults || config.driver.capture);
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
  const auto& loopback = std::get<drivers::loopback_config>(config.driver.mac);
  EXPECT_EQ(loopback.mac.address, 0x02'0000'0000'0aU);
  EXPECT_EQ(loopback.mac.profile->name, "dsss_long");
  EXPECT_EQ(config.driver.faults->seed, 9U);
  EXPECT_EQ(config.driver.faults->drop, 0.5);
  EXPECT_EQ(config.driver.faults->delay_us, 77U);
  EXPECT_EQ(config.driver.capture->most_bytes, 5U);
  EXPECT_EQ(config.log, log_format::json);
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
  EXPECT_EQ(with([](json& o) { o["mtu_bytes"] = 9000; }), "mtu_bytes: is 9000; give a whole number from 576 to 2278");
  EXPECT_EQ(with([](json& o) { o["neighbours"] = {{{"address", "10.0.0.1"}, {"mac", "2:0"}}}; }),
            "'2:0' is no MAC address; write 02:00:00:00:00:01");
  EXPECT_EQ(with([](json& o) { o["nodes"] = 1; }), "configuration.nodes: unknown field");
}

}  // namespace
}  // namespace perhop::node
