// SPDX-License-Identifier: GPL-2.0-or-later

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <numeric>
#include <random>
#include <vector>

#include "host/core/policy/pacing.hpp"
#include "tests/host/allocation_count.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::policy {
namespace {

/// A chain of equal hops: data take 7.68 ms each, TCP ACKs 1.84 ms.
path_measurement chain_of(std::uint32_t hops) {
  return {
      .forward_hops = hops, .return_hops = hops, .forward_total_us = hops * 7680, .forward_max_us = 7680, .return_total_us = hops * 1840};
}

TEST(no_pacing, releases_at_once) {
  pacer none;
  none.on_path(chain_of(5));
  none.on_rtt(100'000);
  none.on_window(4);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(none.release_time(1000, 1460), 1000U);
  EXPECT_EQ(none.earliest(1000), 1000U);
}

// B-21: a window spread over the smoothed round trip.
TEST(window_pacing, spreads_the_window_over_the_round_trip) {
  pacer paced({.kind = pacing_kind::window});
  EXPECT_EQ(paced.release_time(0, 1460), 0U) << "nothing known";
  EXPECT_EQ(paced.release_time(0, 1460), 0U);
  paced.on_rtt(80'000);
  paced.on_window(8);
  for (time_us i = 0; i < 8; ++i) EXPECT_EQ(paced.release_time(1000, 1460), 1000 + i * 10'000);
  paced.on_window(4);
  EXPECT_EQ(paced.release_time(1000, 1460), 81'000U) << "what was promised stays";
  EXPECT_EQ(paced.release_time(1000, 1460), 101'000U);
  EXPECT_EQ(paced.release_time(900'000, 1460), 900'000U) << "a pause saves up nothing";
  EXPECT_EQ(paced.release_time(900'000, 1460), 920'000U);
}

TEST(window_pacing, a_short_packet_takes_its_share) {
  pacer paced({.kind = pacing_kind::window});
  paced.on_rtt(80'000);
  paced.on_window(8);
  paced.release_time(0, 1000);
  EXPECT_EQ(paced.release_time(0, 250), 10'000U);
  EXPECT_EQ(paced.release_time(0, 1000), 12'500U);
}

TEST(pacing, what_takes_no_time_of_its_own_overtakes_nothing) {
  pacer paced({.kind = pacing_kind::window});
  paced.on_rtt(80'000);
  paced.on_window(8);
  paced.release_time(0, 1000);
  EXPECT_EQ(paced.earliest(0), 10'000U);
  EXPECT_EQ(paced.earliest(0), 10'000U);
  EXPECT_EQ(paced.earliest(50'000), 50'000U);
}

// TCP-AP with a link rate: the formula of the source.
TEST(adaptive_pacing, four_hop_delay_is_that_of_the_source) {
  tcp_adaptive_pacing pacing({.link_rate_bps = 2'000'000, .data_bytes = 1500, .tcp_ack_bytes = 40});
  pacing.on_path(chain_of(8), 1);
  pacing.on_rtt(100'000);
  // q = (100 / 8 - (6 + 0.16)) / 2 = 3.17 ms; FHD = 4 * (3.17 + 6) ms
  EXPECT_EQ(pacing.four_hop_delay_us(), 36'680U);
  EXPECT_EQ(pacing.interval_us(), 36'680U) << "one round trip varies not at all";
  pacing.on_rtt(180'000);
  // q = (180 / 8 - 6.16) / 2 = 8.17 ms; FHD = 0.7 * 36.68 + 0.3 * 56.68 = 42.68 ms
  EXPECT_EQ(pacing.four_hop_delay_us(), 42'680U);
  // cov of 100 and 180 ms: deviation 56.569 ms (n - 1), mean 140 ms: 0.404
  EXPECT_NEAR(pacing.variation_256() / 256.0, 0.404, 0.004);
  EXPECT_NEAR(static_cast<double>(pacing.interval_us()), 42'680 * 1.808, 400);
}

TEST(adaptive_pacing, takes_the_measured_delays_where_there_are_any) {
  tcp_adaptive_pacing pacing;
  pacing.on_path(chain_of(8), 1);
  pacing.on_rtt(8 * (7680 + 1840));
  EXPECT_EQ(pacing.four_hop_delay_us(), 4U * 7680) << "no queueing";
  pacing.on_rtt(1000);
  EXPECT_EQ(pacing.four_hop_delay_us(), 4U * 7680) << "a negative q counts as 0";
  tcp_adaptive_pacing short_path;
  short_path.on_path(chain_of(2), 1);
  short_path.on_rtt(2 * (7680 + 1840) + 2000);
  EXPECT_EQ(short_path.four_hop_delay_us(), 2U * (7680 + 500)) << "all hops of a short path share one medium";
  tcp_adaptive_pacing hops_only;
  hops_only.on_path({.forward_hops = 8, .return_hops = 8}, 1);
  hops_only.on_rtt(160'000);
  EXPECT_EQ(hops_only.four_hop_delay_us(), 40'000U) << "4 * RTT / 2h";
}

TEST(adaptive_pacing, does_nothing_before_a_path_and_a_round_trip_are_known) {
  pacer paced({.kind = pacing_kind::adaptive});
  EXPECT_EQ(paced.interval_us(), 0U);
  paced.on_rtt(100'000);
  EXPECT_EQ(paced.interval_us(), 0U);
  paced.on_path(chain_of(8));
  EXPECT_EQ(paced.interval_us(), 0U);
  paced.on_rtt(100'000);
  EXPECT_GT(paced.interval_us(), 0U);
}

TEST(adaptive_pacing, mean_deviation_takes_the_place_of_the_standard_deviation) {
  tcp_adaptive_pacing pacing({.variation = round_trip_variation::mean_deviation});
  pacing.on_path({.forward_hops = 4, .return_hops = 4}, 1);
  pacing.on_rtt(100'000);
  EXPECT_EQ(pacing.variation_256(), 0U);
  pacing.on_rtt(180'000);
  EXPECT_EQ(pacing.variation_256(), 256U * 40 / 140);
  pacing.on_rtt(80'000);
  EXPECT_EQ(pacing.variation_256(), 256U * 40 / 120);  // 100, 180 and 80 ms: 20, 60 and 40 off 120
}

TEST(adaptive_pacing, variation_is_that_of_the_last_50_round_trips) {
  std::mt19937 random(static_cast<std::uint32_t>(test_seed()));
  PERHOP_TELL_SEED();
  tcp_adaptive_pacing pacing;
  tcp_adaptive_pacing by_mean_deviation({.variation = round_trip_variation::mean_deviation});
  std::deque<double> last;
  for (int i = 0; i < 5000; ++i) {
    const std::uint32_t rtt_us = i < 2500 ? 20'000 + random() % 200'000 : 50'000'000 + random() % 20'000'000;
    pacing.on_rtt(rtt_us);
    by_mean_deviation.on_rtt(rtt_us);
    last.push_back(std::min(rtt_us, (1U << 26) - 1));
    if (last.size() > 50) last.pop_front();
    if (last.size() < 2) continue;
    const auto n = static_cast<double>(last.size());
    const double mean = std::accumulate(last.begin(), last.end(), 0.0) / n;
    double squares = 0;
    double off = 0;
    for (const double sample : last) {
      squares += (sample - mean) * (sample - mean);
      off += std::abs(sample - mean);
    }
    ASSERT_NEAR(by_mean_deviation.variation_256() / 256.0, off / n / mean, 0.005) << i;
    ASSERT_NEAR(pacing.variation_256() / 256.0, std::sqrt(squares / (n - 1)) / mean, 0.005) << i;
  }
}

// One packet for each passage of the slowest four hops, TCP ACKs included.
TEST(path_pacing, period_is_that_of_the_slowest_four_hops) {
  EXPECT_EQ(pacing_path::data_period_us(chain_of(1)), 7680U);
  EXPECT_EQ(pacing_path::data_period_us(chain_of(3)), 3U * 7680);
  EXPECT_EQ(pacing_path::data_period_us(chain_of(4)), 4U * 7680);
  for (std::uint32_t hops = 5; hops <= 20; ++hops) EXPECT_EQ(pacing_path::data_period_us(chain_of(hops)), 4U * 7680) << hops;
  EXPECT_EQ(pacing_path::tcp_ack_period_us(chain_of(3)), 3U * 1840);
  EXPECT_EQ(pacing_path::tcp_ack_period_us(chain_of(12)), 4U * 1840);
  // One hop three times as slow as the other seven.
  EXPECT_EQ(pacing_path::data_period_us({.forward_hops = 8, .forward_total_us = 10 * 7680, .forward_max_us = 3 * 7680}), 6U * 7680);
}

TEST(path_pacing, never_exceeds_what_the_hops_can_add_up_to) {
  std::mt19937 random(static_cast<std::uint32_t>(test_seed()));
  PERHOP_TELL_SEED();
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::uint32_t> hop_us(1 + random() % 20);
    for (std::uint32_t& us : hop_us) us = random() % 30'000;
    const std::uint32_t total_us = std::accumulate(hop_us.begin(), hop_us.end(), 0U);
    const std::uint32_t max_us = *std::max_element(hop_us.begin(), hop_us.end());
    const auto period_us = pacing_path::data_period_us(
        {.forward_hops = static_cast<std::uint32_t>(hop_us.size()), .forward_total_us = total_us, .forward_max_us = max_us});
    ASSERT_LE(period_us, total_us);
    ASSERT_LE(period_us, 4U * max_us);
    ASSERT_GE(period_us, max_us);
    // Never faster than the average of four hops.
    ASSERT_GE(period_us + 4, std::min<std::uint64_t>(total_us, std::uint64_t{4} * total_us / hop_us.size()));
  }
}

TEST(path_pacing, shares_the_cost_of_a_tcp_ack_among_the_packets_it_stands_for) {
  pacer paced({.kind = pacing_kind::path});
  EXPECT_EQ(paced.interval_us(), 0U);
  paced.on_path(chain_of(8), 1);
  EXPECT_EQ(paced.interval_us(), 4U * 7680 + 4U * 1840);
  paced.on_path(chain_of(8), 4);
  EXPECT_EQ(paced.interval_us(), 4U * 7680 + 1840U);
  paced.on_path({.forward_hops = 8, .return_hops = 8}, 4);
  EXPECT_EQ(paced.interval_us(), 4U * 7680 + 1840U) << "a path without delays changes nothing";
  pacer slower({.kind = pacing_kind::path, .interval_percent = 150});
  slower.on_path(chain_of(8), 4);
  EXPECT_EQ(slower.interval_us(), (4U * 7680 + 1840U) * 3 / 2);
}

// Hostile numbers: intervals stay within 1 s, releases never go back, nothing divides by zero.
TEST(pacing_invariants, hold_for_random_measurements) {
  std::mt19937_64 random(test_seed());
  PERHOP_TELL_SEED();
  const auto value = [&random]() -> std::uint32_t {
    switch (random() % 4) {
      case 0:
        return 0;
      case 1:
        return UINT32_MAX;
      case 2:
        return static_cast<std::uint32_t>(random());
      default:
        return static_cast<std::uint32_t>(random() % 20'000);
    }
  };
  for (const pacing_kind kind : {pacing_kind::window, pacing_kind::adaptive, pacing_kind::path}) {
    for (int run = 0; run < 100; ++run) {
      pacer paced(
          {.kind = kind, .interval_percent = run % 3 == 0 ? value() : 100, .adaptive = {.link_rate_bps = run % 2 == 0 ? 0U : value()}});
      // A flow's start may allocate; no packet does.
      const std::uint64_t allocated = allocation_count();
      time_us now = 0;
      time_us last = 0;
      for (int step = 0; step < 500; ++step) {
        now += random() % 100'000;
        paced.on_path({value(), value(), value(), value(), value(), value()}, value());
        paced.on_rtt(value());
        paced.on_window(value());
        ASSERT_LE(paced.interval_us(), pacer::max_interval_us);
        const time_us release = paced.release_time(now, value());
        ASSERT_GE(release, now);
        ASSERT_GE(release, last);
        ASSERT_LE(release, std::max(now, last + pacer::max_interval_us));
        last = release;
      }
      ASSERT_EQ(allocation_count(), allocated);
    }
  }
}

}  // namespace
}  // namespace perhop::policy
