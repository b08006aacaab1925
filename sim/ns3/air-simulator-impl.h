// SPDX-License-Identifier: GPL-2.0-or-later
//
// ns-3's simulator loop, with the air as a second source of events.
//
// Stock ns-3 would need one of its events for every event of the medium. Here the loop asks the air for its next tick and lets it run
// as long as that is not later than the next ns-3 event, so a frame on the air costs ns-3 nothing. On a tie the air goes first: what
// the medium delivers at a time is known to whatever ns-3 does at that time.
//
// One ns-3 time step is one tick of the air, that is one microsecond: call Time::SetResolution(Time::US) before anything else.
// Single-threaded: ScheduleWithContext from another thread is not supported.
#pragma once

#include "sim/ns3/event-heap.h"

#include "ns3/simulator-impl.h"

#include <functional>
#include <limits>
#include <list>

namespace ns3
{

/// A source of events beside ns-3's own.
class TickSource
{
  public:
    static constexpr uint64_t NEVER = std::numeric_limits<uint64_t>::max();

    virtual ~TickSource() = default;

    /// Time of its next event; NEVER when it has none. Never earlier than the simulation's time.
    virtual uint64_t NextTick() const = 0;

    /// Process all events of that tick. Calls ns-3 for a node through AirSimulatorImpl::ContextGuard.
    virtual void RunTick() = 0;
};

class AirSimulatorImpl : public SimulatorImpl
{
  public:
    static TypeId GetTypeId();

    AirSimulatorImpl();
    ~AirSimulatorImpl() override;

    /// Does not own it. nullptr: only ns-3 events.
    void SetTickSource(TickSource* source);

    /// `poll` is called every few thousand steps of the loop and ends the run by returning false. For progress and signals.
    void SetPoll(std::function<bool()> poll);

    /// ns-3 code called from the tick source runs in a node's context while this lives (Node::ReceiveFromDevice asserts it).
    class ContextGuard
    {
      public:
        ContextGuard(AirSimulatorImpl& simulator, uint32_t context)
            : m_simulator(simulator),
              m_outer(simulator.m_currentContext)
        {
            m_simulator.m_currentContext = context;
        }

        ~ContextGuard()
        {
            m_simulator.m_currentContext = m_outer;
        }

        ContextGuard(const ContextGuard&) = delete;
        ContextGuard& operator=(const ContextGuard&) = delete;

      private:
        AirSimulatorImpl& m_simulator;
        uint32_t m_outer;
    };

    uint64_t NowTick() const
    {
        return m_currentTs;
    }

    // Inherited from SimulatorImpl
    void Destroy() override;
    bool IsFinished() const override;
    void Stop() override;
    EventId Stop(const Time& delay) override;
    EventId Schedule(const Time& delay, EventImpl* event) override;
    void ScheduleWithContext(uint32_t context, const Time& delay, EventImpl* event) override;
    EventId ScheduleNow(EventImpl* event) override;
    EventId ScheduleDestroy(EventImpl* event) override;
    void Remove(const EventId& id) override;
    void Cancel(const EventId& id) override;
    bool IsExpired(const EventId& id) const override;
    void Run() override;
    Time Now() const override;
    Time GetDelayLeft(const EventId& id) const override;
    Time GetMaximumSimulationTime() const override;
    void SetScheduler(ObjectFactory schedulerFactory) override;
    uint32_t GetSystemId() const override;
    uint32_t GetContext() const override;
    uint64_t GetEventCount() const override;

  private:
    void DoDispose() override;
    EventId Insert(uint32_t context, const Time& delay, EventImpl* event);
    void DropPendingEvents();

    EventHeap m_events;
    std::list<EventId> m_destroyEvents;
    TickSource* m_source = nullptr;
    std::function<bool()> m_poll;
    uint64_t m_currentTs = 0;
    uint64_t m_eventCount = 0;
    uint32_t m_uid = EventId::UID::VALID;
    uint32_t m_currentUid = 0;
    uint32_t m_currentContext;
    bool m_stop = false;
};

} // namespace ns3
