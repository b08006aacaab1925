// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/neighbours.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <vector>

namespace perhop::node {
namespace {

TEST(neighbours, an_ipv6_address_that_holds_a_mac_address_is_known_without_being_told) {
  const neighbours known;
  EXPECT_EQ(known.find({0xfe80'0000'0000'0000, 0x0000'00ff'fe00'0003}), 0x02'0000'0000'03U);
  EXPECT_EQ(known.find({0xfd70'6572'686f'0070, 0xa8bb'ccff'fedd'eeff}), 0xaabb'ccdd'eeffU);
  EXPECT_FALSE(known.find({0xfe80'0000'0000'0000, 0x1234'5678'9abc'def0}));
}

constexpr policy::time_us second_us = 1'000'000;

shim::ip_address address_of(std::uint32_t number) { return shim::ip_address::from_ipv4(0x0a00'0000 + number); }

/// A neighbour that was sent a packet and has sent a MAC ACK.
void confirm(neighbours& known, policy::time_us now, std::uint32_t number, std::uint64_t mac) {
  known.learn(now, address_of(number), mac);
  known.on_sent(now, address_of(number), mac, true);
}

TEST(neighbours, what_is_configured_wins_over_what_is_learnt) {
  neighbours known;
  EXPECT_FALSE(known.find(address_of(2)));
  known.learn(0, address_of(2), 7);
  EXPECT_EQ(known.find(address_of(2)), 7U);
  known.add(address_of(2), 9);
  known.learn(second_us, address_of(2), 8);
  EXPECT_EQ(known.find(address_of(2)), 9U);
  EXPECT_EQ(known.addresses_of(9), std::vector{address_of(2)});
  EXPECT_TRUE(known.addresses_of(7).empty());
}

TEST(neighbours, a_forged_packet_does_not_move_the_address_of_one_that_answers) {
  neighbours known;
  confirm(known, 0, 2, 7);
  policy::time_us now = 0;
  for (int packet = 0; packet < 10'000; ++packet) {
    known.learn(now += 50'000, address_of(2), 666);
    if (packet % 100 == 0) known.on_sent(now, address_of(2), 7, packet % 500 != 0);  // now and then one is lost
    ASSERT_EQ(known.find(address_of(2)), 7U) << "after " << now << " us";
  }
  EXPECT_EQ(known.newcomers_refused(), 10'000U);
}

TEST(neighbours, one_that_no_longer_answers_is_followed_to_its_new_mac_address) {
  neighbours known;
  confirm(known, 0, 2, 7);
  for (int packet = 0; packet < 2; ++packet) known.on_sent(5 * second_us, address_of(2), 7, false);
  known.learn(5 * second_us, address_of(2), 8);
  EXPECT_EQ(known.find(address_of(2)), 7U) << "two lost packets are no proof";
  known.on_sent(5 * second_us, address_of(2), 7, false);
  known.learn(5 * second_us, address_of(2), 8);
  EXPECT_EQ(known.find(address_of(2)), 8U);
}

TEST(neighbours, what_was_sent_to_the_former_mac_address_says_nothing_of_the_new_one) {
  neighbours known;
  known.learn(0, address_of(2), 7);
  known.learn(2 * second_us, address_of(2), 8);
  known.on_sent(2 * second_us, address_of(2), 7, true);
  known.learn(4 * second_us, address_of(2), 9);
  EXPECT_EQ(known.find(address_of(2)), 9U) << "8 was not confirmed";
}

TEST(neighbours, a_confirmation_ends_after_ten_minutes) {
  neighbours known;
  confirm(known, 0, 2, 7);
  known.learn(neighbours::confirmed_for_us - 1, address_of(2), 8);
  EXPECT_EQ(known.find(address_of(2)), 7U);
  known.learn(neighbours::confirmed_for_us, address_of(2), 8);
  EXPECT_EQ(known.find(address_of(2)), 8U);
}

TEST(neighbours, an_address_that_nobody_has_confirmed_moves_at_most_once_a_second) {
  neighbours known;
  std::uint64_t held = 0;
  int moves = 0;
  for (policy::time_us now = 0; now <= 10 * second_us; now += 10'000) {
    known.learn(now, address_of(2), 1 + now / 10'000 % 2);
    const std::uint64_t mac = *known.find(address_of(2));
    moves += mac != held && held != 0;
    held = mac;
  }
  EXPECT_GE(moves, 5);
  EXPECT_LE(moves, 10);
}

TEST(neighbours, a_group_sends_nothing_and_is_not_learnt) {
  neighbours known;
  known.learn(0, address_of(2), broadcast_address);
  EXPECT_FALSE(known.find(address_of(2)));
}

TEST(neighbours, a_flood_of_forged_addresses_pushes_out_none_that_answers) {
  neighbours known;
  for (std::uint32_t number = 0; number < 40; ++number) confirm(known, number, number, 100 + number);
  known.learn(50, address_of(50), 150);  // heard of last, and not yet asked
  for (std::uint32_t forged = 0; forged < 10 * neighbours::most_learnt; ++forged) {
    known.learn(100 + forged, address_of(1000 + forged), 666);
    if (forged < neighbours::most_learnt - 41) {
      ASSERT_EQ(known.find(address_of(50)), 150U) << "there is still room";
    }
  }
  for (std::uint32_t number = 0; number < 40; ++number) EXPECT_EQ(known.find(address_of(number)), 100 + number);
  EXPECT_EQ(known.find(address_of(1000 + 10 * neighbours::most_learnt - 1)), 666U) << "the newest is known";
  EXPECT_EQ(known.addresses_of(666).size(), neighbours::most_learnt - 40) << "learning is bounded";
}

TEST(neighbours, whatever_happens_in_whatever_order_the_rules_hold) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::minstd_rand random(seed);
    neighbours known;
    struct shadow {
      std::uint64_t mac = 0;
      policy::time_us since = 0;
      std::optional<policy::time_us> confirmed;
      unsigned give_ups = 0;
    };
    std::map<std::uint32_t, shadow> told;
    policy::time_us now = 0;
    for (int step = 0; step < 20'000; ++step) {
      now += random() % 400'000;
      const std::uint32_t number = random() % 30;
      const std::uint64_t mac = 1 + random() % 3;
      shadow& before = told[number];
      if (random() % 2 == 0) {
        known.learn(now, address_of(number), mac);
        const std::uint64_t after = *known.find(address_of(number));
        if (before.mac == 0) {
          ASSERT_EQ(after, mac);
        } else if (after != before.mac) {
          ASSERT_EQ(after, mac);
          ASSERT_FALSE(before.confirmed && now - *before.confirmed < neighbours::confirmed_for_us) << "seed " << seed << " step " << step;
          ASSERT_GE(now - before.since, neighbours::move_interval_us) << "seed " << seed << " step " << step;
        }
        if (after != before.mac) before = {.mac = after, .since = now};
      } else {
        const bool delivered = random() % 3 == 0;
        known.on_sent(now, address_of(number), mac, delivered);
        if (before.mac == mac && delivered) {
          before.confirmed = now;
          before.give_ups = 0;
        } else if (before.mac == mac && ++before.give_ups >= neighbours::give_ups_in_a_row) {
          before.confirmed.reset();
        }
      }
      ASSERT_EQ(known.find(address_of(number)), before.mac == 0 ? std::nullopt : std::optional(before.mac));
    }
  }
}

}  // namespace
}  // namespace perhop::node
