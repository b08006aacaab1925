// SPDX-License-Identifier: GPL-2.0-or-later
//
// The pending ns-3 events, earliest first; events of one time in the order in which they were scheduled.
//
// A four-way heap in one array: a run has a few hundred pending events (mostly TCP timers), which then sit in a few cache lines, and
// nothing is allocated for an event beyond the EventImpl that ns-3 makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3
{

class EventImpl;

/// One pending event. The heap does not own `impl`.
struct PendingEvent
{
    uint64_t ts;      ///< time in ns-3 time steps
    uint32_t uid;     ///< order of scheduling
    uint32_t context; ///< node id
    EventImpl* impl;

    bool Before(const PendingEvent& other) const
    {
        return ts != other.ts ? ts < other.ts : uid < other.uid;
    }
};

class EventHeap
{
  public:
    bool IsEmpty() const
    {
        return m_events.empty();
    }

    std::size_t GetSize() const
    {
        return m_events.size();
    }

    const PendingEvent& Top() const
    {
        return m_events.front();
    }

    void Push(const PendingEvent& event)
    {
        m_events.push_back(event);
        SiftUp(m_events.size() - 1);
    }

    PendingEvent Pop()
    {
        const PendingEvent top = m_events.front();
        EraseAt(0);
        return top;
    }

    /// Take one event out before its time; linear in the number of events. @return false when it is not there
    bool Erase(uint32_t uid)
    {
        for (std::size_t i = 0; i < m_events.size(); ++i)
        {
            if (m_events[i].uid == uid)
            {
                EraseAt(i);
                return true;
            }
        }
        return false;
    }

  private:
    static constexpr std::size_t WAYS = 4;

    void EraseAt(std::size_t hole)
    {
        const PendingEvent last = m_events.back();
        m_events.pop_back();
        if (hole == m_events.size())
        {
            return;
        }
        m_events[hole] = last;
        SiftDown(hole);
        SiftUp(hole);
    }

    void SiftUp(std::size_t i)
    {
        const PendingEvent event = m_events[i];
        while (i > 0)
        {
            const std::size_t parent = (i - 1) / WAYS;
            if (!event.Before(m_events[parent]))
            {
                break;
            }
            m_events[i] = m_events[parent];
            i = parent;
        }
        m_events[i] = event;
    }

    void SiftDown(std::size_t i)
    {
        const PendingEvent event = m_events[i];
        for (;;)
        {
            const std::size_t first = WAYS * i + 1;
            if (first >= m_events.size())
            {
                break;
            }
            std::size_t best = first;
            const std::size_t end = first + WAYS < m_events.size() ? first + WAYS : m_events.size();
            for (std::size_t child = first + 1; child < end; ++child)
            {
                if (m_events[child].Before(m_events[best]))
                {
                    best = child;
                }
            }
            if (!m_events[best].Before(event))
            {
                break;
            }
            m_events[i] = m_events[best];
            i = best;
        }
        m_events[i] = event;
    }

    std::vector<PendingEvent> m_events;
};

} // namespace ns3
