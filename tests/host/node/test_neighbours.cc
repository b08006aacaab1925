// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/neighbours.hpp"

#include <gtest/gtest.h>

namespace perhop::node {
namespace {

TEST(neighbours, an_ipv6_address_that_holds_a_mac_address_is_known_without_being_told) {
  const neighbours known;
  EXPECT_EQ(known.find({0xfe80'0000'0000'0000, 0x0000'00ff'fe00'0003}), 0x02'0000'0000'03U);
  EXPECT_EQ(known.find({0xfd70'6572'686f'0070, 0xa8bb'ccff'fedd'eeff}), 0xaabb'ccdd'eeffU);
  EXPECT_FALSE(known.find({0xfe80'0000'0000'0000, 0x1234'5678'9abc'def0}));
}

TEST(neighbours, what_is_configured_wins_over_what_is_learnt) {
  neighbours known;
  const auto address = shim::ip_address::from_ipv4(0x0a000002);
  EXPECT_FALSE(known.find(address));
  known.learn(address, 7);
  EXPECT_EQ(known.find(address), 7U);
  known.add(address, 9);
  known.learn(address, 8);
  EXPECT_EQ(known.find(address), 9U);
}

TEST(neighbours, learning_is_bounded) {
  neighbours known;
  for (std::uint32_t address = 0; address < 100'000; ++address) known.learn(shim::ip_address::from_ipv4(address), address);
  EXPECT_EQ(known.find(shim::ip_address::from_ipv4(99'999)), 99'999U);
  EXPECT_FALSE(known.find(shim::ip_address::from_ipv4(0)));
}

TEST(neighbours, the_slot_given_out_longest_ago_makes_room) {
  neighbours known;
  for (std::uint64_t mac = 1; mac <= neighbour_slots; ++mac) {
    EXPECT_EQ(known.slot_of(mac).index, mac - 1);
    EXPECT_FALSE(known.slot_of(mac).replaced);
  }
  const auto seventeenth = known.slot_of(100);
  EXPECT_EQ(seventeenth.index, 0);
  EXPECT_TRUE(seventeenth.replaced);
  EXPECT_FALSE(known.slot_of(100).replaced);
  EXPECT_EQ(known.slot_of(1).index, 1);
}

}  // namespace
}  // namespace perhop::node
