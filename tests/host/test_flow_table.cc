// SPDX-License-Identifier: GPL-2.0-or-later

#include <gtest/gtest.h>

#include <cstdint>
#include <list>
#include <random>
#include <utility>
#include <vector>

#include "host/core/shim/flow_table.hpp"
#include "tests/host/allocation_count.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::shim {
namespace {

flow_key key_of(std::uint32_t i) {
  return {.source = ip_address::from_ipv4(0x0a000001 + i % 5),
          .destination = ip_address::from_ipv4(0x0a000100 + i % 7),
          .source_port = static_cast<std::uint16_t>(i >> 16),
          .destination_port = static_cast<std::uint16_t>(i)};
}

TEST(flow_table, keeps_one_state_a_flow) {
  flow_table table(4, 1000);
  const auto first = table.use(0, key_of(1));
  EXPECT_TRUE(first.created);
  first.state->segment_bytes = 77;
  const auto again = table.use(1, key_of(1));
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.state->segment_bytes, 77);
  EXPECT_EQ(table.find(key_of(1).reversed()), nullptr) << "the opposite direction is another key";
  EXPECT_EQ(table.size(), 1U);
}

TEST(flow_table, idle_flows_are_forgotten_after_the_limit_and_not_before) {
  flow_table table(8, 1000);
  table.use(0, key_of(1));
  table.use(500, key_of(2));
  EXPECT_EQ(table.use(1000, key_of(3)).expired, 0U);
  EXPECT_EQ(table.use(1001, key_of(3)).expired, 1U);
  EXPECT_EQ(table.find(key_of(1)), nullptr);
  EXPECT_NE(table.find(key_of(2)), nullptr);
}

TEST(flow_table, a_full_table_forgets_the_flow_idle_longest) {
  flow_table table(3, 1'000'000);
  table.use(0, key_of(1));
  table.use(1, key_of(2));
  table.use(2, key_of(3));
  table.use(3, key_of(1));  // now 2 is idle longest
  const auto fourth = table.use(4, key_of(4));
  EXPECT_TRUE(fourth.evicted);
  EXPECT_EQ(table.size(), 3U);
  EXPECT_EQ(table.find(key_of(2)), nullptr);
  EXPECT_NE(table.find(key_of(1)), nullptr);
  EXPECT_NE(table.find(key_of(3)), nullptr);
  EXPECT_NE(table.find(key_of(4)), nullptr);
}

TEST(flow_table, a_forgotten_flow_comes_back_without_its_past) {
  flow_table table(1, 1'000'000);
  table.use(0, key_of(1)).state->segment_bytes = 5;
  table.use(1, key_of(2));
  EXPECT_EQ(table.use(2, key_of(1)).state->segment_bytes, 0);
}

TEST(flow_table, strangers_push_out_strangers_only) {
  flow_table table(2, 1'000'000, 3);
  table.use(0, key_of(1));
  table.use(0, key_of(2));
  for (std::uint32_t i = 10; i < 100; ++i) {
    const auto access = table.use(i, key_of(i), flow_witness::stranger);
    EXPECT_EQ(access.evicted, i >= 13);
  }
  EXPECT_EQ(table.size(), 2U);
  EXPECT_EQ(table.strangers(), 3U);
  EXPECT_NE(table.find(key_of(1)), nullptr);
  EXPECT_NE(table.find(key_of(2)), nullptr);
  EXPECT_EQ(table.find(key_of(96)), nullptr);

  table.find(key_of(98))->segment_bytes = 77;
  const auto moved = table.use(200, key_of(98));
  EXPECT_FALSE(moved.created);
  EXPECT_TRUE(moved.evicted) << "the own end speaks for it: it takes the place of the own connection idle longest";
  EXPECT_EQ(moved.state->segment_bytes, 77);
  EXPECT_EQ(table.find(key_of(1)), nullptr);
  EXPECT_EQ(table.strangers(), 2U);
  table.use(201, key_of(98), flow_witness::stranger);
  EXPECT_EQ(table.size(), 2U) << "once an own one, always";
}

