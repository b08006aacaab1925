// SPDX-License-Identifier: GPL-2.0-or-later
//
// run.json: the nodes that routes and captures name.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "run_json.hpp"
#include "sim/run/run_config.hpp"

namespace perhop::run {
namespace {

using nlohmann::json;

/// The message that a run.json gets; empty if it is accepted.
std::string message(const json& run) {
  try {
    parse_run_config(run.dump(), "run.json");
  } catch (const config_error& error) {
    return error.what();
  }
  return {};
}

TEST(run_config, next_hops_are_those_that_a_look_at_every_route_finds) {
  std::mt19937 random(3);
  json run = two_node_run();
  for (int node = 2; node < 20; ++node) run["nodes"].push_back({{"x_m", 200.0 * node}, {"y_m", 0}});
  for (int route = 0; route < 200; ++route) run["routes"].push_back({random() % 20, random() % 20, random() % 20});
  const run_config config = parse_run_config(run.dump(), "run.json");
  int found = 0;
  for (node_id node = 0; node < 20; ++node) {
    for (node_id destination = 0; destination < 20; ++destination) {
      std::optional<node_id> expected;
      for (const json& route : run["routes"]) {
        if (!expected && route[0] == node && route[1] == destination) expected = route[2].get<node_id>();
      }
      ASSERT_EQ(config.next_hop(node, destination), expected) << node << " to " << destination;
      found += expected.has_value();
    }
  }
  EXPECT_GT(found, 100);
  EXPECT_LT(found, 300);
}

TEST(run_config, a_route_is_named_by_its_place_in_the_file) {
  json run = two_node_run();
  run["servers"] = 1;
  run["wires"] = json::parse(R"([{"a": 0, "b": 2, "rate_bps": 1e6, "delay_us": 0, "queue_packets": 9}])");
  run["routes"] = {{1, 0, 0}, {1, 2, 2}, {0, 1, 1}};
  EXPECT_NE(message(run).find("run.json: field routes[1]: leads from node 1 to node 2"), std::string::npos) << message(run);
}

TEST(run_config, captures_may_be_of_chosen_nodes) {
  json run = two_node_run();
  EXPECT_TRUE(parse_run_config(run.dump(), "run.json").outputs.pcapng_nodes.empty());
  run["outputs"]["pcapng_nodes"] = std::vector<node_id>{1};
  EXPECT_EQ(parse_run_config(run.dump(), "run.json").outputs.pcapng_nodes, std::vector<node_id>{1});
  run["outputs"]["pcapng_nodes"] = std::vector<node_id>{1, 2};
  EXPECT_NE(message(run).find("run.json: field outputs.pcapng_nodes[1]"), std::string::npos) << message(run);
}

}  // namespace
}  // namespace perhop::run
