// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/interface-queue.h"

#include <gtest/gtest.h>

namespace interface_queue_test
{

using ns3::InterfaceQueue;

TEST(InterfaceQueue, GivesBackInOrderOfArrival)
{
    InterfaceQueue queue(3);
    for (uint64_t round = 0; round < 10; ++round) // goes round the ring
    {
        EXPECT_TRUE(queue.Push(2 * round));
        EXPECT_TRUE(queue.Push(2 * round + 1));
        EXPECT_EQ(queue.Pop(), 2 * round);
        EXPECT_EQ(queue.Pop(), 2 * round + 1);
    }
    EXPECT_TRUE(queue.IsEmpty());
}

TEST(InterfaceQueue, LosesTheNewestWhenFull)
{
    InterfaceQueue queue(2);
    EXPECT_TRUE(queue.Push(1));
    EXPECT_TRUE(queue.Push(2));
    EXPECT_TRUE(queue.IsFull());
    EXPECT_FALSE(queue.Push(3));
    EXPECT_EQ(queue.GetWaitingPackets(), 2U);
    EXPECT_EQ(queue.Pop(), 1U);
    EXPECT_EQ(queue.Pop(), 2U);
}

} // namespace interface_queue_test
