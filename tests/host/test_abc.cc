// SPDX-License-Identifier: GPL-2.0-or-later
//
// ABC (accel-brake control) by the equations of its paper: the router's share of accelerates, its tokens, the sender's window.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "host/core/policy/abc_router.hpp"
#include "host/core/policy/congestion_window_limit.hpp"

namespace perhop::policy {
namespace {

constexpr std::uint32_t target_us = 20'000;
constexpr double eta = 0.98, delta_us = 133e3;

/// A MAC that was done with a packet of `service_us` every `every_us`, for longer than the window, and ends just before 1 s.
abc_router after(std::uint32_t every_us, std::uint32_t service_us) {
  abc_router router;
  for (time_us now = 0; now < 1'000'000; now += every_us) router.on_served(now, service_us);
  return router;
}
constexpr time_us just_before_1_s = 999'999;

/// Equations 1 and 2, in packets per second.
double by_the_paper(double mu, double cr, double x_us, double dt_us) {
  const double tr = eta * mu - mu / delta_us * std::max(x_us - dt_us, 0.0);
  return std::clamp(tr / (2 * cr), 0.0, 1.0);
}

TEST(abc_router, the_share_of_accelerates_is_that_of_the_paper) {
  for (const std::uint32_t service_us : {2'000U, 5'000U, 10'000U, 20'000U}) {
    for (const std::uint32_t every_us : {20'000U, 40'000U}) {
      abc_router router = after(every_us, service_us);
      for (const std::uint32_t before_it : {0U, 1U, 2U, 4U, 8U, 12U, 40U}) {
        const double mu = 1e6 / service_us, cr = 1e6 / every_us;
        const double wanted = by_the_paper(mu, cr, double{1} * before_it * service_us, target_us);
        const double found =
            router.accelerated_share(just_before_1_s, {.target_us = target_us, .before_it = before_it}) / double{abc_router::one_share};
        EXPECT_NEAR(found, wanted, 1e-3) << service_us << " us every " << every_us << " us, " << before_it << " before it";
      }
    }
  }
}

TEST(abc_router, half_of_the_packets_accelerate_where_the_link_has_its_target) {
  // All that the link carries but 2 %: tr = cr, so that as many packets come as leave.
  abc_router router = after(20'000, 19'600);
  std::uint32_t accelerated = 0;
  for (int packet = 0; packet < 1000; ++packet) accelerated += router.accelerates(just_before_1_s, {.target_us = target_us}) ? 1 : 0;
  EXPECT_NEAR(accelerated, 500, 1);
}

TEST(abc_router, a_mac_that_does_nothing_wants_all_it_can_get) {
  abc_router router;
  for (int packet = 0; packet < 50; ++packet) EXPECT_TRUE(router.accelerates(7, {.target_us = target_us, .expected_service_us = 8'000}));
  EXPECT_FALSE(router.accelerates(7, {.target_us = target_us, .before_it = 50, .expected_service_us = 8'000})) << "its queue is long";
}

TEST(abc_router, forgets_what_was_long_ago) {
  abc_router router = after(20'000, 19'600);
  EXPECT_LT(router.accelerated_share(just_before_1_s, {.target_us = target_us}), abc_router::one_share * 51 / 100);
  EXPECT_LT(router.accelerated_share(1'080'000, {.target_us = target_us}), abc_router::one_share * 99 / 100);
  EXPECT_EQ(router.accelerated_share(1'200'000, {.target_us = target_us}), abc_router::one_share);
  EXPECT_EQ(router.accelerated_share(time_us{1} << 40, {.target_us = target_us}), abc_router::one_share);
}

TEST(abc_router, what_others_braked_is_there_for_later_up_to_a_limit) {
  abc_router router = after(20'000, 19'600);
  for (int packet = 0; packet < 1000; ++packet) router.on_brake(just_before_1_s, {.target_us = target_us});
  const abc_queue full{.target_us = target_us, .before_it = 50};
  std::uint32_t accelerated = 0;
  for (int packet = 0; packet < 100; ++packet) accelerated += router.accelerates(just_before_1_s, full) ? 1 : 0;
  EXPECT_EQ(accelerated, abc_router::token_limit_packets);
}

/// A sender whose receiver counts.
struct sender {
  congestion_window_limit limit{{.kind = cwl_kind::abc}};
  path_marks marks{};

  explicit sender(std::uint32_t window_packets) { tell(0, 0, window_packets); }

  /// One TCP ACK that tells of so many more packets.
  void tell(std::uint32_t accelerates, std::uint32_t brakes, std::uint32_t in_flight_packets = 0) {
    marks.arrived_packets = static_cast<std::uint8_t>((marks.arrived_packets + accelerates + brakes) % path_marks::arrived_modulus);
    marks.accelerated_packets = static_cast<std::uint8_t>((marks.accelerated_packets + accelerates) % path_marks::accelerated_modulus);
    marks.in_flight_packets = static_cast<std::uint16_t>(in_flight_packets);
    limit.on_marks(marks);
  }
  std::uint32_t window() const { return limit.limit_packets().value_or(0); }
};

TEST(abc_window, has_no_limit_before_marks_come_back) {
  congestion_window_limit limit({.kind = cwl_kind::abc});
  EXPECT_TRUE(limit.enforces());
  limit.on_path({.forward_hops = 3});
  EXPECT_EQ(limit.limit_packets(), std::nullopt);
}

TEST(abc_window, grows_by_one_and_its_inverse_and_shrinks_by_one_less_it) {
  sender at_4(4);
  EXPECT_EQ(at_4.window(), 4U);
  at_4.tell(1, 0);
  EXPECT_EQ(at_4.window(), 5U) << "5.25";
  at_4.tell(0, 1);
  at_4.tell(0, 1);
  at_4.tell(0, 1);
  EXPECT_EQ(at_4.window(), 2U) << "5.25 - 3 + 1/5.25 + 1/4.44 + 1/3.67 = 2.94";
  at_4.tell(0, 1);
  EXPECT_EQ(at_4.window(), 2U) << "2.28";
  for (int brake = 0; brake < 20; ++brake) at_4.tell(0, 1);
  EXPECT_EQ(at_4.window(), 1U) << "one packet goes on";
}

TEST(abc_window, doubles_in_a_round_of_accelerates) {
  sender doubling(10);
  for (int packet = 0; packet < 10; ++packet) doubling.tell(1, 0);
  EXPECT_EQ(doubling.window(), 20U) << "and the sum of the inverses, 0.7";
}

TEST(abc_window, grows_by_one_packet_a_round_where_marks_are_even) {
  sender even(10);
  std::uint32_t accelerate = 0;
  for (int round = 0; round < 8; ++round) {
    for (std::uint32_t packet = even.window(); packet > 0; --packet, accelerate = 1 - accelerate) even.tell(accelerate, 1 - accelerate);
  }
  EXPECT_NEAR(even.window(), 18, 2);
}

TEST(abc_window, is_at_most_twice_what_is_in_flight) {
  sender idle(8);
  for (int packet = 0; packet < 30; ++packet) idle.tell(1, 0, 6);
  EXPECT_EQ(idle.window(), 12U);
  sender busy(8);
  for (int packet = 0; packet < 100; ++packet) busy.tell(1, 0, 40);
  EXPECT_EQ(busy.window(), default_ceiling_packets);
}

TEST(abc_window, misses_no_mark_of_a_lost_tcp_ack_and_takes_none_twice) {
  sender whole(10), lossy(10);
  for (int packet = 0; packet < 12; ++packet) whole.tell(packet % 3 != 0 ? 1 : 0, packet % 3 != 0 ? 0 : 1);
  lossy.tell(8, 4);
  EXPECT_EQ(lossy.window(), whole.window());
  const path_marks last = lossy.marks;
  lossy.tell(2, 0);
  const std::uint32_t window = lossy.window();
  lossy.limit.on_marks(last);  // overtaken on its way
  lossy.limit.on_marks(lossy.marks);
  lossy.limit.on_marks(lossy.marks);
  EXPECT_EQ(lossy.window(), window);
  for (int round = 0; round < 40; ++round) lossy.tell(3, 4);  // counts turn over
  EXPECT_LT(lossy.window(), window);
}

/// Section 3.1: flows that share a link come to equal windows whatever they begin with, which accelerates and brakes alone would keep.
TEST(abc_window, two_flows_become_equal) {
  sender large(30), small(2);
  double owed_large = 0, owed_small = 0;
  for (int round = 0; round < 300; ++round) {
    const double share = std::min(24.0 / (2 * (large.window() + small.window())), 1.0);
    for (const auto& [flow, owed] : {std::pair{&large, &owed_large}, std::pair{&small, &owed_small}}) {
      for (std::uint32_t packet = flow->window(); packet > 0; --packet) {
        *owed += share;
        const bool accelerates = *owed >= 1;
        if (accelerates) *owed -= 1;
        flow->tell(accelerates ? 1 : 0, accelerates ? 0 : 1);
      }
    }
  }
  EXPECT_NEAR(large.window(), small.window(), 3);
  EXPECT_NEAR(large.window() + small.window(), 26, 5) << "24, and one packet a round that each flow adds";
}

}  // namespace
}  // namespace perhop::policy
