// SPDX-License-Identifier: GPL-2.0-or-later
//
// The retransmission timeout of 4.4BSD's TCP, in ticks of its slow clock.
//
// Source: FreeBSD 2.2.4, netinet/tcp_input.c (tcp_xmit_timer) and tcp_timer.c; V. Jacobson, "Congestion avoidance and control", 1988;
// P. Karn, C. Partridge, "Improving round-trip time estimates in reliable transport protocols", 1987: a timeout that was backed off stays
// so until a segment that was sent once has been timed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace ns3
{

class BsdTimeout
{
  public:
    static constexpr uint32_t LEAST_TICKS = 2;     ///< 1 s
    static constexpr uint32_t LARGEST_TICKS = 128; ///< 64 s
    static constexpr uint32_t LARGEST_SHIFT = 6;

    /// A segment that was sent once was acknowledged. @param ticks 1 + those of the slow clock in between
    void OnSample(int32_t ticks)
    {
        if (m_smoothed32 != 0)
        {
            int32_t delta4 = (ticks - 1) * 4 - m_smoothed32 / 8;
            m_smoothed32 = std::max(1, m_smoothed32 + delta4);
            delta4 = std::abs(delta4) - m_deviation16 / 4;
            m_deviation16 = std::max(1, m_deviation16 + delta4);
        }
        else
        {
            m_smoothed32 = ticks * 32;
            m_deviation16 = ticks * 8;
        }
        m_shift = 0;
        m_ticks = InRange(Estimate(), std::max<uint32_t>(LEAST_TICKS, static_cast<uint32_t>(ticks) + 2));
    }

    /// The timer expired.
    void OnTimeout()
    {
        m_shift = std::min(m_shift + 1, MOST_SHIFTS);
        m_ticks = InRange(Estimate() << std::min(m_shift, LARGEST_SHIFT), LEAST_TICKS);
        if (m_shift > MOST_SHIFTS / 4)
        {
            // So far off, the mean means nothing any more: the next sample is the new one. Until then the timeout stays what it is.
            m_deviation16 += m_smoothed32 / 32;
            m_smoothed32 = 0;
        }
    }

    uint32_t Ticks() const
    {
        return m_ticks;
    }

  private:
    static constexpr uint32_t MOST_SHIFTS = 12;

    uint32_t Estimate() const
    {
        return static_cast<uint32_t>((m_smoothed32 / 8 + m_deviation16) / 4);
    }

    static uint32_t InRange(uint32_t ticks, uint32_t least)
    {
        return std::clamp(ticks, least, LARGEST_TICKS);
    }

    int32_t m_smoothed32 = 0;   ///< mean round trip, 1/32 tick; 0: none yet
    int32_t m_deviation16 = 24; ///< its mean deviation, 1/16 tick: together 3 s
    uint32_t m_shift = 0;
    uint32_t m_ticks = 6;
};

} // namespace ns3
