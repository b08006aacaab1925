// SPDX-License-Identifier: GPL-2.0-or-later

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "host/core/policy/exact_router.hpp"
#include "host/core/shim/shim.hpp"
#include "tests/host/allocation_count.hpp"
#include "tests/host/exact_fixtures.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::policy {
namespace {

TEST(exact_router, the_first_packet_of_a_flow_already_carries_its_share) {
  exact_router router(config_of(exact_mode::m1));
  const std::uint64_t alone = router.on_packet(0, packet_of(1));
  const std::uint64_t both = router.on_packet(1, packet_of(2));
  EXPECT_NEAR(static_cast<double>(both), static_cast<double>(alone) / 2, 1000);
  EXPECT_EQ(router.on_packet(2, packet_of(1)), both);
}

TEST(exact_router, a_flow_that_says_it_uses_nothing_is_gone_at_once) {
  exact_router router(config_of(exact_mode::m1));
  router.on_packet(0, packet_of(1));
  router.on_packet(1, packet_of(2));
  EXPECT_EQ(router.on_packet(2, packet_of(2, 0)), 11'000'000U) << "a packet of no flow is not lowered";
  EXPECT_EQ(router.flows(), 1U);
  EXPECT_EQ(router.counters().flows_ended, 1U);
}

TEST(exact_router, eight_drops_in_a_row_leave_the_floor_and_are_told_once) {
  exact_router router(config_of(exact_mode::m1));
  router.on_packet(0, packet_of(1));
  const exact_completion drop{.averages = {.peer = 0, .avg_contention_us16 = 16'000, .avg_data_attempts_256 = 256}, .delivered = false};
  exact_completion delivered = drop;
  delivered.delivered = true;
  for (std::uint64_t now_us = 100; now_us < 800; now_us += 100) EXPECT_FALSE(router.on_completion(now_us, drop));
  router.on_completion(900, delivered);
  for (std::uint64_t now_us = 1000; now_us < 1700; now_us += 100) EXPECT_FALSE(router.on_completion(now_us, drop)) << "not in a row";
  EXPECT_GT(router.on_packet(1750, packet_of(1)), 12'000U);
  EXPECT_TRUE(router.on_completion(1800, drop));
  EXPECT_FALSE(router.on_completion(1900, drop));
  EXPECT_EQ(router.on_packet(5000, packet_of(1)), 12'000U);
  router.on_completion(6000, delivered);
  EXPECT_GT(router.on_packet(7000, packet_of(1)), 12'000U);
}

TEST(exact_router, a_standing_queue_lowers_allocations_until_it_is_gone) {
  exact_router router(config_of(exact_mode::m1));
  const std::uint64_t before = router.on_packet(0, packet_of(1));
  router.on_queue(60'000);
  router.on_deadline(*router.deadline());
  const std::uint64_t drained = router.on_packet(100'001, packet_of(1));
  EXPECT_LT(static_cast<double>(drained), 0.75 * static_cast<double>(before));
  EXPECT_GE(static_cast<double>(drained), 0.69 * static_cast<double>(before));
  router.on_queue(0);
  router.on_deadline(*router.deadline());
  EXPECT_EQ(router.on_packet(200'002, packet_of(1)), before);
}

TEST(exact_router, an_estimate_without_completions_returns_to_the_idle_mediums) {
  exact_router router(config_of(exact_mode::m1));
  const double idle_bps = router.bandwidth_bps(0, 0, 1);
  router.on_completion(0, {.averages = {.peer = 0, .avg_contention_us16 = 16 * 50'000, .avg_data_attempts_256 = 256}});
  EXPECT_LT(router.bandwidth_bps(2'000'000, 0, 1), 0.2 * idle_bps);
  EXPECT_NEAR(router.bandwidth_bps(20'000'000, 0, 1), idle_bps, 0.001 * idle_bps);
}

TEST(exact_router, m2_charges_a_flow_for_every_link_that_it_hears_of) {
  exact_router router(config_of(exact_mode::m2));
  router.set_peer_node(0, 2);
  const std::uint64_t alone = router.on_packet(0, packet_of(1));
  wire::hello message;
  const double cost = *router.cost_s_per_bit(1);
  for (std::uint32_t node = 2; node < 7; ++node) {
    message.nodes.push_back({.node = node, .hops = static_cast<std::uint8_t>(node - 2), .sequence = 1, .neighbours = {node - 1, node + 1}});
    message.nodes.back().flows.push_back({.next = 1, .flow = 1, .cost_s_per_bit = cost});
  }
  router.on_hello(1000, message);
  router.on_deadline(200'000);
  // Six links of a chain, of which any four share the air.
  EXPECT_NEAR(static_cast<double>(router.on_packet(200'001, packet_of(1))), static_cast<double>(alone) / 4,
              0.02 * static_cast<double>(alone));
}

// The source's router tells the others in one packet that it let go; they do not wait for their intervals one by one.
TEST(exact_router, a_rise_upstream_is_passed_on_by_the_packet_that_brings_it) {
  exact_router router(config_of(exact_mode::m1));
  exact_packet packet = packet_of(1, 50'000);
  packet.explicit_rate_bps = 50'000;
  router.on_packet(0, packet);
  router.on_deadline(100'000);
  packet.explicit_rate_bps = 60'000;
  EXPECT_EQ(router.on_packet(120'000, packet), 60'000U) << "20 ms into the interval";
}

TEST(exact_router, a_flow_that_still_rises_is_not_taken_for_limited) {
  const auto offered_after = [](double step) {
    exact_router router(config_of(exact_mode::m1));
    std::uint64_t offered = 0;
    double used_bps = 100'000;
    for (std::uint64_t now = 0; now < 3'000'000; now += 50'000) {
      offered = router.on_packet(now, packet_of(1, static_cast<std::uint64_t>(used_bps)));
      if (router.deadline() && *router.deadline() <= now) router.on_deadline(now);
      used_bps *= step;
    }
    return static_cast<double>(offered) / used_bps;
  };
  EXPECT_NEAR(offered_after(1), 1.05, 0.01);
  EXPECT_GT(offered_after(1.01), 2);
}

TEST(exact_router, a_flow_that_takes_another_next_hop_gets_its_share_there_at_once) {
  exact_router router(config_of(exact_mode::m1));
  exact_packet packet = packet_of(1, 20'000);
  packet.explicit_rate_bps = 20'000;
  for (std::uint64_t now = 0; now < 1'000'000; now += 50'000) {
    router.on_packet(now, packet);
    if (router.deadline() && *router.deadline() <= now) router.on_deadline(now);
  }
  packet.explicit_rate_bps = 2'000'000;
  packet.peer = 1;
  EXPECT_GT(router.on_packet(1'000'001, packet), 500'000U) << "not half a rate more in each interval";
}

TEST(exact_router, a_standing_queue_lowers_what_is_usable_and_other_flows_bring_it_back) {
  exact_router router(config_of(exact_mode::m2));
  router.set_peer_node(0, 2);
  router.on_packet(0, packet_of(1));
  const double at_first = router.usable_share();
  router.on_queue(60'000);
  for (std::uint64_t now_us = 0; now_us < 3'000'000; now_us += 20'000) {
    router.on_packet(now_us, packet_of(1));
    if (*router.deadline() <= now_us) router.on_deadline(now_us);
    router.take_hello(now_us);
  }
  EXPECT_LT(router.usable_share(), 0.99 * at_first);
  // The others are told.
  std::optional<wire::hello> hello;
  for (std::uint64_t now_us = 3'000'000; !hello; now_us += 20'000) {
    ASSERT_LT(now_us, 8'000'000U);
    router.on_packet(now_us, packet_of(1));
    if (*router.deadline() <= now_us) router.on_deadline(now_us);
    hello = router.take_hello(now_us);
  }
  EXPECT_LT(hello->nodes.front().usable, 0.99 * at_first);
  router.on_queue(0);
  router.on_packet(9'000'000, packet_of(2));
  EXPECT_EQ(router.usable_share(), at_first);
}

TEST(exact_router, only_what_others_leave_for_good_is_a_surplus) {
  // Flow 5 of node 2 shares the air with this node's flow.
  const auto got_bps = [](std::uint64_t told_bps) {
    exact_router router(config_of(exact_mode::m2));
    router.set_peer_node(0, 2);
    wire::hello message;
    message.nodes = {{.node = 2, .sequence = 1, .neighbours = {1}}};
    message.nodes[0].flows.push_back({.next = 0, .flow = 5, .cost_s_per_bit = 6.4e-7, .rate_limit_bps = told_bps});
    std::uint64_t bps = 0;
    for (std::uint64_t now_us = 0; now_us < 2'000'000; now_us += 50'000) {
      ++message.nodes[0].sequence;
      router.on_hello(now_us, message);
      bps = router.on_packet(now_us, packet_of(1));
      if (*router.deadline() <= now_us) router.on_deadline(now_us);
    }
    return static_cast<double>(bps);
  };
  const double share_bps = got_bps(wire::unlimited_rate_bps);
  const auto part = [&](double of_share) { return static_cast<std::uint64_t>(of_share * share_bps); };
  EXPECT_EQ(got_bps(part(0.92)), share_bps) << "its share where a tenth less is usable, or a moment ago";
  EXPECT_GT(got_bps(part(0.5)), 1.3 * share_bps) << "it does not want more";
}

TEST(exact_router, the_least_usable_share_that_is_told_holds_for_all_around) {
  exact_router router(config_of(exact_mode::m2));
  router.set_peer_node(0, 2);
  const auto before = static_cast<double>(router.on_packet(0, packet_of(1)));
  wire::hello message;
  message.nodes = {{.node = 2, .sequence = 1, .usable = 0.45, .neighbours = {1}}};
  router.on_hello(1000, message);
  router.on_deadline(200'000);
  EXPECT_NEAR(static_cast<double>(router.on_packet(200'001, packet_of(1))) / before, 0.45 / router.usable_share(), 0.01);
}

TEST(exact_router, hostile_packets_and_hellos_stay_bounded) {
  PERHOP_TELL_SEED();
  std::mt19937_64 random(test_seed());
  exact_router_config config = config_of(exact_mode::m2);
  config.max_flows = 32;
  exact_router router(config);
  std::uint64_t now = 0;
  std::size_t most_nodes = 0;
  for (int step = 0; step < 4'000; ++step) {
    now += random() % 50'000;
    exact_packet packet = packet_of(random() % 64, random() >> (random() % 64));
    packet.peer = static_cast<std::uint8_t>(random());
    packet.rate_index = static_cast<std::uint8_t>(random());
    packet.ip_bytes = static_cast<std::uint32_t>(random() % 3 == 0 ? 0 : random() % 2000);
    packet.mpdu_bytes = static_cast<std::uint32_t>(random() % 4096);
    packet.explicit_rate_bps = random() >> (random() % 64);
    packet.weight = random() % 5 == 0 ? 0 : 1;
    ASSERT_LE(router.on_packet(now, packet), packet.explicit_rate_bps);
    if (random() % 20 == 0) {
      wire::hello message;
      for (std::uint64_t node = 0; node <= random() % 6; ++node) {
        wire::hello_node told{.node = static_cast<std::uint32_t>(random() % 400),
                              .hops = static_cast<std::uint8_t>(node),
                              .sequence = static_cast<std::uint16_t>(random()),
                              .busy = static_cast<double>(random() % 3)};
        told.neighbours = {static_cast<std::uint32_t>(random() % 400), static_cast<std::uint32_t>(random() % 400)};
        told.flows.push_back({.next = static_cast<std::uint8_t>(random() % 2),
                              .flow = static_cast<std::uint32_t>(random() % 64),
                              .cost_s_per_bit = random() % 4 == 0 ? 0 : 1e-6,
                              .rate_limit_bps = random() >> (random() % 64)});
        message.nodes.push_back(told);
      }
      router.on_hello(now, message);
    }
    if (router.deadline() && *router.deadline() <= now) router.on_deadline(now);
    router.take_hello(now);
    ASSERT_LE(router.load(), config.eta * (1 + 1e-9));
    ASSERT_LE(router.flows(), 32U);
    most_nodes = std::max(most_nodes, router.neighbourhood().nodes());
  }
  EXPECT_GT(router.counters().unknown_peer, 0U);
  EXPECT_EQ(most_nodes, config.neighbourhood.max_nodes) << "400 are told of, and this many are remembered";
}

TEST(exact_router, a_packet_of_a_known_flow_takes_no_memory) {
  exact_router router(config_of(exact_mode::m1));
  for (std::uint64_t flow = 1; flow <= 100; ++flow) router.on_packet(flow, packet_of(flow));
  const std::uint64_t before = allocation_count();
  for (std::uint64_t i = 0; i < 10'000; ++i) router.on_packet(1000 + i, packet_of(1 + i % 100));
  EXPECT_EQ(allocation_count(), before);
}

TEST(exact_in_the_shim, lowers_the_rate_of_exact_packets_and_of_no_others) {
  shim::shim_config config{.profile = find_profile("dsss_long")};
  config.exact.emplace().mode = exact_mode::m1;
  shim::shim node(config);
  const shim::next_hop hop{.rate_index = 1, .mpdu_bytes = 1559};
  shim::ip_packet_view view{.flow = {.source = {}, .destination = {}, .source_port = 1, .protocol = shim::ip_protocol_udp},
                            .ip_bytes = 1500};
  EXPECT_EQ(node.on_originate(0, view, hop, 0).explicit_rate_bps, wire::unlimited_rate_bps);
  view.exact = {.wanted_rate_bps = 5'000'000, .current_rate_bps = 5'000'000, .follows = true};
  const wire::path_header header = node.on_originate(1, view, hop, 0);
  EXPECT_TRUE(header.exact_follows);
  EXPECT_LT(header.explicit_rate_bps, 1'500'000U);
  EXPECT_GT(header.explicit_rate_bps, 1'200'000U);
  EXPECT_EQ(*wire::decode(wire::encode(header)), header) << "values are those of the air";
  EXPECT_TRUE(node.next_deadline());
}

}  // namespace
}  // namespace perhop::policy
