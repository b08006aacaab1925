// SPDX-License-Identifier: GPL-2.0-or-later
//
// The card's side of a virtqueue, with a driver that the test plays, well and badly.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "fake_driver.hpp"
#include "sim/kernel/split_queue.hpp"

namespace perhop::kernels {
namespace {

class split_queue_test : public testing::Test {
protected:
  split_queue_test() {
    driver_.share_with(memory_);
    queue_.set_entries(fake_ring::entries);
    queue_.set_addresses(memory_, ring_.descriptors(), ring_.available(), ring_.used());
    queue_.enable(true);
  }

  fake_driver driver_;
  fake_ring ring_{driver_, 0};
  shared_memory memory_;
  split_queue queue_;
};

TEST_F(split_queue_test, gives_buffers_in_the_order_of_the_driver_and_takes_them_back_in_any) {
  ring_.offer({driver_.text("one")});
  ring_.offer({driver_.text("tw"), driver_.text("o")});
  const auto one = queue_.take(memory_), two = queue_.take(memory_);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->parts.size(), 1U);
  EXPECT_EQ(std::memcmp(one->parts[0].data(), "one", 3), 0);
  ASSERT_EQ(two->parts.size(), 2U);
  EXPECT_EQ(std::memcmp(two->parts[1].data(), "o", 1), 0);
  EXPECT_FALSE(queue_.take(memory_)) << "there are two";
  queue_.give_back(*two, 7);
  queue_.give_back(*one, 0);
  EXPECT_EQ(ring_.taken_back(), (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{two->head, 7}, {one->head, 0}}));
}

TEST_F(split_queue_test, goes_round_for_longer_than_its_index_counts) {
  for (unsigned count = 0; count < 70'000; ++count) {
    ring_.offer({driver_.text("x")});
    const auto buffer = queue_.take(memory_);
    ASSERT_TRUE(buffer);
    queue_.give_back(*buffer, count & 0xFF);
    ASSERT_EQ(ring_.taken_back().size(), 1U);
  }
}

TEST_F(split_queue_test, refuses_memory_that_is_not_shared) {
  ring_.offer({{.address = fake_driver::guest_base - 1, .length = 4}});
  EXPECT_THROW(queue_.take(memory_), driver_fault);
  ring_.offer({{.address = fake_driver::guest_base + fake_driver::size_bytes - 3, .length = 4}});
  EXPECT_THROW(queue_.take(memory_), driver_fault);
  ring_.offer({{.address = UINT64_MAX - 1, .length = 4}});
  EXPECT_THROW(queue_.take(memory_), driver_fault);
}

TEST_F(split_queue_test, refuses_a_chain_without_end_and_a_descriptor_that_is_not_there) {
  ring_.offer_circle();
  EXPECT_THROW(queue_.take(memory_), driver_fault);
  ring_.offer_number(fake_ring::entries);
  EXPECT_THROW(queue_.take(memory_), driver_fault);
}

TEST_F(split_queue_test, refuses_a_queue_that_does_not_fit) {
  split_queue queue;
  EXPECT_THROW(queue.set_entries(3), driver_fault);
  EXPECT_THROW(queue.set_entries(65536), driver_fault);
  EXPECT_THROW(queue.set_addresses(memory_, ring_.descriptors(), ring_.available(), ring_.used()), driver_fault) << "it has no size yet";
  queue.set_entries(32768);
  EXPECT_THROW(queue.set_addresses(memory_, ring_.descriptors(), ring_.available(), ring_.used()), driver_fault)
      << "longer than the memory";
}

TEST_F(split_queue_test, gives_nothing_while_it_is_off) {
  ring_.offer({driver_.text("one")});
  queue_.enable(false);
  EXPECT_FALSE(queue_.take(memory_));
  queue_.enable(true);
  EXPECT_TRUE(queue_.take(memory_));
}

TEST_F(split_queue_test, hears_whether_the_driver_wants_to_be_told) {
  EXPECT_FALSE(queue_.is_quiet());
  ring_.set_quiet(true);
  EXPECT_TRUE(queue_.is_quiet());
}

}  // namespace
}  // namespace perhop::kernels
