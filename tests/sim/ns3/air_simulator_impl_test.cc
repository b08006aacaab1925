// SPDX-License-Identifier: GPL-2.0-or-later
//
// The simulator's loop: order of events and of the air's ticks, cancelling, contexts.

#include "sim/ns3/air-simulator-impl.h"

#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace simulator_test
{

using namespace ns3;

/// An air that does what a test says, at the ticks that a test says.
class FakeAir : public TickSource
{
  public:
    std::multimap<uint64_t, std::function<void()>> ticks;

    uint64_t NextTick() const override
    {
        return ticks.empty() ? NEVER : ticks.begin()->first;
    }

    void RunTick() override
    {
        const uint64_t now = ticks.begin()->first;
        while (!ticks.empty() && ticks.begin()->first == now)
        {
            const auto action = ticks.extract(ticks.begin()).mapped();
            action();
        }
    }
};

class AirSimulatorImplTest : public testing::Test
{
  protected:
    AirSimulatorImplTest()
    {
        if (Time::GetResolution() != Time::US)
        {
            Time::SetResolution(Time::US);
        }
        m_impl = CreateObject<AirSimulatorImpl>();
        Simulator::SetImplementation(m_impl);
        m_impl->SetTickSource(&m_air);
    }

    ~AirSimulatorImplTest() override
    {
        Simulator::Destroy();
    }

    /// Notes what ran and when.
    std::function<void()> Note(const std::string& name)
    {
        return [this, name]
        {
            m_log.push_back(name + "@" + std::to_string(Simulator::Now().GetMicroSeconds()));
        };
    }

    using Log = std::vector<std::string>;

    FakeAir m_air;
    Ptr<AirSimulatorImpl> m_impl;
    Log m_log;
};

TEST_F(AirSimulatorImplTest, EventsRunInOrderOfTimeAndThenOfScheduling)
{
    Simulator::Schedule(MicroSeconds(5), Note("c"));
    Simulator::Schedule(MicroSeconds(2), Note("a"));
    Simulator::Schedule(MicroSeconds(5), Note("d"));
    Simulator::Schedule(MicroSeconds(3), Note("b"));
    Simulator::Run();
    EXPECT_EQ(m_log, (Log{"a@2", "b@3", "c@5", "d@5"}));
    EXPECT_EQ(Simulator::GetEventCount(), 4U);
}

TEST_F(AirSimulatorImplTest, ManyRandomEventsRunInOrder)
{
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<std::pair<uint64_t, int>> ran;
    std::vector<std::pair<uint64_t, int>> expected;
    std::vector<EventId> events;
    for (int i = 0; i < 2000; ++i)
    {
        const uint64_t at = random() % 500;
        events.push_back(Simulator::Schedule(MicroSeconds(at),
                                             [&ran, i]
                                             {
                                                 ran.emplace_back(Simulator::Now().GetMicroSeconds(), i);
                                             }));
        if (random() % 3 != 0)
        {
            expected.emplace_back(at, i);
        }
        else if (random() % 2 == 0)
        {
            Simulator::Cancel(events.back());
        }
        else
        {
            Simulator::Remove(events.back());
        }
    }
    Simulator::Run();
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(ran, expected);
}

TEST_F(AirSimulatorImplTest, TheAirRunsBetweenEventsAndFirstOnATie)
{
    Simulator::Schedule(MicroSeconds(10), Note("ns3"));
    Simulator::Schedule(MicroSeconds(20), Note("ns3"));
    m_air.ticks.emplace(3, Note("air"));
    m_air.ticks.emplace(10, Note("air"));
    m_air.ticks.emplace(15, Note("air"));
    m_air.ticks.emplace(25, Note("air"));
    Simulator::Run();
    EXPECT_EQ(m_log, (Log{"air@3", "air@10", "ns3@10", "air@15", "ns3@20", "air@25"}));
    EXPECT_EQ(Simulator::GetEventCount(), 2U) << "the air's ticks are no ns-3 events";
}

TEST_F(AirSimulatorImplTest, WhatTheAirSchedulesForNowRunsAtThatTickAndBeforeLaterTicks)
{
    m_air.ticks.emplace(7,
                        [this]
                        {
                            Note("air")();
                            Simulator::ScheduleNow(Note("now"));
                            Simulator::Schedule(MicroSeconds(1), Note("next"));
                        });
    m_air.ticks.emplace(9, Note("air"));
    Simulator::Run();
    EXPECT_EQ(m_log, (Log{"air@7", "now@7", "next@8", "air@9"}));
}

TEST_F(AirSimulatorImplTest, AnEventMayMakeTheAirDueAtOnce)
{
    Simulator::Schedule(MicroSeconds(4),
                        [this]
                        {
                            Note("submit")();
                            m_air.ticks.emplace(4, Note("air"));
                        });
    Simulator::Schedule(MicroSeconds(4), Note("other"));
    Simulator::Run();
    EXPECT_EQ(m_log, (Log{"submit@4", "air@4", "other@4"}));
}

TEST_F(AirSimulatorImplTest, AnUpcallRunsInItsNodesContextAndSchedulesInIt)
{
    std::vector<uint32_t> contexts;
    const auto note = [&contexts]
    {
        contexts.push_back(Simulator::GetContext());
    };
    m_air.ticks.emplace(1,
                        [&]
                        {
                            note();
                            {
                                const AirSimulatorImpl::ContextGuard guard(*m_impl, 42);
                                note();
                                Simulator::Schedule(MicroSeconds(1), note);
                            }
                            note();
                        });
    Simulator::ScheduleWithContext(7, MicroSeconds(5), note);
    Simulator::Run();
    EXPECT_EQ(contexts, (std::vector<uint32_t>{Simulator::NO_CONTEXT, 42, Simulator::NO_CONTEXT, 42, 7}));
}

TEST_F(AirSimulatorImplTest, ACancelledOrRemovedEventDoesNotRunAndIsExpired)
{
    const EventId cancelled = Simulator::Schedule(MicroSeconds(5), Note("cancelled"));
    const EventId removed = Simulator::Schedule(MicroSeconds(5), Note("removed"));
    const EventId kept = Simulator::Schedule(MicroSeconds(6), Note("kept"));
    EXPECT_FALSE(cancelled.IsExpired());
    Simulator::Cancel(cancelled);
    Simulator::Remove(removed);
    EXPECT_TRUE(cancelled.IsExpired());
    EXPECT_TRUE(removed.IsExpired());
    EXPECT_FALSE(kept.IsExpired());
    EXPECT_EQ(Simulator::GetDelayLeft(kept), MicroSeconds(6));
    Simulator::Run();
    EXPECT_EQ(m_log, (Log{"kept@6"}));
    EXPECT_TRUE(kept.IsExpired());
    EXPECT_EQ(Simulator::GetDelayLeft(kept), MicroSeconds(0));
    Simulator::Cancel(kept); // harmless
}

TEST_F(AirSimulatorImplTest, RemovingReleasesTheEventAtOnce)
{
    const auto owned = std::make_shared<int>(1);
    const EventId event = Simulator::Schedule(MicroSeconds(5),
                                              [owned]
                                              {
                                              });
    Simulator::Remove(event);
    EXPECT_EQ(owned.use_count(), 2) << "only the EventId holds it";
}

TEST_F(AirSimulatorImplTest, AnOldEventOfTheAirsTickIsStillPending)
{
    // Scheduled early (small uid) for a time at which the air runs after younger events (large uid) have run.
    bool expired = true;
    EventId old;
    Simulator::Schedule(MicroSeconds(1),
                        [&]
                        {
                            old = Simulator::Schedule(MicroSeconds(9), Note("old"));
                            Simulator::Schedule(MicroSeconds(4), Note("young"));
                        });
    m_air.ticks.emplace(10,
                        [&]
                        {
                            expired = old.IsExpired();
                        });
    Simulator::Run();
    EXPECT_FALSE(expired);
    EXPECT_EQ(m_log, (Log{"young@5", "old@10"}));
}

TEST_F(AirSimulatorImplTest, TheRunningEventIsExpired)
{
    EventId self;
    bool expired = false;
    self = Simulator::Schedule(MicroSeconds(1),
                               [&]
                               {
                                   expired = self.IsExpired();
                               });
    Simulator::Run();
    EXPECT_TRUE(expired);
}

TEST_F(AirSimulatorImplTest, StopEndsTheRunAtItsTimeAndARunCanGoOn)
{
    Simulator::Schedule(MicroSeconds(3), Note("a"));
    m_air.ticks.emplace(30, Note("air"));
    Simulator::Schedule(MicroSeconds(40), Note("b"));
    Simulator::Stop(MicroSeconds(20));
    Simulator::Run();
    EXPECT_EQ(m_log, (Log{"a@3"}));
    EXPECT_EQ(Simulator::Now(), MicroSeconds(20));
    Simulator::Run();
    EXPECT_EQ(m_log, (Log{"a@3", "air@30", "b@40"}));
}

TEST_F(AirSimulatorImplTest, DestroyEventsRunAtDestroyUnlessCancelled)
{
    int destroyed = 0;
    Simulator::ScheduleDestroy(
        [&destroyed]
        {
            destroyed += 1;
        });
    const EventId cancelled = Simulator::ScheduleDestroy(
        [&destroyed]
        {
            destroyed += 10;
        });
    const EventId removed = Simulator::ScheduleDestroy(
        [&destroyed]
        {
            destroyed += 100;
        });
    EXPECT_FALSE(cancelled.IsExpired());
    Simulator::Cancel(cancelled);
    Simulator::Remove(removed);
    EXPECT_TRUE(removed.IsExpired());
    Simulator::Run();
    EXPECT_EQ(destroyed, 0);
    Simulator::Destroy();
    EXPECT_EQ(destroyed, 1);
}

TEST_F(AirSimulatorImplTest, ThePollEndsARun)
{
    int polls = 0;
    m_impl->SetPoll(
        [&polls]
        {
            return ++polls < 3;
        });
    std::function<void()> again = [&again]
    {
        Simulator::Schedule(MicroSeconds(1), again);
    };
    again();
    Simulator::Run();
    EXPECT_EQ(polls, 3);
    EXPECT_GT(Simulator::Now(), MicroSeconds(1000));
}

} // namespace simulator_test
