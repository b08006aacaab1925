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

TEST(InterfaceQueue, RemovesWhatIsUnwantedAndKeepsTheOrderOfTheRest)
{
    InterfaceQueue queue(5);
    for (uint64_t slot = 0; slot < 3; ++slot)
    {
        queue.Push(slot);
        queue.Pop();
    }
    for (uint64_t slot = 10; slot < 15; ++slot) // goes round the ring
    {
        queue.Push(slot);
    }
    queue.RemoveIf(
        [](uint64_t slot)
        {
            return slot % 2 == 0;
        });
    EXPECT_EQ(queue.GetWaitingPackets(), 2U);
    EXPECT_TRUE(queue.Push(20));
    EXPECT_EQ(queue.Pop(), 11U);
    EXPECT_EQ(queue.Pop(), 13U);
    EXPECT_EQ(queue.Pop(), 20U);
    EXPECT_TRUE(queue.IsEmpty());
}

} // namespace interface_queue_test
