// SPDX-License-Identifier: GPL-2.0-or-later
//
// Mean over time of a value that changes in steps.
#pragma once

#include <cstdint>
#include <optional>

namespace ns3
{

class TimeMean
{
  public:
    /// From now on the value is `value`. The mean starts at the first one.
    void Set(uint64_t nowUs, double value)
    {
        Accumulate(nowUs);
        m_value = value;
    }

    /// Forget the past but keep the value.
    void Restart(uint64_t nowUs)
    {
        m_sum = 0;
        m_totalUs = 0;
        m_sinceUs = nowUs;
    }

    /// Mean since the first value or the last restart; the value itself when no time has passed; nothing without a value.
    std::optional<double> Mean(uint64_t nowUs)
    {
        Accumulate(nowUs);
        return m_totalUs == 0 ? m_value : m_sum / static_cast<double>(m_totalUs);
    }

  private:
    void Accumulate(uint64_t nowUs)
    {
        if (m_value)
        {
            m_sum += *m_value * static_cast<double>(nowUs - m_sinceUs);
            m_totalUs += nowUs - m_sinceUs;
        }
        m_sinceUs = nowUs;
    }

    std::optional<double> m_value;
    double m_sum = 0;
    uint64_t m_totalUs = 0;
    uint64_t m_sinceUs = 0;
};

} // namespace ns3
