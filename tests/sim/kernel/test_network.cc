// SPDX-License-Identifier: GPL-2.0-or-later
//
// The nodes between IP and the air, without kernels: packets in at one end, out at the other, and what is counted on the way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/core/shim/ip_packet.hpp"
#include "sim/kernel/addresses.hpp"
#include "sim/kernel/calendar.hpp"
#include "sim/kernel/network.hpp"
#include "sim/kernel/plans.hpp"

namespace perhop::kernels {
namespace {

using nlohmann::json;

constexpr time_ns begin = 1'000'000'000, millisecond = 1'000'000;

json chain(unsigned hops) {
  json run = json::parse(R"({"schema": 1, "label": "chain", "seed": 1, "duration_s": 2, "warmup_s": 0, "warp": "on",
    "mac": {"profile": "dsss_long", "compat": "standard", "data_rate_index": 1, "rts_threshold_bytes": 0, "short_retry_limit": 7,
            "long_retry_limit": 4, "queue_packets": 5, "average_shift": 4},
    "medium": {"reception": "ns2", "loss": "range", "tx_range_m": 250, "cs_range_m": 550, "capture_ratio_db": 10, "propagation_us": "auto",
               "frame_error_rate": 0, "loss_exponent": 3, "tx_power_dbm": 24.5},
    "nodes": [], "routes": [],
    "flows": [{"kind": "tcp", "src": 0, "dst": 0, "variant": "cubic", "sack": true, "segment_bytes": 1448, "tcp_ack_every": 1,
               "min_rto_ms": 200, "start_s": 0.1, "stop_s": null, "max_window_packets": 44, "policy": {"cwl": "none"}}],
    "outputs": {"directory": ".", "pcapng": false, "trace": false, "completions": false, "interval_s": 1}})");
  run["flows"][0]["dst"] = hops;
  for (unsigned node = 0; node <= hops; ++node) {
    run["nodes"].push_back({{"x_m", 200.0 * node}, {"y_m", 0.0}});
    for (unsigned to = 0; to <= hops; ++to) {
      if (to != node) run["routes"].push_back({node, to, to > node ? node + 1 : node - 1});
    }
  }
  return run;
}

/// A TCP packet of the flow, or one back.
std::vector<std::uint8_t> packet_of(const run::run_config& config, bool back, std::size_t payload_bytes, std::uint8_t ttl = 64) {
  std::vector<std::uint8_t> bytes(40 + payload_bytes);
  const auto put = [&bytes](std::size_t at, std::size_t size, std::uint32_t value) {
    for (std::size_t index = 0; index < size; ++index) bytes[at + index] = static_cast<std::uint8_t>(value >> 8 * (size - 1 - index));
  };
  const std::uint32_t src = ipv4_of(config.flows[0].src), dst = ipv4_of(config.flows[0].dst);
  put(0, 1, 0x45);
  put(2, 2, static_cast<std::uint32_t>(bytes.size()));
  put(8, 1, ttl);
  put(9, 1, 6);
  put(12, 4, back ? dst : src);
  put(16, 4, back ? src : dst);
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < 20; at += 2) sum += static_cast<std::uint32_t>(bytes[at] << 8 | bytes[at + 1]);
  put(10, 2, ~(sum % 0xFFFF) & 0xFFFF);
  put(20, 2, back ? first_sink_port : first_source_port);
  put(22, 2, back ? first_source_port : first_sink_port);
  put(32, 1, 0x50);
  put(33, 1, 0x10);
  put(34, 2, 1000);
  return bytes;
}

