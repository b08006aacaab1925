// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/accounts.hpp"

#include <gtest/gtest.h>

namespace perhop::node {
namespace {

completion_record record(std::uint8_t peer, tx_result result = tx_result::delivered) {
  completion_record done{};
  done.peer = peer;
  done.result = result;
  done.bytes = 100;
  done.rts_attempts = 2;
  done.data_attempts = 1;
  done.t_enqueue_us = 0xffff'ff00U;  // the 32-bit clock wraps in between
  done.t_head_us = 0x10;
  done.t_done_us = 0x10 + 700;
  done.queue_us = done.t_head_us - done.t_enqueue_us;
  done.backoff_us = 300;
  done.data_us = 400;
  return done;
}

TEST(neighbour_accounts, sums_the_parts_of_each_neighbour) {
  neighbour_accounts accounts;
  accounts.open(3, 42);
  accounts.open(4, 43);
  accounts.note_given(3, 5);
  accounts.note_done(1000, record(3));
  accounts.note_done(2000, record(3, tx_result::short_retry_limit));
  const neighbour_account& account = accounts.all()[3];
  EXPECT_EQ(account.packets, 2U);
  EXPECT_EQ(account.drops, 1U);
  EXPECT_EQ(account.bytes, 100U) << "of delivered packets";
  EXPECT_EQ(account.rts_attempts, 4U);
  EXPECT_EQ(account.retries, 2U) << "one RTS in vain each";
  EXPECT_EQ(account.sum_mismatches, 0U);
  EXPECT_EQ(account.service_us, 1400U);
  EXPECT_EQ(account.longest_service_us, 700U);
  EXPECT_EQ(account.host_queue_us, 5U);
  EXPECT_EQ(account.histogram[3], 2U) << "512 us to 1023 us";
  std::uint64_t without_queue_us = 0;
  for (std::size_t part = 0; part < service_time_parts.size(); ++part) {
    if (service_time_parts[part].name != "queue_us") without_queue_us += account.parts_us[part];
  }
  EXPECT_EQ(without_queue_us, account.service_us);
  EXPECT_EQ(accounts.all()[4].packets, 0U);
}

TEST(neighbour_accounts, counts_packets_whose_parts_do_not_sum_to_the_whole) {
  neighbour_accounts accounts;
  accounts.open(3, 42);
  completion_record wrong = record(3);
  wrong.backoff_us += 1;
  accounts.note_done(1000, wrong);
  EXPECT_EQ(accounts.all()[3].sum_mismatches, 1U);
}

TEST(neighbour_accounts, another_neighbour_in_the_slot_begins_anew) {
  neighbour_accounts accounts;
  accounts.open(3, 42);
  accounts.note_done(1000, record(3));
  accounts.open(3, 42);
  EXPECT_EQ(accounts.all()[3].packets, 1U);
  accounts.open(3, 44);
  EXPECT_EQ(accounts.all()[3].packets, 0U);
  EXPECT_EQ(accounts.all()[3].address, 44U);
}

shim::flow_key key(std::uint16_t port) {
  return {.source = shim::ip_address::from_ipv4(1), .destination = shim::ip_address::from_ipv4(2), .source_port = port};
}

TEST(flow_accounts, counts_by_flow_and_by_what_the_node_does_with_it) {
  flow_accounts accounts;
  accounts.note(1, key(1), flow_role::originated, 100);
  accounts.note(2, key(1), flow_role::originated, 50);
  accounts.note(3, key(1), flow_role::received, 7);
  accounts.note(4, key(2), flow_role::originated, 9);
  const auto flows = accounts.latest(10);
  ASSERT_EQ(flows.size(), 3U);
  EXPECT_EQ(flows[0].key, key(2));
  EXPECT_EQ(flows[2].packets, 2U);
  EXPECT_EQ(flows[2].bytes, 150U);
  EXPECT_EQ(accounts.latest(2).size(), 2U);
}

TEST(flow_accounts, a_busy_flow_survives_a_port_scan) {
  flow_accounts accounts;
  policy::time_us now = 0;
  for (std::uint32_t port = 0; port < 60'000; ++port) {
    accounts.note(++now, key(static_cast<std::uint16_t>(port)), flow_role::received, 40);
    accounts.note(++now, key(65'000), flow_role::originated, 1);
  }
  const auto flows = accounts.latest(1000);
  EXPECT_LE(flows.size(), 512U);
  EXPECT_EQ(flows[0].key, key(65'000));
  EXPECT_EQ(flows[0].packets, 60'000U);
}

}  // namespace
}  // namespace perhop::node
