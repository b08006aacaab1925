// SPDX-License-Identifier: GPL-2.0-or-later
//
// Packets between a NetDevice and the end of their transmission. The air carries a slot's index as its cookie, so packets are neither
// copied nor looked up.
#pragma once

#include "host/core/hop/exact_rider.hpp"
#include "host/core/shim/packet_view.hpp"
#include "host/core/wire/path_header.hpp"
#include "sim/air/types.hpp"
#include "sim/ns3/route-frame.h"

#include "ns3/assert.h"
#include "ns3/packet.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace ns3
{

/// A packet on its way through one hop, and what goes with it on the air.
struct PacketSlot
{
    /// From the IP header on, or from TCP's, as its origin sent it: nodes that forward in the shim share it and only count.
    Ptr<const Packet> packet;
    bool headerInView = false;         ///< from TCP's: IP's is what the view says
    uint8_t ttlSpent = 0;              ///< by which the time to live in `packet` is too high
    perhop::shim::ip_packet_view view; ///< of the packet as it is now
    perhop::wire::path_header header;
    perhop::hop::exact_rider exact;          ///< behind the path header
    std::shared_ptr<const RouteFrame> route; ///< by a routing agent; null: none
    bool hello = false;                      ///< `packet` is a hello of EXACT instead: no IP, no path header
    perhop::air::tx_request request;         ///< `payload` is this slot's index
};

class PacketSlots
{
  public:
    /// An unused slot. References to slots stay valid while their packet is on its way.
    PacketSlot& Acquire(uint64_t nowUs)
    {
        if (!m_lingering.empty() && m_lingering.front().releaseUs <= nowUs)
        {
            Release(m_lingering.front().index);
            m_lingering.pop_front();
        }
        if (m_free.empty())
        {
            m_free.push_back(static_cast<uint32_t>(m_slots.size()));
            m_slots.emplace_back();
        }
        const uint32_t index = m_free.back();
        m_free.pop_back();
        m_slots[index].request.payload = index;
        return m_slots[index];
    }

    PacketSlot& Get(uint64_t index)
    {
        NS_ASSERT_MSG(index < m_slots.size() && m_slots[index].packet, "no packet has the cookie " << index);
        return m_slots[index];
    }

    /// The transmission is over and everybody who could receive it has.
    void Release(uint64_t index)
    {
        m_slots[index].packet = nullptr;
        m_free.push_back(static_cast<uint32_t>(index));
    }

    /// The same for a group frame: its sender is done with it at its end, its receivers a propagation time later.
    void ReleaseGroup(uint64_t index, uint64_t nowUs)
    {
        m_lingering.push_back({index, nowUs + GROUP_LINGER_US});
    }

  private:
    // Far above the propagation time of any radio here (300 km).
    static constexpr uint64_t GROUP_LINGER_US = 1000;

    struct Lingering
    {
        uint64_t index;
        uint64_t releaseUs;
    };

    std::deque<PacketSlot> m_slots; ///< a deque, because a device's upcall may add slots
    std::vector<uint32_t> m_free;
    std::deque<Lingering> m_lingering;
};

} // namespace ns3