// Against a list that does the same slowly: every lookup, eviction and expiry agrees.
TEST(flow_table, agrees_with_a_plain_list_over_random_use) {
  std::mt19937_64 random(test_seed());
  PERHOP_TELL_SEED();
  constexpr std::size_t capacity = 50;
  constexpr time_us idle_us = 400;
  flow_table table(capacity, idle_us);
  std::list<std::pair<std::uint32_t, time_us>> reference;  // idle longest first
  std::uint64_t expired = 0;
  std::uint64_t evicted = 0;
  time_us now = 0;
  for (int step = 0; step < 200'000; ++step) {
    now += random() % 1000 == 0 ? 300 : random() % 8;
    const auto i = static_cast<std::uint32_t>(random() % (step / 20'000 % 2 == 0 ? 200 : 60));
    bool evicts = false;
    std::uint32_t expires = 0;
    while (!reference.empty() && now - reference.front().second > idle_us) {
      reference.pop_front();
      ++expires;
    }
    const auto known = std::find_if(reference.begin(), reference.end(), [i](const auto& e) { return e.first == i; });
    const bool creates = known == reference.end();
    if (!creates) {
      reference.erase(known);
    } else if (reference.size() == capacity) {
      reference.pop_front();
      evicts = true;
    }
    reference.emplace_back(i, now);
    expired += expires;
    evicted += evicts ? 1 : 0;

    const auto access = table.use(now, key_of(i));
    ASSERT_EQ(access.created, creates) << "step " << step;
    ASSERT_EQ(access.expired, expires) << "step " << step;
    ASSERT_EQ(access.evicted, evicts) << "step " << step;
    ASSERT_EQ(table.size(), reference.size()) << "step " << step;
    if (access.created) {
      ASSERT_EQ(access.state->largest_payload_bytes, 0U);
      access.state->largest_payload_bytes = i + 1;
    }
    ASSERT_EQ(access.state->largest_payload_bytes, i + 1) << "step " << step;
    if (step % 1000 == 0) {
      for (const auto& entry : reference) ASSERT_NE(table.find(key_of(entry.first)), nullptr) << "step " << step;
    }
  }
  EXPECT_GT(expired, 100U);
  EXPECT_GT(evicted, 100U);
}

TEST(flow_table, never_holds_more_than_its_capacity_and_asks_for_memory_only_until_it_is_full) {
  flow_table table(16, 1'000'000);
  for (std::uint32_t i = 0; i < 17; ++i) table.use(i, key_of(i * 2654435761U));
  const std::uint64_t before = allocation_count();
  for (std::uint32_t i = 17; i < 100'000; ++i) {
    table.use(i, key_of(i * 2654435761U));
    ASSERT_LE(table.size(), 16U);
  }
  EXPECT_EQ(allocation_count(), before);
  EXPECT_EQ(table.size(), 16U);
}

TEST(flow_table, takes_as_much_memory_as_it_has_connections) {
  const std::uint64_t start = allocation_bytes();
  flow_table small(10, 1'000'000), large(100'000, 1'000'000);
  EXPECT_LT(allocation_bytes() - start, 4096U) << "two tables without a connection";
  const std::uint64_t before = allocation_bytes();
  for (std::uint32_t i = 0; i < 4000; ++i) large.use(i, key_of(i));
  const std::uint64_t first_bytes = allocation_bytes() - before;
  for (std::uint32_t i = 4000; i < 8000; ++i) large.use(i, key_of(i));
  EXPECT_LT(allocation_bytes() - before, 3 * first_bytes) << "twice as many take about twice as much";
}

TEST(flow_table, states_and_slots_stay_while_connections_come) {
  flow_table table(1000, 1'000'000);
  std::vector<flow_table::access> seen;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    seen.push_back(table.use(i, key_of(i)));
    seen.back().state->largest_payload_bytes = i;
    table.set_deadline(seen.back().slot, 5000 - i);
  }
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(table.find(key_of(i)), seen[i].state);
    ASSERT_EQ(&table.at(seen[i].slot), seen[i].state);
    ASSERT_EQ(seen[i].state->largest_payload_bytes, i);
  }
  EXPECT_EQ(table.first_deadline()->slot, seen.back().slot);
}

}  // namespace
}  // namespace perhop::shim
