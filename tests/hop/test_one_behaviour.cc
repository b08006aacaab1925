// SPDX-License-Identifier: GPL-2.0-or-later
//
// The same packets, completions and times, through the hop path of three hosts: the same frames with the same headers, windows, queue
// lengths and deadlines, compared line by line after every event. Once at random, once as a simulated chain had them.
#include <gtest/gtest.h>

#include "random_sequence.hpp"
#include "recorded_sequence.hpp"
#include "tests/sim/ns3/run_file.h"
#include "three_hosts.hpp"

namespace perhop::hop_test {
namespace {

struct named_setting {
  const char* name;
  setting with;
};

std::ostream& operator<<(std::ostream& out, const named_setting& setting) { return out << setting.name; }

class at_random : public testing::TestWithParam<named_setting> {};

TEST_P(at_random, three_hosts_do_the_same) {
  constexpr unsigned events = 100'000, seed = 20261123;
  RecordProperty("seed", seed);
  three_hosts hosts(GetParam().with);
  random_sequence sequence(seed);
  while (hosts.events < events) ASSERT_NO_FATAL_FAILURE(hosts.play(sequence.next())) << "seed " << seed;
  std::printf("%s:%s\n", GetParam().name, hosts.last.c_str());
  EXPECT_GT(hosts.frames, events / 5) << "few frames left";
  if (GetParam().with.policy.cwl.kind != policy::cwl_kind::none) {
    EXPECT_GT(hosts.rewritten, 100U);
  }
}

policy::tcp_ack_config thinning(policy::tcp_ack_kind kind, policy::dca_window_rule rule = policy::dca_window_rule::hop) {
  return {.kind = kind, .rule = rule};
}

INSTANTIATE_TEST_SUITE_P(
    policies, at_random,
    testing::Values(
        named_setting{"none", {.policy = shim::no_policy}}, named_setting{"limit", {.policy = {.cwl = {.kind = policy::cwl_kind::delay}}}},
        named_setting{"thinned", {.policy = {.cwl = {.kind = policy::cwl_kind::none}, .tcp_ack = thinning(policy::tcp_ack_kind::dca)}}},
        named_setting{"paced", {.policy = {.cwl = {.kind = policy::cwl_kind::hop}, .pacing = {.kind = policy::pacing_kind::path}}}},
        named_setting{"all",
                      {.policy = {.cwl = {.kind = policy::cwl_kind::fixed, .fixed_packets = 3},
                                  .tcp_ack = thinning(policy::tcp_ack_kind::daa),
                                  .pacing = {.kind = policy::pacing_kind::adaptive}},
                       .exact = true}}),
    [](const auto& instance) { return std::string(instance.param.name); });

/// Long enough for data to be paced (pacing_path.hpp).
constexpr std::uint32_t hops = 5;

nlohmann::json chain(const std::filesystem::path& directory) {
  nlohmann::json run = run_file::Chain(hops, directory);
  run["duration_s"] = 30.0;
  return run;
}

class recorded : public testing::TestWithParam<std::uint32_t> {};

TEST_P(recorded, three_hosts_do_the_same) {
  const run_file::TemporaryFolder folder;
  nlohmann::json run = chain(folder.Path());
  run["flows"][0]["policy"] = {{"cwl", "pipeline"}, {"tcp_ack", "dca"}, {"tcp_ack_rule", "airtime"}, {"pacing", "path"}};
  const run::run_config config = run::parse_run_config(run.dump(), "the recorded run");
  three_hosts hosts({.policy = config.flows[0].policy});
  const std::uint32_t node = GetParam();
  for (const event& event : record(config, node)) ASSERT_NO_FATAL_FAILURE(hosts.play(event));
  std::printf("node %u: %zu events, %zu frames, %zu windows, %zu with something held,%s\n", node, hosts.events, hosts.frames,
              hosts.rewritten, hosts.held, hosts.last.c_str());
  EXPECT_GT(hosts.events, 1000U);
  EXPECT_EQ(hosts.held > 300, node == 0 || node == hops) << "the ends pace data and hold TCP ACKs, and nobody else";
  EXPECT_EQ(hosts.frames > hosts.events / 4, node != hops) << "few frames of the receiver, and many of the others";
}

INSTANTIATE_TEST_SUITE_P(nodes_of_a_chain, recorded, testing::Values(0, 2, hops));

TEST(recorded_exact, three_hosts_do_the_same) {
  const run_file::TemporaryFolder folder;
  nlohmann::json run = chain(folder.Path());
  run["flows"] = {{{"kind", "exact"}, {"src", 0}, {"dst", hops}, {"start_s", 0.1}, {"application", "greedy"}, {"payload_bytes", 1000}}};
  run["exact"] = {{"mode", "m1"}, {"fairness", "rate"}, {"eta", 0.9}, {"interval_ms", 100}};
  three_hosts hosts({.policy = shim::no_policy, .exact = true});
  std::size_t stamped = 0;
  for (const event& event : record(run::parse_run_config(run.dump(), "the recorded run"), 2)) {
    ASSERT_NO_FATAL_FAILURE(hosts.play(event));
    stamped += event.header.exact_follows ? 1 : 0;
  }
  std::printf("node 2: %zu events, %zu frames, %zu of EXACT,%s\n", hosts.events, hosts.frames, stamped, hosts.last.c_str());
  EXPECT_GT(stamped, 1000U);
  EXPECT_GT(hosts.frames, hosts.events / 5);
}

}  // namespace
}  // namespace perhop::hop_test
