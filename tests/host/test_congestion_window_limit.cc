// SPDX-License-Identifier: GPL-2.0-or-later

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "host/core/policy/congestion_window_limit.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::policy {
namespace {

/// Per-hop delays for a packet of 1500 and of 40 bytes of IP on 802.11b at 2 Mb/s with RTS/CTS.
constexpr std::uint32_t data_hop_us = 7678;
constexpr std::uint32_t tcp_ack_hop_us = 1838;

path_measurement path_of(const std::vector<std::uint32_t>& forward_us, const std::vector<std::uint32_t>& return_us) {
  return {.forward_hops = static_cast<std::uint32_t>(forward_us.size()),
          .return_hops = static_cast<std::uint32_t>(return_us.size()),
          .forward_total_us = std::accumulate(forward_us.begin(), forward_us.end(), 0U),
          .forward_max_us = forward_us.empty() ? 0 : *std::ranges::max_element(forward_us),
          .return_total_us = std::accumulate(return_us.begin(), return_us.end(), 0U)};
}

path_measurement chain(std::uint32_t hops, std::uint32_t forward_hop_us, std::uint32_t return_hop_us) {
  return path_of(std::vector<std::uint32_t>(hops, forward_hop_us), std::vector<std::uint32_t>(hops, return_hop_us));
}

std::uint32_t limit_after(const cwl_config& config, const path_measurement& path) {
  congestion_window_limit limit(config);
  limit.on_path(path);
  return limit.limit_packets().value();
}

// B-02: the wireline example of paper 000, section 2.1. The product of bandwidth and delay in bytes, as CWL on a path
// of one wired link: 19,300 bytes are the packets that fit times their size.
TEST(bandwidth_delay_product, trans_continental_t1_holds_19300_bytes) {
  constexpr std::uint64_t bandwidth_bps = 1'544'000;
  constexpr std::uint64_t round_trip_us = 100'000;
  constexpr std::uint64_t product_bits = bandwidth_bps * round_trip_us / 1'000'000;
  EXPECT_EQ(product_bits, 154'400U);
  EXPECT_EQ(product_bits / 8, 19'300U);

  // The same through the wired part of the delay rule: packets of 193 bytes take 1000 us on that link, and the link
  // holds 100 of them beside the wireless share (1000 + 1000) / 4000.
  path_measurement path = chain(1, 1000, 1000);
  path.wired_round_trip_us = round_trip_us;
  EXPECT_DOUBLE_EQ(delay_bound_packets(path).value(), 100.5);
}

// B-08: Table 1 as printed, at every N up to 30.
TEST(hop_table, is_table_1_of_the_paper) {
  constexpr std::uint32_t table_1[] = {2, 2, 2, 2,              // N <= 4
                                       1, 1, 1, 1,              // 4 < N <= 8
                                       2, 2, 2, 2,              // 8 < N <= 12
                                       3, 3, 3, 3, 3, 3, 3, 3,  // 12 < N <= 20
                                       4, 4, 4, 4, 4, 4,        // 20 < N <= 26
                                       5, 5, 5, 5};             // 26 < N <= 30
  static_assert(std::size(table_1) == 30);
  for (std::uint32_t hops = 1; hops <= 30; ++hops) EXPECT_EQ(hop_table_limit_packets(hops), table_1[hops - 1]) << hops;
}

TEST(hop_table, goes_on_as_a_sixth_of_the_hops_beyond_30) {
  for (std::uint32_t hops = 31; hops <= 510; ++hops) {
    // round(N/6), half up, in floating point: 33/6 = 5.5 gives 6
    EXPECT_EQ(hop_table_limit_packets(hops), static_cast<std::uint32_t>(hops / 6.0 + 0.5)) << hops;
  }
  EXPECT_EQ(hop_table_limit_packets(UINT32_MAX), UINT32_MAX / 6 + 1);
}

// the extrapolation meets the table at every even N from 6 to 30 but 14.
TEST(hop_table, sixth_of_the_hops_meets_the_table_where_both_exist) {
  for (std::uint32_t hops = 6; hops <= 30; hops += 2) {
    const auto sixth = static_cast<std::uint32_t>(hops / 6.0 + 0.5);
    EXPECT_EQ(sixth == hop_table_limit_packets(hops), hops != 14) << hops;
  }
}

// B-09: bounded by N/5 but for the exceptions that the requirements name.
TEST(hop_table, lies_below_a_fifth_of_the_hops) {
  for (std::uint32_t hops = 6; hops <= 30; hops += 2) {
    EXPECT_EQ(5 * hop_table_limit_packets(hops) <= hops, hops != 14) << hops;
  }
}

TEST(hop_limit, odd_round_trips_fall_into_the_range_that_holds_them) {
  const cwl_config config{.kind = cwl_kind::hop};
  const auto limit = [&](std::uint32_t forward, std::uint32_t back) {
    return limit_after(config, {.forward_hops = forward, .return_hops = back});
  };
  EXPECT_EQ(limit(2, 3), 1U);    // N = 5, the first above 4
  EXPECT_EQ(limit(4, 5), 2U);    // N = 9
  EXPECT_EQ(limit(7, 6), 3U);    // N = 13
  EXPECT_EQ(limit(10, 11), 4U);  // N = 21
  EXPECT_EQ(limit(14, 13), 5U);  // N = 27
}

TEST(hop_limit, waits_until_both_hop_counts_are_known) {
  congestion_window_limit limit({.kind = cwl_kind::hop});
  EXPECT_FALSE(limit.limit_packets());
  limit.on_path({.forward_hops = 3});
  EXPECT_FALSE(limit.limit_packets());
  limit.on_path({.return_hops = 3});
  EXPECT_FALSE(limit.limit_packets());
  limit.on_path({.forward_hops = 3, .return_hops = 3});
  EXPECT_EQ(limit.limit_packets(), 1U);
  limit.on_path({});
  EXPECT_EQ(limit.limit_packets(), 1U) << "a measurement that tells nothing changes nothing";
}

// B-11, first vector: the same delay on every hop, both ways.
TEST(delay_bound, uniform_delays_give_a_quarter_of_the_hops) {
  for (std::uint32_t hops = 1; hops <= 30; ++hops) {
    EXPECT_DOUBLE_EQ(delay_bound_packets(chain(hops, 5000, 5000)).value(), 2.0 * hops / 4) << hops;
  }
}

// B-11, second vector: return hops that take r times as long.
TEST(delay_bound, shorter_return_delays_give_n_times_1_plus_r_over_4) {
  for (std::uint32_t hops = 1; hops <= 30; ++hops) {
    for (const double r : {0.25, 0.5, 0.75, 1.0}) {
      const path_measurement path = chain(hops, 8000, static_cast<std::uint32_t>(8000 * r));
      EXPECT_NEAR(delay_bound_packets(path).value(), hops * (1 + r) / 4, 1e-12) << hops << " hops, r " << r;
    }
  }
}

// B-11, third vector.
TEST(delay_bound, one_slow_forward_hop_lowers_it) {
  std::vector<std::uint32_t> forward_us(10, 4000);
  const std::vector<std::uint32_t> return_us(10, 1000);
  const double before = delay_bound_packets(path_of(forward_us, return_us)).value();
  forward_us[4] *= 3;
  const double after = delay_bound_packets(path_of(forward_us, return_us)).value();
  EXPECT_DOUBLE_EQ(before, 50'000.0 / 16'000.0);
  EXPECT_DOUBLE_EQ(after, 58'000.0 / 48'000.0);
  EXPECT_LT(after, before);
}

// B-11, fourth vector: the divisor is the largest *forward* hop, so a slow return hop only lengthens the round trip.
TEST(delay_bound, one_slow_return_hop_raises_it) {
  const std::vector<std::uint32_t> forward_us(10, 4000);
  std::vector<std::uint32_t> return_us(10, 1000);
  const double before = delay_bound_packets(path_of(forward_us, return_us)).value();
  return_us[7] = 12'000;
  const double after = delay_bound_packets(path_of(forward_us, return_us)).value();
  EXPECT_DOUBLE_EQ(after, 61'000.0 / 16'000.0);
  EXPECT_GT(after, before);
}

// delays of the packets really sent. Data-sized return delays would give 7.5 at N = 30, against the paper's 5.
TEST(delay_bound, tcp_ack_sized_return_delays_reach_the_papers_numbers) {
  const auto bound = [](std::uint32_t hops) { return delay_bound_packets(chain(hops, data_hop_us, tcp_ack_hop_us)).value(); };
  EXPECT_NEAR(bound(15), 4.65, 0.005);
  EXPECT_NEAR(bound(10), 3.10, 0.005);
  EXPECT_NEAR(bound(6), 1.86, 0.005);
  EXPECT_NEAR(static_cast<double>(tcp_ack_hop_us) / data_hop_us, 0.239, 0.0005);
  EXPECT_NEAR(bound(15) / 30, 0.155, 0.0005);
  EXPECT_DOUBLE_EQ(delay_bound_packets(chain(15, data_hop_us, data_hop_us)).value(), 7.5);
}

// A-04, B-13: half up meets Table 1 at N = 30, 20 and 12; ns-2's integer window is the floor.
TEST(delay_limit, rounding_is_half_up_unless_floor_is_asked_for) {
  const cwl_config half_up{.kind = cwl_kind::delay};
  const cwl_config floor{.kind = cwl_kind::delay, .rounding = cwl_rounding::floor};
  const auto at = [](std::uint32_t hops) { return chain(hops, data_hop_us, tcp_ack_hop_us); };
  EXPECT_EQ(limit_after(half_up, at(15)), 5U);
  EXPECT_EQ(limit_after(half_up, at(10)), 3U);
  EXPECT_EQ(limit_after(half_up, at(6)), 2U);
  EXPECT_EQ(limit_after(floor, at(15)), 4U);
  EXPECT_EQ(limit_after(floor, at(10)), 3U);
  EXPECT_EQ(limit_after(floor, at(6)), 1U);
  // Exactly half: 3 hops both ways, r = 1, gives 1.5.
  EXPECT_EQ(limit_after(half_up, chain(3, 1000, 1000)), 2U);
  EXPECT_EQ(limit_after(floor, chain(3, 1000, 1000)), 1U);
  // Just below half.
  EXPECT_EQ(limit_after(half_up, path_of({1000, 1000, 1000}, {1000, 1000, 999})), 1U);
}

// B-13: the floor of one packet at N = 2 and 4, where the bound is below a packet.
TEST(delay_limit, is_at_least_one_packet) {
  for (const cwl_rounding rounding : {cwl_rounding::half_up, cwl_rounding::floor}) {
    const cwl_config config{.kind = cwl_kind::delay, .rounding = rounding};
    EXPECT_EQ(limit_after(config, chain(1, data_hop_us, tcp_ack_hop_us)), 1U);
    EXPECT_EQ(limit_after(config, chain(2, data_hop_us, tcp_ack_hop_us)), 1U);
  }
}

TEST(delay_limit, stays_within_one_and_the_ceiling_whatever_is_measured) {
  std::mt19937_64 random(test_seed());
  PERHOP_TELL_SEED();
  bool reached_floor = false;
  bool reached_ceiling = false;
  for (int i = 0; i < 200'000; ++i) {
    const auto any = [&random] { return static_cast<std::uint32_t>(random() >> (32 + random() % 33 % 32)); };
    const cwl_config config{.kind = random() % 2 == 0 ? cwl_kind::delay : cwl_kind::hop,
                            .rounding = random() % 2 == 0 ? cwl_rounding::half_up : cwl_rounding::floor,
                            .ceiling_packets = static_cast<std::uint32_t>(random() % 64)};
    congestion_window_limit limit(config);
    limit.on_path({.forward_hops = any() % 256,
                   .return_hops = any() % 256,
                   .forward_total_us = any(),
                   .forward_max_us = any(),
                   .return_total_us = any(),
                   .wired_round_trip_us = any()});
    const auto packets = limit.limit_packets();
    if (!packets) continue;
    const std::uint32_t ceiling_packets = std::max(config.ceiling_packets, 1U);
    ASSERT_GE(*packets, 1U);
    ASSERT_LE(*packets, ceiling_packets);
    reached_floor |= *packets == 1 && ceiling_packets > 1;
    reached_ceiling |= *packets == ceiling_packets && ceiling_packets > 1;
  }
  EXPECT_TRUE(reached_floor);
  EXPECT_TRUE(reached_ceiling);
}

// B-12: without delays the hop table decides; without hops either, nothing does.
TEST(delay_limit, falls_back_to_the_hop_table_and_then_to_no_limit) {
  congestion_window_limit limit({.kind = cwl_kind::delay});
  limit.on_path({});
  EXPECT_FALSE(limit.limit_packets());
  limit.on_path({.forward_hops = 10, .return_hops = 10});
  EXPECT_EQ(limit.limit_packets(), 3U);
  // Forward delays alone (the way back was not fully measured) are not enough: half a round trip is no round trip.
  limit.on_path({.forward_hops = 15, .return_hops = 15, .forward_total_us = 150'000, .forward_max_us = 10'000});
  EXPECT_EQ(limit.limit_packets(), 5U);
  // A sum without a largest hop has nothing to divide by.
  limit.on_path({.forward_hops = 3, .return_hops = 3, .forward_total_us = 1000, .return_total_us = 1000});
  EXPECT_EQ(limit.limit_packets(), 1U);
  EXPECT_FALSE(delay_bound_packets({.forward_total_us = 1000, .return_total_us = 1000}));
}

// a wired link holds many packets, so its propagation is not divided by 4.
TEST(delay_limit, wired_part_counts_in_full) {
  path_measurement path = chain(2, 8000, 2000);
  EXPECT_DOUBLE_EQ(delay_bound_packets(path).value(), 20'000.0 / 32'000.0);
  path.wired_round_trip_us = 100'000;
  EXPECT_DOUBLE_EQ(delay_bound_packets(path).value(), 20'000.0 / 32'000.0 + 100'000.0 / 8'000.0);
  EXPECT_EQ(limit_after({.kind = cwl_kind::delay}, path), 13U);  // 0.625 + 12.5
}

TEST(fixed_limit, is_what_was_asked_for_and_never_nothing) {
  EXPECT_EQ(limit_after({.kind = cwl_kind::fixed, .fixed_packets = 8}, chain(3, 1, 1)), 8U);
  EXPECT_EQ(limit_after({.kind = cwl_kind::fixed, .fixed_packets = 256}, {}), 256U);
  EXPECT_EQ(limit_after({.kind = cwl_kind::fixed, .fixed_packets = 0}, {}), 1U);
}

TEST(no_limit, never_has_one) {
  congestion_window_limit limit({.kind = cwl_kind::none});
  limit.on_path(chain(15, data_hop_us, tcp_ack_hop_us));
  EXPECT_FALSE(limit.limit_packets());
  EXPECT_FALSE(limit.enforces());
  EXPECT_TRUE(congestion_window_limit({.kind = cwl_kind::fixed}).enforces());
}

// B-04: Theorem 1 on random paths. B_min times the round trip never exceeds N packets times B_min / B'_min.
TEST(theorem_1, bounds_the_product_on_random_paths) {
  std::mt19937_64 random(test_seed());
  PERHOP_TELL_SEED();
  for (int i = 0; i < 20'000; ++i) {
    const auto delays = [&random](std::uint32_t scale) {
      std::vector<std::uint32_t> delays_us(1 + random() % 20);
      for (std::uint32_t& delay_us : delays_us) delay_us = 1 + static_cast<std::uint32_t>(random() % 20'000) / scale;
      return delays_us;
    };
    const auto forward_us = delays(1);
    const auto return_us = delays(1 + static_cast<std::uint32_t>(random() % 8));
    const path_measurement path = path_of(forward_us, return_us);
    // With d = S/b: B_min = S/d_max, and B_min/B'_min = d'_max/d_max where both directions carry packets of one size.
    const double packets = 4 * delay_bound_packets(path).value();
    const double ratio = static_cast<double>(*std::ranges::max_element(return_us)) / path.forward_max_us;
    ASSERT_LE(packets, static_cast<double>(forward_us.size()) + static_cast<double>(return_us.size()) * ratio + 1e-9);
  }
}

}  // namespace
}  // namespace perhop::policy
