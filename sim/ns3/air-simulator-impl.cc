// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/air-simulator-impl.h"

#include "ns3/assert.h"
#include "ns3/event-impl.h"
#include "ns3/nstime.h"
#include "ns3/object-factory.h"
#include "ns3/simulator.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(AirSimulatorImpl);

TypeId
AirSimulatorImpl::GetTypeId()
{
    static TypeId tid = TypeId("perhop::AirSimulatorImpl").SetParent<SimulatorImpl>().AddConstructor<AirSimulatorImpl>();
    return tid;
}

AirSimulatorImpl::AirSimulatorImpl()
    : m_currentContext(Simulator::NO_CONTEXT)
{
}

AirSimulatorImpl::~AirSimulatorImpl() = default;

void
AirSimulatorImpl::DoDispose()
{
    DropPendingEvents();
    SimulatorImpl::DoDispose();
}

void
AirSimulatorImpl::DropPendingEvents()
{
    while (!m_events.IsEmpty())
    {
        m_events.Pop().impl->Unref();
    }
}

void
AirSimulatorImpl::SetTickSource(TickSource* source)
{
    m_source = source;
}

void
AirSimulatorImpl::SetPoll(std::function<bool()> poll)
{
    m_poll = std::move(poll);
}

void
AirSimulatorImpl::Destroy()
{
    while (!m_destroyEvents.empty())
    {
        const Ptr<EventImpl> event = m_destroyEvents.front().PeekEventImpl();
        m_destroyEvents.pop_front();
        if (!event->IsCancelled())
        {
            event->Invoke();
        }
    }
}

bool
AirSimulatorImpl::IsFinished() const
{
    return m_stop || (m_events.IsEmpty() && (m_source == nullptr || m_source->NextTick() == TickSource::NEVER));
}

void
AirSimulatorImpl::Stop()
{
    m_stop = true;
}

EventId
AirSimulatorImpl::Stop(const Time& delay)
{
    return Simulator::Schedule(delay, &Simulator::Stop);
}

EventId
AirSimulatorImpl::Insert(uint32_t context, const Time& delay, EventImpl* event)
{
    NS_ASSERT_MSG(!delay.IsStrictlyNegative(), "an event cannot be scheduled in the past: delay " << delay);
    const PendingEvent pending{m_currentTs + static_cast<uint64_t>(delay.GetTimeStep()), m_uid, context, event};
    ++m_uid;
    m_events.Push(pending);
    return EventId(Ptr<EventImpl>(event), pending.ts, pending.context, pending.uid);
}

EventId
AirSimulatorImpl::Schedule(const Time& delay, EventImpl* event)
{
    return Insert(m_currentContext, delay, event);
}

void
AirSimulatorImpl::ScheduleWithContext(uint32_t context, const Time& delay, EventImpl* event)
{
    Insert(context, delay, event);
}

EventId
AirSimulatorImpl::ScheduleNow(EventImpl* event)
{
    return Insert(m_currentContext, TimeStep(0), event);
}

EventId
AirSimulatorImpl::ScheduleDestroy(EventImpl* event)
{
    EventId id(Ptr<EventImpl>(event, false), m_currentTs, Simulator::NO_CONTEXT, EventId::UID::DESTROY);
    m_destroyEvents.push_back(id);
    ++m_uid;
    return id;
}

void
AirSimulatorImpl::Remove(const EventId& id)
{
    if (id.GetUid() == EventId::UID::DESTROY)
    {
        m_destroyEvents.remove(id);
        return;
    }
    if (IsExpired(id))
    {
        return;
    }
    EventImpl* impl = id.PeekEventImpl();
    impl->Cancel();
    if (m_events.Erase(id.GetUid()))
    {
        impl->Unref();
    }
}

void
AirSimulatorImpl::Cancel(const EventId& id)
{
    // The event stays queued and is dropped when its time comes: timers are cancelled for every packet, and finding one would cost
    // more than keeping it.
    if (!IsExpired(id))
    {
        id.PeekEventImpl()->Cancel();
    }
}

bool
AirSimulatorImpl::IsExpired(const EventId& id) const
{
    const EventImpl* impl = id.PeekEventImpl();
    if (impl == nullptr || id.PeekEventImpl()->IsCancelled())
    {
        return true;
    }
    if (id.GetUid() == EventId::UID::DESTROY)
    {
        for (const EventId& pending : m_destroyEvents)
        {
            if (pending == id)
            {
                return false;
            }
        }
        return true;
    }
    return id.GetTs() < m_currentTs || (id.GetTs() == m_currentTs && id.GetUid() <= m_currentUid);
}

void
AirSimulatorImpl::Run()
{
    constexpr uint32_t STEPS_PER_POLL = 4096;
    uint32_t steps = 0;
    m_stop = false;
    while (!m_stop)
    {
        if (m_poll && ++steps == STEPS_PER_POLL)
        {
            steps = 0;
            if (!m_poll())
            {
                break;
            }
        }

        const uint64_t nextTs = m_events.IsEmpty() ? TickSource::NEVER : m_events.Top().ts;
        const uint64_t nextTick = m_source == nullptr ? TickSource::NEVER : m_source->NextTick();
        if (nextTick != TickSource::NEVER && nextTick <= nextTs)
        {
            NS_ASSERT_MSG(nextTick >= m_currentTs, "the air's next event lies in the past");
            if (nextTick != m_currentTs)
            {
                m_currentTs = nextTick;
                m_currentUid = 0; // no ns-3 event of this time has run yet
            }
            m_currentContext = Simulator::NO_CONTEXT;
            m_source->RunTick();
            continue;
        }
        if (nextTs == TickSource::NEVER)
        {
            break;
        }

        const PendingEvent next = m_events.Pop();
        m_currentTs = next.ts;
        m_currentUid = next.uid;
        m_currentContext = next.context;
        ++m_eventCount;
        next.impl->Invoke();
        next.impl->Unref();
    }
    m_currentContext = Simulator::NO_CONTEXT;
}

Time
AirSimulatorImpl::Now() const
{
    return TimeStep(m_currentTs);
}

Time
AirSimulatorImpl::GetDelayLeft(const EventId& id) const
{
    return IsExpired(id) ? TimeStep(0) : TimeStep(id.GetTs() - m_currentTs);
}

Time
AirSimulatorImpl::GetMaximumSimulationTime() const
{
    return TimeStep(static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
}

void
AirSimulatorImpl::SetScheduler(ObjectFactory)
{
    // ns-3 hands every implementation its default scheduler. This one keeps its own heap.
}

uint32_t
AirSimulatorImpl::GetSystemId() const
{
    return 0;
}

uint32_t
AirSimulatorImpl::GetContext() const
{
    return m_currentContext;
}

uint64_t
AirSimulatorImpl::GetEventCount() const
{
    return m_eventCount;
}

} // namespace ns3
