// SPDX-License-Identifier: GPL-2.0-or-later
//
// What one UDP flow did: over the measured part of the run, and over each interval of it.
#pragma once

#include "sim/ns3/flow.h"
#include "sim/run/run_report.hpp"

#include <array>
#include <cstdint>

namespace ns3
{

/// Counts of delays in steps of 1/16 octave, so that a quantile is known to 4 % without keeping the samples.
class DelayHistogram
{
  public:
    void Add(uint64_t delayUs);
    void Clear();

    /// The upper edge of the step that holds this quantile; 0 without samples.
    double QuantileUs(double share) const;

  private:
    static constexpr std::size_t STEPS_PER_OCTAVE = 16;
    std::array<uint64_t, 40 * STEPS_PER_OCTAVE> m_counts{};
    uint64_t m_total = 0;
};

class UdpStatistics
{
  public:
    /// @param measureFromUs what is earlier does not count
    /// @param lossUntilUs packets that left later may be on their way at the end, so they do not count as lost
    UdpStatistics(uint32_t payloadBytes, uint64_t measureFromUs, uint64_t lossUntilUs);

    void OnSent(uint64_t nowUs);
    void OnDelivered(uint64_t nowUs, uint64_t sentUs, uint32_t payloadBytes);

    void StartMeasuring(uint64_t nowUs);
    FlowInterval TakeInterval(uint64_t nowUs);
    perhop::run::flow_result GetResult(uint64_t nowUs) const;

  private:
    /// Sums that start anew with the measurement or with an interval.
    struct Sums
    {
        uint64_t sinceUs = 0;
        uint64_t sent = 0;
        uint64_t delivered = 0;
        uint64_t deliveredBytes = 0;
        uint64_t delaySumUs = 0;

        double GoodputBps(uint64_t nowUs) const;
        double DelayMs() const;
    };

    uint32_t m_payloadBytes;
    uint64_t m_measureFromUs;
    uint64_t m_lossUntilUs;
    Sums m_run;
    Sums m_interval;
    DelayHistogram m_delays;
    uint64_t m_lossSent = 0;      ///< left in [m_measureFromUs, m_lossUntilUs)
    uint64_t m_lossDelivered = 0; ///< of these
};

} // namespace ns3
