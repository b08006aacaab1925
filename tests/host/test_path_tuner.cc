// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a sender under the combined policy finds out about its path: trials of the pace, a path that others share. The path is a
// function: how long it takes for a packet at a pace.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "host/core/policy/congestion_window_limit_pipeline.hpp"
#include "host/core/policy/pacing_path.hpp"
#include "host/core/policy/path_tuner.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::policy {
namespace {

constexpr std::uint32_t segment_bytes = 1460;
constexpr idle_exchange idle{.tcp_ack_us = 1918, .data_us = 7758};

path_measurement chain_of(std::uint32_t hops) {
  return {
      .forward_hops = hops, .return_hops = hops, .forward_total_us = hops * 7760, .forward_max_us = 7760, .return_total_us = hops * 1920};
}

/// A flow over a path. `packet_us` says how long the path takes for a packet of a sender that is tuned so.
struct flow {
  using packet_time = std::function<double(const path_tuning&)>;

  flow(const path_measurement& measured, packet_time takes) : path(measured), packet_us(std::move(takes)) {
    tuner.on_sent(idle);
    path.tuning = tuner.tuning();
    tuner.on_tcp_ack(now, segment_bytes, segment_bytes, path);  // the first one only starts the clock
  }

  /// A TCP ACK for a whole delay window.
  void acknowledge() {
    path.tuning = tuner.tuning();
    const std::uint32_t packets = pipeline_window_of(path).tcp_ack_packets;
    now += static_cast<time_us>(packets * packet_us(path.tuning));
    tuner.on_tcp_ack(now, packets * segment_bytes, segment_bytes, path);
  }
  void acknowledge(int times) {
    for (int i = 0; i < times; ++i) acknowledge();
  }
  std::uint32_t pace() const { return tuner.tuning().pace_permille; }

