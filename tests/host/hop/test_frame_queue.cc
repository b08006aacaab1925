// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/hop/frame_queue.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace perhop::hop {
namespace {

constexpr std::uint64_t one = 11, other = 12;

frame_queue<int>::entry frame(int what, std::uint64_t receiver = one) {
  return {.receiver_address = receiver, .mpdu_bytes = static_cast<std::uint32_t>(100 + what), .what = what};
}

TEST(frame_queue, gives_back_in_order_of_arrival_and_counts_bytes) {
  frame_queue<int> queue(3);
  for (int round = 0; round < 10; ++round) {  // goes round the ring
    queue.push(frame(2 * round));
    queue.push(frame(2 * round + 1));
    EXPECT_EQ(queue.bytes(), 200U + 4U * static_cast<unsigned>(round) + 1U);
    EXPECT_EQ(queue.pop().what, 2 * round);
    EXPECT_EQ(queue.pop().what, 2 * round + 1);
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.bytes(), 0U);
}

TEST(frame_queue, frames_of_a_higher_priority_go_first_and_keep_their_order) {
  frame_queue<int> queue(6);
  queue.push(frame(9));
  queue.pop();  // not at the ring's beginning
  for (const auto& [what, priority] : std::vector<std::pair<int, std::uint8_t>>{{0, 0}, {1, 2}, {2, 0}, {3, 1}, {4, 2}, {5, 0}}) {
    auto entry = frame(what);
    entry.priority = priority;
    queue.push(std::move(entry));
  }
  std::vector<int> order;
  while (!queue.empty()) order.push_back(queue.pop().what);
  EXPECT_EQ(order, (std::vector{1, 4, 3, 0, 2, 5}));
  EXPECT_EQ(queue.bytes(), 0U);
}

TEST(frame_queue, says_when_it_is_full) {
  frame_queue<int> queue(2);
  queue.push(frame(1));
  EXPECT_FALSE(queue.full());
  queue.push(frame(2));
  EXPECT_TRUE(queue.full());
  EXPECT_EQ(queue.size(), 2U);
}

TEST(frame_queue, takes_out_what_is_for_one_neighbour_and_keeps_the_order_of_the_rest) {
  frame_queue<int> queue(5);
  for (int i = 0; i < 3; ++i) {
    queue.push(frame(i));
    queue.pop();
  }
  for (int i = 0; i < 5; ++i) queue.push(frame(i, i % 2 == 0 ? one : other));
  std::vector<int> taken;
  queue.take_out(one, [&taken](int what) { taken.push_back(what); });
  EXPECT_EQ(taken, (std::vector{0, 2, 4}));
  EXPECT_EQ(queue.bytes(), 101U + 103U);
  queue.push(frame(7));
  std::vector<int> left;
  queue.for_each([&left](const auto& entry) { left.push_back(entry.what); });
  EXPECT_EQ(left, (std::vector{1, 3, 7}));
  EXPECT_EQ(queue.pop().what, 1);
  EXPECT_EQ(queue.pop().what, 3);
  EXPECT_EQ(queue.pop().what, 7);
}

}  // namespace
}  // namespace perhop::hop