class network_test : public testing::Test {
protected:
  network_test() {
    std::string name = (std::filesystem::temp_directory_path() / "network-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~network_test() override { std::filesystem::remove_all(folder_); }

  network& make(const json& run) {
    config_ = run::parse_run_config(run.dump(), "test");
    report_.emplace(config_);
    time_.emplace(calendar_config{.socket_path = folder_ / "time", .kernels = 0});
    network_.emplace(config_, *report_, nullptr, begin);
    time_->add(*network_);
    for (const run::node_id node : {config_.flows[0].src, config_.flows[0].dst}) {
      network_->set_ip(node, [this, node](std::span<const std::uint8_t> packet) {
        arrived_.push_back({time_->now(), node, std::vector(packet.begin(), packet.end())});
      });
    }
    return *network_;
  }
  void send(time_ns when, run::node_id node, std::vector<std::uint8_t> packet) {
    time_->at(when, [this, when, node, bytes = std::move(packet)] { network_->send_ip(when, node, bytes); });
  }
  void pass_until(time_ns when) {
    time_->run(when, [] { return true; });
    network_->finish(when);
  }

  struct arrival {
    time_ns when;
    run::node_id node;
    std::vector<std::uint8_t> packet;
  };

  std::filesystem::path folder_;
  run::run_config config_;
  std::optional<run::run_report> report_;
  std::optional<calendar> time_;
  std::optional<network> network_;
  std::vector<arrival> arrived_;
};

TEST_F(network_test, a_packet_crosses_the_chain_and_loses_a_hop_of_its_life_at_each_relay) {
  network& net = make(chain(3));
  const auto packet = packet_of(config_, false, 100, 64);
  send(begin + 10 * millisecond, 0, packet);
  pass_until(begin + 100 * millisecond);
  ASSERT_EQ(arrived_.size(), 1U);
  EXPECT_EQ(arrived_[0].node, 3U);
  const auto read = shim::read_ip(arrived_[0].packet);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->view.ttl, 62U);
  EXPECT_EQ(read->view.tcp.payload_bytes, 100U);
  EXPECT_EQ(net.path(1).counters().forwarded, 1U);
  EXPECT_EQ(net.path(2).counters().forwarded, 1U);
  const json result = report_->result(100'000, net.medium().counters(), {}, {}, false);
  EXPECT_EQ(result.at("completions_checked"), 3);
  EXPECT_EQ(result.at("sum_mismatches"), 0);
  ASSERT_EQ(result.at("hops").size(), 3U);
  EXPECT_EQ(result.at("hops").at(0).at("direction"), "forward");
}

TEST_F(network_test, the_first_packet_over_an_idle_hop_takes_what_the_exchange_takes) {
  make(chain(1));
  send(begin + 10 * millisecond, 0, packet_of(config_, false, 100));
  pass_until(begin + 100 * millisecond);
  ASSERT_EQ(arrived_.size(), 1U);
  const timing_profile& profile = *config_.air.mac.profile;
  const auto mpdu_bytes = static_cast<std::uint16_t>(mac_header_bytes + llc_snap_bytes + path_header_bytes + 140 + fcs_bytes);
  // The medium has been idle: RTS at once; each frame is heard a microsecond later.
  const std::uint64_t exchange_us = airtime_us(profile, 0, rts_bytes) + profile.sifs_us + airtime_us(profile, 0, cts_bytes) +
                                    profile.sifs_us + airtime_us(profile, 1, mpdu_bytes) + 3;
  EXPECT_EQ(arrived_[0].when, begin + 10 * millisecond + 1000 * exchange_us);
}

TEST_F(network_test, every_packet_is_delivered_dropped_or_under_way) {
  network& net = make(chain(2));
  constexpr unsigned packets = 60;
  for (unsigned count = 0; count < packets; ++count) send(begin + count * millisecond, 0, packet_of(config_, false, 1400));
  pass_until(begin + 2000 * millisecond);
  const flow_packets& counted = net.packets_of(0);
  EXPECT_EQ(net.path(0).counters().from_ip, packets);
  EXPECT_GT(counted.queue_drops_data, 0U) << "a queue of 5";
  EXPECT_EQ(arrived_.size() + counted.queue_drops_data + counted.mac_drops_data, packets);
  EXPECT_EQ(net.path(0).counters().queue_drops + net.path(1).counters().queue_drops, counted.queue_drops_data);
}

TEST_F(network_test, a_nodes_ledger_balances_at_any_moment) {
  network& net = make(chain(2));
  constexpr unsigned packets = 60;
  for (unsigned count = 0; count < packets; ++count) send(begin + count * millisecond, 0, packet_of(config_, false, 1400));
  std::uint64_t waiting = 0;
  for (unsigned moment = 1; moment <= 20; ++moment) {
    pass_until(begin + moment * 20 * millisecond);
    for (air::node_id node = 0; node <= 2; ++node) {
      const node_ledger ledger = net.ledger_of(node);
      packet_sum came_in = ledger.from_ip, went = ledger.to_ip;
      for (const packet_sum* const sum : {&ledger.queue_drops, &ledger.waiting}) {
        went.packets += sum->packets;
        went.bytes += sum->bytes;
      }
      for (const auto& [beside, had] : ledger.neighbours) {
        came_in.packets += had.from_air.packets;
        came_in.bytes += had.from_air.bytes;
        went.packets += had.delivered.packets + had.mac_drops.packets;
        went.bytes += had.delivered.bytes + had.mac_drops.bytes;
      }
      EXPECT_EQ(went.packets, came_in.packets) << "node " << node << " after " << moment * 20 << " ms";
      EXPECT_EQ(went.bytes, came_in.bytes) << "node " << node << " after " << moment * 20 << " ms";
      EXPECT_EQ(came_in.bytes, came_in.packets * 1440);
      waiting += ledger.waiting.packets;
    }
  }
  EXPECT_GT(waiting, 0U);
  EXPECT_GT(net.ledger_of(0).queue_drops.packets, 0U);
}

TEST_F(network_test, tcp_acks_of_the_receiver_are_counted_apart) {
  network& net = make(chain(2));
  send(begin + 10 * millisecond, 2, packet_of(config_, true, 0));
  send(begin + 20 * millisecond, 2, packet_of(config_, true, 0));
  pass_until(begin + 200 * millisecond);
  EXPECT_EQ(arrived_.size(), 2U);
  EXPECT_EQ(net.packets_of(0).tcp_acks_sent, 2U) << "by the receiver; relays do not count";
  const json result = report_->result(200'000, net.medium().counters(), {}, {}, false);
  for (const json& hop : result.at("hops")) EXPECT_EQ(hop.at("direction"), "return");
}

TEST_F(network_test, nothing_happens_after_the_end_of_the_run) {
  json run = chain(1);
  run["duration_s"] = 0.01;
  network& net = make(run);
  send(begin + 9 * millisecond, 0, packet_of(config_, false, 1400));
  send(begin + 11 * millisecond, 0, packet_of(config_, false, 1400));
  pass_until(begin + 100 * millisecond);
  EXPECT_TRUE(arrived_.empty());
  EXPECT_EQ(net.medium().now(), 10'000U);
}

TEST_F(network_test, a_new_route_and_a_dead_link_hold_from_their_moment_on) {
  json run = chain(1);
  run["nodes"].push_back({{"x_m", 100.0}, {"y_m", 50.0}});
  for (const auto& route : json::parse("[[0,2,2],[2,0,0],[1,2,2],[2,1,1]]")) run["routes"].push_back(route);
  run["events"] = json::parse(
      R"([{"kind": "link_down", "at_s": 0.05, "a": 0, "b": 1}, {"kind": "route", "at_s": 0.5, "path": [0, 2, 1], "both_ways": true}])");
  network& net = make(run);
  for (const unsigned at_ms : {10, 100, 600}) send(begin + at_ms * millisecond, 0, packet_of(config_, false, 100));
  pass_until(begin + 1000 * millisecond);
  EXPECT_EQ(arrived_.size(), 2U);
  EXPECT_EQ(net.packets_of(0).mac_drops_data, 1U);
  EXPECT_EQ(net.path(2).counters().forwarded, 1U);
}

// ---- EXACT

TEST_F(network_test, a_flow_that_exact_paces_is_told_what_its_path_allows) {
  json run = chain(2);
  run["flows"][0]["policy"]["pacing"] = "exact";
  network& net = make(run);
  std::vector<std::uint64_t> told;
  net.set_rates([&told](std::size_t flow, std::uint64_t rate_bps) {
    EXPECT_EQ(flow, 0U);
    told.push_back(rate_bps);
  });
  EXPECT_FALSE(net.allowed_rate_bps(0));
  for (unsigned packet = 0; packet < 40; ++packet) {
    const time_ns at = begin + (100 + 20 * packet) * millisecond;
    send(at, 0, packet_of(config_, false, 1448));
    send(at + 15 * millisecond, 2, packet_of(config_, true, 0));
  }
  pass_until(begin + 1500 * millisecond);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(net.allowed_rate_bps(0), told.back());
  // Two hops that share the air, 90 % of it given out; TCP ACKs take theirs first.
  EXPECT_GT(told.back(), 400'000U);
  EXPECT_LT(told.back(), 660'000U);
  EXPECT_EQ(std::ranges::count_if(arrived_, [](const auto& one) { return one.node == 2; }), 40) << "IP gets data alone, no report";
  EXPECT_EQ(std::ranges::count_if(arrived_, [](const auto& one) { return one.node == 0; }), 40);
}

// ---- What a run may say

std::string refusal(const json& run) {
  try {
    check(run::parse_run_config(run.dump(), "test"));
  } catch (const run::config_error& error) {
    return error.what();
  }
  return "";
}

TEST(kernel_run, refuses_what_no_kernel_has_and_names_field_and_remedy) {
  EXPECT_EQ(refusal(chain(2)), "");
  json run = chain(2);
  run["flows"][0]["variant"] = "bsd";
  EXPECT_NE(refusal(run).find("field flows[0].variant: Linux has no TCP 'bsd'; one of newreno"), std::string::npos) << refusal(run);
  run = chain(2);
  run["flows"][0]["transfer_bytes"] = 1000;
  EXPECT_NE(refusal(run).find("field flows[0].transfer_bytes"), std::string::npos) << refusal(run);
  run = chain(2);
  run["flows"].push_back(run["flows"][0]);
  run["flows"][1]["policy"] = {{"cwl", "fixed"}, {"cwl_packets", 3}};
  EXPECT_NE(refusal(run).find("field flows[1].policy"), std::string::npos) << refusal(run);
  run = chain(2);
  run["routing"] = "aodv";
  EXPECT_NE(refusal(run).find("field routing"), std::string::npos) << refusal(run);
}

TEST(kernel_run, tells_each_kernel_of_its_flows_alone) {
  json run = chain(2);
  run["flows"][0]["stop_s"] = 1.5;
  const auto plans = make_plans(run::parse_run_config(run.dump(), "test"), {begin_ns});
  ASSERT_EQ(plans.size(), 2U) << "the relay has no kernel";
  EXPECT_EQ(plans.at(0),
            "address 10.0.0.1\nsysctl net/ipv4/tcp_sack 1\nedge 1000000000\nmeasure_from 1000000000\n"
            "route 10.0.0.3 1 63712 200 1\nsend 0 49152 10.0.0.3 60000 1100000000 2500000000 1460 cubic\n");
  EXPECT_EQ(plans.at(2),
            "address 10.0.0.3\nsysctl net/ipv4/tcp_sack 1\nedge 1000000000\nmeasure_from 1000000000\n"
            "route 10.0.0.1 1 63712 200 1\nreceive 0 60000 1460 63712 cubic\n");
}

TEST(kernel_run, a_policy_that_marks_has_ecn_in_the_kernels) {
  json run = chain(1);
  run["flows"][0]["policy"]["ecn"] = "service";
  run["flows"][0]["policy"]["ecn_target_ms"] = 20;
  for (const auto& [node, plan] : make_plans(run::parse_run_config(run.dump(), "test"), {})) {
    EXPECT_NE(plan.find("sysctl net/ipv4/tcp_ecn 1\n"), std::string::npos) << "node " << node;
  }
}

TEST(kernel_run, flows_that_exact_paces_are_told_rates) {
  json run = chain(1);
  run["flows"][0]["policy"]["pacing"] = "exact";
  for (const auto& [node, plan] : make_plans(run::parse_run_config(run.dump(), "test"), {})) {
    EXPECT_NE(plan.find("rates 49151\n"), std::string::npos) << "node " << node;
  }
}

TEST(kernel_run, a_program_has_a_kernel_that_knows_the_others) {
  json run = chain(2);
  run["programs"] = {{{"node", 1}, {"start_s", 0.25}, {"command", "go there; now"}, {"initramfs", "/a.cpio"}, {"traced", true}}};
  const auto plans = make_plans(run::parse_run_config(run.dump(), "test"), {});
  ASSERT_EQ(plans.size(), 3U);
  EXPECT_EQ(plans.at(1),
            "address 10.0.0.2\nsysctl net/ipv4/tcp_sack 1\nmeasure_from 1000000000\nneighbour 10.0.0.1\nneighbour 10.0.0.3\n"
            "program 1250000000 1 go there; now\n");
  EXPECT_NE(plans.at(0).find("neighbour 10.0.0.2\nroute 10.0.0.3"), std::string::npos) << plans.at(0);
}

}  // namespace
}  // namespace perhop::kernels
