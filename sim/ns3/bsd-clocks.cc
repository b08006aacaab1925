// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/bsd-clocks.h"

#include "sim/air/mix.hpp"

#include "ns3/rng-seed-manager.h"

#include <algorithm>

namespace ns3
{
namespace
{

constexpr int64_t SLOW_MS = 500;
constexpr int64_t FAST_MS = 200;
constexpr uint64_t LATE_BELOW_US = 1000;

/// A whole number of microseconds below `limit`.
uint64_t
Draw(uint64_t key, uint64_t index, uint64_t limit)
{
    return perhop::air::random_bits(key, index, 0) % limit;
}

} // namespace

BsdClock::BsdClock(Time period, uint64_t key)
    : m_period(period),
      m_key(key)
{
    const auto periodUs = static_cast<uint64_t>(period.GetMicroSeconds());
    m_interrupts.push_back(MicroSeconds(Draw(key, 0, periodUs)));
}

uint64_t
BsdClock::Count(Time now)
{
    GrowBeyond(now);
    return static_cast<uint64_t>(std::upper_bound(m_interrupts.begin(), m_interrupts.end(), now) - m_interrupts.begin());
}

Time
BsdClock::Next(Time now, uint64_t n)
{
    const uint64_t index = Count(now) + n - 1;
    while (index >= m_interrupts.size())
    {
        Grow();
    }
    return m_interrupts[index];
}

Time
BsdClock::GetPeriod() const
{
    return m_period;
}

void
BsdClock::GrowBeyond(Time time)
{
    while (m_interrupts.back() <= time)
    {
        Grow();
    }
}

void
BsdClock::Grow()
{
    m_interrupts.push_back(m_interrupts.back() + m_period + MicroSeconds(Draw(m_key, m_interrupts.size(), LATE_BELOW_US)));
}

NS_OBJECT_ENSURE_REGISTERED(BsdClocks);

TypeId
BsdClocks::GetTypeId()
{
    static TypeId tid = TypeId("perhop::BsdClocks").SetParent<Object>();
    return tid;
}

BsdClocks::BsdClocks(uint64_t key)
    : slow(MilliSeconds(SLOW_MS), perhop::air::random_bits(key, SLOW_MS, 0)),
      fast(MilliSeconds(FAST_MS), perhop::air::random_bits(key, FAST_MS, 0))
{
}

Ptr<BsdClocks>
BsdClocks::Of(Ptr<Object> node, uint32_t index)
{
    Ptr<BsdClocks> clocks = node->GetObject<BsdClocks>();
    if (!clocks)
    {
        clocks = CreateObject<BsdClocks>(perhop::air::random_bits(RngSeedManager::GetRun(), index, 0));
        node->AggregateObject(clocks);
    }
    return clocks;
}

} // namespace ns3
