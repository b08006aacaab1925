// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "sim/air/frame_errors.hpp"

namespace perhop::air {
namespace {

TEST(frame_errors, come_at_their_rate_and_independently_at_each_receiver) {
  const frame_errors errors(1, 0.1);
  int lost_at_2 = 0, lost_at_3 = 0, lost_at_both = 0;
  constexpr int frames = 20'000;
  for (int id = 0; id < frames; ++id) {
    lost_at_2 += errors.lost(id, 2);
    lost_at_3 += errors.lost(id, 3);
    lost_at_both += errors.lost(id, 2) && errors.lost(id, 3);
  }
  // Standard deviations: 0.0021 of a share of 0.1, 0.0007 of one of 0.01.
  EXPECT_NEAR(lost_at_2, 0.1 * frames, 0.01 * frames);
  EXPECT_NEAR(lost_at_3, 0.1 * frames, 0.01 * frames);
  EXPECT_NEAR(lost_at_both, 0.01 * frames, 0.004 * frames);
}

TEST(frame_errors, depend_on_the_seed_and_on_nothing_before_them) {
  const frame_errors errors(1, 0.5), same(1, 0.5), other(2, 0.5);
  int different = 0;
  for (int id = 999; id >= 0; --id) EXPECT_EQ(errors.lost(id, 0), same.lost(id, 0));
  for (int id = 0; id < 1000; ++id) different += errors.lost(id, 0) != other.lost(id, 0);
  EXPECT_GT(different, 400);
}

TEST(frame_errors, never_and_always_are_exact) {
  const frame_errors none(1, 0), all(1, 1);
  for (int id = 0; id < 1000; ++id) {
    EXPECT_FALSE(none.lost(id, 0));
    EXPECT_TRUE(all.lost(id, 0));
  }
}

}  // namespace
}  // namespace perhop::air
