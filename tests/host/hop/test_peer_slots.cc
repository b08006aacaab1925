// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/hop/peer_slots.hpp"

#include <gtest/gtest.h>

namespace perhop::hop {
namespace {

TEST(peer_slots, the_slot_given_out_longest_ago_makes_room) {
  peer_slots known;
  for (std::uint64_t address = 1; address <= neighbour_slots; ++address) {
    const peer_slots::slot slot = known.of(address);
    EXPECT_EQ(slot.index, address - 1);
    EXPECT_TRUE(slot.is_new);
    EXPECT_FALSE(slot.replaced);
    EXPECT_FALSE(known.of(address).is_new);
  }
  const peer_slots::slot seventeenth = known.of(100);
  EXPECT_EQ(seventeenth.index, 0);
  EXPECT_TRUE(seventeenth.is_new);
  EXPECT_TRUE(seventeenth.replaced);
  EXPECT_FALSE(known.of(100).replaced);
  EXPECT_TRUE(known.is_of(0, 100));
  EXPECT_FALSE(known.is_of(0, 1));
  EXPECT_FALSE(known.is_of(neighbour_slots, 100));
  EXPECT_EQ(known.of(1).index, 1) << "who lost its slot is new again";
}

}  // namespace
}  // namespace perhop::hop
