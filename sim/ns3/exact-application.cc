// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/exact-application.h"

#include "host/core/wire/path_header.hpp"

#include <algorithm>
#include <cmath>

namespace ns3
{
namespace
{

/// Sampling rates of sound cards and below, one byte a sample, one channel. The paper names no rates.
constexpr double SAMPLING_HZ[] = {2000, 4000, 5512.5, 8000, 11025, 16000, 22050, 32000, 44100, 48000};

constexpr uint32_t IP_AND_UDP_BYTES = 28;

} // namespace

ExactApplication::ExactApplication(const perhop::run::flow_config& config)
    : m_audio(config.application == perhop::run::exact_application::audio),
      m_payloadBytes(config.payload_bytes),
      m_demandBps(config.demand_bps == 0 ? perhop::wire::unlimited_rate_bps : static_cast<uint64_t>(config.demand_bps)),
      m_diid({.window_us = static_cast<uint64_t>(std::llround(config.diid_s * 1e6))})
{
}

void
ExactApplication::OnSignal(uint64_t nowUs, uint64_t signalBps)
{
    m_signalBps = signalBps;
    if (m_audio)
    {
        m_diid.on_signal(nowUs, signalBps);
        m_rawQuality.Set(FastestBps(signalBps));
    }
}

std::optional<uint64_t>
ExactApplication::GetAllowedBps(uint64_t nowUs)
{
    if (!m_signalBps)
    {
        return std::nullopt;
    }
    return m_audio ? m_diid.allowed_bps(nowUs) : *m_signalBps;
}

void
ExactApplication::Settle(uint64_t nowUs)
{
    if (m_audio && m_signalBps)
    {
        m_quality.Set(FastestBps(m_diid.allowed_bps(nowUs)));
    }
}

uint64_t
ExactApplication::FastestBps(uint64_t rateBps) const
{
    uint64_t best = 0;
    for (const double samplingHz : SAMPLING_HZ)
    {
        const auto bps = static_cast<uint64_t>(std::ceil(samplingHz * 8 * (m_payloadBytes + IP_AND_UDP_BYTES) / m_payloadBytes));
        if (bps <= std::min(rateBps, m_demandBps))
        {
            best = bps;
        }
    }
    return best;
}

} // namespace ns3
