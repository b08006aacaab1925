// SPDX-License-Identifier: GPL-2.0-or-later

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "host/core/shim/deadline_queue.hpp"
#include "tests/host/allocation_count.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::shim {
namespace {

TEST(deadline_queue, tells_the_first_of_its_deadlines) {
  deadline_queue queue(4);
  EXPECT_FALSE(queue.first());
  queue.set(2, 300);
  queue.set(0, 100);
  queue.set(3, 200);
  EXPECT_EQ(queue.first()->slot, 0U);
  EXPECT_EQ(queue.first()->deadline, 100U);
  queue.set(0, 400);
  EXPECT_EQ(queue.first()->slot, 3U) << "later now";
  queue.set(2, 50);
  EXPECT_EQ(queue.first()->slot, 2U) << "earlier now";
  queue.set(2, std::nullopt);
  queue.set(3, std::nullopt);
  queue.set(3, std::nullopt);
  EXPECT_EQ(queue.first()->slot, 0U);
  queue.set(0, std::nullopt);
  EXPECT_FALSE(queue.first());
}

// Against a list that does the same slowly.
TEST(deadline_queue, agrees_with_a_plain_list_over_random_use_and_never_asks_for_memory) {
  std::mt19937_64 random(test_seed());
  PERHOP_TELL_SEED();
  for (const std::uint32_t slots : {1U, 2U, 7U, 100U}) {
    deadline_queue queue(slots);
    std::vector<std::optional<policy::time_us>> reference(slots);
    const std::uint64_t allocated = allocation_count();
    for (int step = 0; step < 50'000; ++step) {
      const auto slot = static_cast<std::uint32_t>(random() % slots);
      const std::optional<policy::time_us> deadline = random() % 3 == 0 ? std::nullopt : std::optional(random() % 1000);
      queue.set(slot, deadline);
      reference[slot] = deadline;
      std::optional<policy::time_us> earliest;
      for (const auto& d : reference) {
        if (d && (!earliest || *d < *earliest)) earliest = d;
      }
      const auto first = queue.first();
      ASSERT_EQ(first.has_value(), earliest.has_value()) << "step " << step;
      if (first) {
        ASSERT_EQ(first->deadline, *earliest) << "step " << step;
        ASSERT_EQ(reference[first->slot], first->deadline) << "step " << step;
      }
    }
    EXPECT_EQ(allocation_count(), allocated);
  }
}

}  // namespace
}  // namespace perhop::shim