  path_measurement path;
  packet_time packet_us;
  path_tuner tuner;
  time_us now = 1'000'000;
};

/// What a path alone takes for a packet: its period, or its cycle.
double alone_us(const path_measurement& path) {
  const pipeline_window window = pipeline_window_of(path);
  const double period_us = static_cast<double>(pacing_path::data_period_us(path));
  const double cycle_us = (window.tcp_ack_packets - 1) * period_us + path.forward_total_us + path.return_total_us;
  return std::max(period_us, cycle_us / (window.tcp_ack_packets + window.on_the_way_packets));
}

flow::packet_time as_paced(double us) {
  return [us](const path_tuning& tuning) { return us * tuning.pace_permille / 1000; };
}
flow::packet_time whatever_the_pace(double us) {
  return [us](const path_tuning&) { return us; };
}
/// A faster pace than S costs so much.
flow::packet_time jammed(double us, double factor) {
  return [=](const path_tuning& tuning) { return tuning.pace_permille < 1000 ? us * factor : us; };
}

TEST(pace_trials, keep_a_pace_that_raises_delivery_down_to_a_reuse_of_every_third_hop) {
  flow path(chain_of(6), as_paced(36'000));
  path.acknowledge(16 + 3 * 19);
  EXPECT_EQ(path.pace(), pace_trials::least_permille);
  std::uint32_t slower = 0;
  for (int i = 0; i < 2000; ++i) {
    path.acknowledge();
    slower += path.pace() != pace_trials::least_permille ? 1 : 0;
  }
  EXPECT_LE(slower, 2000U / 15) << "the way back is tried now and then, and not kept";
}

// TCP ACKs of 6 hops:  1..16 rest | 5 before | 9 changed | 5 after | 16 rest | ... | 64 rest | ... | 255 rest
TEST(pace_trials, are_made_of_three_parts_after_a_rest) {
  flow path(chain_of(6), whatever_the_pace(36'000));
  std::vector<std::uint32_t> changed_at;
  for (std::uint32_t tcp_ack = 1; tcp_ack <= 16 + 19 + 16 + 19 + 64 + 19; ++tcp_ack) {
    path.acknowledge();
    if (path.pace() != 1000) changed_at.push_back(tcp_ack);
  }
  std::vector<std::uint32_t> expected;
  for (const std::uint32_t begin : {16U, 16U + 19 + 16, 16U + 19 + 16 + 19 + 64}) {
    for (std::uint32_t tcp_ack = begin + 5; tcp_ack < begin + 14; ++tcp_ack) expected.push_back(tcp_ack);
  }
  EXPECT_EQ(changed_at, expected);
}

TEST(pace_trials, are_longer_where_data_flow_while_the_tcp_ack_returns) {
  flow path(chain_of(8), whatever_the_pace(32'000));
  std::uint32_t changed = 0;
  for (int i = 0; i < 16 + 35; ++i) {
    path.acknowledge();
    changed += path.pace() != 1000 ? 1 : 0;
  }
  EXPECT_EQ(changed, 17U);
}

TEST(pace_trials, end_in_the_middle_where_delivery_falls) {
  flow path(chain_of(8), jammed(32'000, 1.08));
  std::uint32_t changed = 0;
  for (int i = 0; i < 16 + 35; ++i) {
    path.acknowledge();
    changed += path.pace() != 1000 ? 1 : 0;
  }
  EXPECT_EQ(changed, 9U) << "the first TCP ACK, which is not counted, and eight";
}

TEST(pace_trials, leave_a_pace_that_pays_too_little) {
  for (const double gain : {0.98, 1.0, 1.01, 1.02}) {
    flow path(chain_of(6), jammed(36'000, 1 / gain));
    path.acknowledge(16 + 19 + 1);
    EXPECT_EQ(path.pace(), 1000U) << gain;
    path.acknowledge(64 + 19 + 1);
    EXPECT_EQ(path.pace(), 1000U) << gain;
  }
  flow path(chain_of(6), jammed(36'000, 1 / 1.03));
  path.acknowledge(16 + 19);
  EXPECT_EQ(path.pace(), 900U);
}

// TCP ACKs of 6 hops:  1..16 rest | 5 before | 9 changed | 5 after | rest
TEST(pace_trials, rest_longest_after_a_pace_that_cost_three_per_cent) {
  for (const auto& [gain, rest] : {std::pair{0.96, 255}, {0.98, 16}}) {
    flow path(chain_of(6), jammed(36'000, 1 / gain));
    path.acknowledge(16 + 19);
    int unchanged = 0;
    for (; path.pace() == 1000; ++unchanged) path.acknowledge();
    EXPECT_EQ(unchanged, rest + 5) << gain;
  }
}

// 15 hops: D/S = 3.75, w + k = 6 + 5; at nine tenths of S 4.17, 7 + 6. Half of two packets in eleven is 9 %.
TEST(pace_trials, ask_for_half_of_what_the_window_grows) {
  for (const auto& [gain, pace] : {std::pair{1.07, 1000U}, std::pair{1.11, 900U}}) {
    flow path(chain_of(15), jammed(32'000, 1 / gain));
    path.acknowledge(16 + 35);
    EXPECT_EQ(path.pace(), pace) << gain;
  }
}

TEST(pace_trials, do_not_take_a_drift_for_a_gain) {
  for (const double step : {0.995, 1.005}) {
    double us = 36'000;
    flow path(chain_of(6), [&us, step](const path_tuning&) { return us *= step; });
    path.acknowledge(16 + 19 + 1);
    EXPECT_EQ(path.pace(), 1000U) << step;
  }
}

TEST(pace_trials, go_back_when_the_path_has_changed) {
  flow path(chain_of(6), as_paced(36'000));
  path.acknowledge(16 + 3 * 19);
  ASSERT_EQ(path.pace(), pace_trials::least_permille);
  path.packet_us = [](const path_tuning& tuning) { return 36'000. + 20. * (1000 - tuning.pace_permille); };
  path.acknowledge(19 + 255 + 4 * 19);
  EXPECT_EQ(path.pace(), 1000U);
}

TEST(pace_trials, are_made_anew_on_another_path) {
  flow path(chain_of(6), as_paced(36'000));
  path.acknowledge(16 + 3 * 19);
  ASSERT_EQ(path.pace(), pace_trials::least_permille);
  path.path = chain_of(7);
  path.acknowledge();
  EXPECT_EQ(path.pace(), 1000U);
}

TEST(path_tuner, lets_a_window_leave_almost_as_a_burst_on_four_hops) {
  path_measurement measured = chain_of(4);
  flow path(measured, whatever_the_pace(alone_us(measured) * 0.64));
  for (int i = 0; i < 500; ++i) {
    path.acknowledge();
    ASSERT_EQ(path.pace(), 500U);
  }
  path.packet_us = whatever_the_pace(2 * alone_us(measured));
  path.acknowledge(64);
  EXPECT_EQ(path.pace(), 250U) << "shared";
}

TEST(path_tuner, finds_nothing_on_short_paths_and_beside_a_wire) {
  flow near(chain_of(3), as_paced(alone_us(chain_of(3))));
  near.acknowledge(500);
  EXPECT_EQ(near.tuner.tuning(), (path_tuning{.pace_permille = 1000, .tcp_ack_packets = 5, .shared = false}));
  path_measurement with_wire = chain_of(6);
  with_wire.wired_round_trip_us = 100'000;
  flow far(with_wire, as_paced(100'000));
  far.acknowledge(500);
  EXPECT_EQ(far.tuner.tuning(), (path_tuning{.pace_permille = 1000, .tcp_ack_packets = 5, .shared = false}));
}

TEST(path_share, is_seen_where_a_second_flow_takes_half) {
  for (const std::uint32_t hops : {4U, 6U, 8U, 15U}) {
    const path_measurement measured = chain_of(hops);
    const double us = alone_us(measured) * (hops == 4 ? 0.64 : 1);
    flow path(measured, whatever_the_pace(us));
    path.acknowledge(320);
    EXPECT_FALSE(path.tuner.tuning().shared) << hops;
    // The other's frames are in the delays as well.
    path.path.forward_total_us += path.path.forward_total_us / 4;
    path.packet_us = whatever_the_pace(2.5 * us);
    path.acknowledge(64);
    EXPECT_TRUE(path.tuner.tuning().shared) << hops;
    path.path.forward_total_us = measured.forward_total_us;
    path.packet_us = [&](const path_tuning&) { return alone_us(path.path) * (hops == 4 ? 0.64 : 1); };
    path.acknowledge(64);
    EXPECT_FALSE(path.tuner.tuning().shared) << hops << ": the other has gone";
  }
}

TEST(path_share, is_seen_on_one_medium_by_what_an_idle_one_would_give) {
  for (const std::uint32_t hops : {1U, 2U, 3U}) {
    const double us = alone_us(chain_of(hops));
    for (const auto& [factor, shared] : {std::pair{1.0, false}, {1 / 0.88, false}, {1 / 0.83, true}, {2.0, true}}) {
      flow path(chain_of(hops), whatever_the_pace(factor * us));
      path.path.forward_total_us = static_cast<std::uint32_t>(factor * path.path.forward_total_us);  // others are in the delays, too
      path.acknowledge(8);
      EXPECT_EQ(path.tuner.tuning().shared, shared) << hops << " hops, " << factor;
    }
    flow path(chain_of(hops), whatever_the_pace(2 * us));
    path.acknowledge(8);
    EXPECT_TRUE(path.tuner.tuning().shared) << hops;
    path.packet_us = whatever_the_pace(us);
    path.acknowledge(8);
    EXPECT_FALSE(path.tuner.tuning().shared) << hops << ": the others have gone";
  }
}

TEST(path_share, is_not_seen_before_an_exchange_is_known) {
  path_tuner tuner;
  const path_measurement measured = chain_of(3);
  for (time_us now = 0; now < 100'000'000; now += 100'000) tuner.on_tcp_ack(now, segment_bytes, segment_bytes, measured);
  EXPECT_FALSE(tuner.tuning().shared);
}

TEST(path_share, is_not_seen_in_a_slow_link_or_in_frames_sent_again) {
  path_measurement slow = chain_of(8);
  slow.forward_total_us += 40'000;
  slow.forward_max_us += 40'000;
  flow over_a_slow_link(slow, whatever_the_pace(1.05 * alone_us(slow)));
  path_measurement lossy = chain_of(15);
  lossy.forward_total_us += lossy.forward_total_us / 5;
  lossy.forward_max_us += lossy.forward_max_us / 5;
  flow over_lossy_links(lossy, whatever_the_pace(1.25 * alone_us(lossy)));
  for (int i = 0; i < 1000; ++i) {
    over_a_slow_link.acknowledge();
    over_lossy_links.acknowledge();
    ASSERT_FALSE(over_a_slow_link.tuner.tuning().shared);
    ASSERT_FALSE(over_lossy_links.tuner.tuning().shared);
  }
}

TEST(path_share, ends_all_trials) {
  path_measurement measured = chain_of(8);
  flow path(measured, [](const path_tuning& tuning) { return 90'000. * tuning.pace_permille / 1000; });
  path.acknowledge(64);
  ASSERT_TRUE(path.tuner.tuning().shared);
  for (int i = 0; i < 1000; ++i) {
    path.acknowledge();
    ASSERT_EQ(path.pace(), 1000U);
  }
}

// Whatever comes, from TCP ACKs for nothing to one after years: a pace and a window that can be used.
TEST(path_tuner_invariants, hold_for_random_deliveries) {
  std::mt19937_64 random(test_seed());
  PERHOP_TELL_SEED();
  constexpr std::uint32_t edges[] = {0, 1, 3, 4, 5, 7, 8, 255, 65'535, UINT32_MAX};
  const auto value = [&] { return random() % 2 == 0 ? edges[random() % std::size(edges)] : static_cast<std::uint32_t>(random()); };
  path_tuner tuner;
  time_us now = 0;
  path_measurement path;
  for (int i = 0; i < 300'000; ++i) {
    if (i % 50 == 0) {
      path = {value(), value(), value(), value(), value(), random() % 8 == 0 ? value() : 0};
      path.forward_hops %= 40;
      tuner.on_sent({.tcp_ack_us = value(), .data_us = value()});
    }
    now += random() % 3 == 0 ? value() : random() % 100'000;
    path.tuning = tuner.tuning();
    tuner.on_tcp_ack(now, value(), value(), path);
    const path_tuning told = tuner.tuning();
    ASSERT_GE(told.tcp_ack_packets, 2);
    ASSERT_LE(told.tcp_ack_packets, 8);
    if (path.forward_hops == 0) continue;
    ASSERT_GE(told.pace_permille, path.forward_hops == 4 ? 250 : pace_trials::least_permille);
    ASSERT_LE(told.pace_permille, 1000);
    const pipeline_window window = pipeline_window_of(path);
    ASSERT_GE(window.tcp_ack_packets, 1U);
    ASSERT_LE(window.tcp_ack_packets, 25U);
  }
}

}  // namespace
}  // namespace perhop::policy
