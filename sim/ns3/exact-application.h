// SPDX-License-Identifier: GPL-2.0-or-later
//
// What sends over an EXACT flow. A greedy application takes what the path's rate allows, up to its demand. An audio application samples
// its microphone at one of a few rates: it takes the fastest one that Delayed Increase Immediate Decrease (host/core) lets it.
#pragma once

#include "sim/run/run_config.hpp"

#include "host/core/policy/delayed_increase.hpp"

#include <cstdint>
#include <optional>

namespace ns3
{

class ExactApplication
{
  public:
    explicit ExactApplication(const perhop::run::flow_config& config);

    /// The path's rate is this from now on.
    void OnSignal(uint64_t nowUs, uint64_t signalBps);

    /// What may be used of the path's rate now; nothing before the first signal.
    std::optional<uint64_t> GetAllowedBps(uint64_t nowUs);

    /// Time alone can raise the rate that is allowed, and the quality.
    void Settle(uint64_t nowUs);

    /// What the microphone fills packets at, IP bytes; 0: it is off. Nothing for a greedy application, and before the first signal.
    std::optional<uint64_t> GetQualityBps() const
    {
        return m_quality.rateBps;
    }

    /// What it would like best, and asks the routers for: also while DIID or the steps of quality make it use less, so that its share
    /// stays its own.
    uint64_t GetDemandBps() const
    {
        return m_demandBps;
    }

    bool IsAudio() const
    {
        return m_audio;
    }

    /// Times that the sampling rate changed, and that it would have changed if it had followed the signal at once.
    uint64_t GetQualityChanges() const
    {
        return m_quality.changes;
    }

    uint64_t GetSignalChanges() const
    {
        return m_rawQuality.changes;
    }

  private:
    /// The rate of the fastest sampling that fits into `rateBps`; 0 when none does.
    uint64_t FastestBps(uint64_t rateBps) const;

    /// A quality in use, and how often it changed.
    struct Quality
    {
        std::optional<uint64_t> rateBps;
        uint64_t changes = 0;

        void Set(uint64_t bps)
        {
            changes += rateBps && *rateBps != bps ? 1 : 0;
            rateBps = bps;
        }
    };

    bool m_audio;
    uint32_t m_payloadBytes;
    uint64_t m_demandBps;
    std::optional<uint64_t> m_signalBps;
    perhop::policy::delayed_increase m_diid;
    Quality m_quality;
    Quality m_rawQuality;
};

} // namespace ns3
