// SPDX-License-Identifier: GPL-2.0-or-later
//
// Drop-tail interface queue above the MAC: what waits for room in the MAC's own queue. A ring of slot indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3
{

class InterfaceQueue
{
  public:
    /// @param limitPackets at least 1
    explicit InterfaceQueue(std::size_t limitPackets)
        : m_ring(limitPackets)
    {
    }

    bool IsEmpty() const
    {
        return m_waiting == 0;
    }

    bool IsFull() const
    {
        return m_waiting == m_ring.size();
    }

    std::size_t GetWaitingPackets() const
    {
        return m_waiting;
    }

    /// @return false when it is full: the newest packet is the one that is lost
    bool Push(uint64_t slot)
    {
        if (IsFull())
        {
            return false;
        }
        m_ring[(m_first + m_waiting) % m_ring.size()] = slot;
        ++m_waiting;
        return true;
    }

    /// Requires !IsEmpty().
    uint64_t Pop()
    {
        const uint64_t slot = m_ring[m_first];
        m_first = (m_first + 1) % m_ring.size();
        --m_waiting;
        return slot;
    }

    /// Takes out every slot for which `unwanted(slot)`; the others keep their order.
    template <typename Predicate>
    void RemoveIf(Predicate&& unwanted)
    {
        std::size_t kept = 0;
        for (std::size_t place = 0; place < m_waiting; ++place)
        {
            const uint64_t slot = m_ring[(m_first + place) % m_ring.size()];
            if (!unwanted(slot))
            {
                m_ring[(m_first + kept) % m_ring.size()] = slot;
                ++kept;
            }
        }
        m_waiting = kept;
    }

  private:
    std::vector<uint64_t> m_ring;
    std::size_t m_first = 0;
    std::size_t m_waiting = 0;
};

} // namespace ns3
