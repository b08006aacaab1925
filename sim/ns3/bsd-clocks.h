// SPDX-License-Identifier: GPL-2.0-or-later
//
// The clock of a host whose TCP is 4.4BSD's: all its timers run by two interrupts, one every 500 ms for retransmissions and one every
// 200 ms for delayed TCP ACKs (FreeBSD 2.2.4, netinet/tcp_timer.c). Hosts are not in step: each begins at a random phase, and every
// interrupt is late by up to 1 ms, as in GloMoSim 2.02, whose TCP is FreeBSD's.
#pragma once

#include "ns3/nstime.h"
#include "ns3/object.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/// Interrupts at almost regular times; a pure function of its key.
class BsdClock
{
  public:
    /// @param key of the random phase and delays
    BsdClock(Time period, uint64_t key);

    /// Interrupts until now, one at this very time included.
    uint64_t Count(Time now);

    /// When the n-th interrupt from now happens, n >= 1.
    Time Next(Time now, uint64_t n);

    Time GetPeriod() const;

  private:
    void GrowBeyond(Time time);
    void Grow();

    Time m_period;
    uint64_t m_key;
    std::vector<Time> m_interrupts;
};

/// Both clocks of a host. Aggregated to its node.
class BsdClocks : public Object
{
  public:
    static TypeId GetTypeId();

    /// Those of the node, made when they are first asked for. Their phases depend on the run's seed and the node.
    static Ptr<BsdClocks> Of(Ptr<Object> node, uint32_t index);

    explicit BsdClocks(uint64_t key);

    BsdClock slow; ///< 500 ms
    BsdClock fast; ///< 200 ms
};

} // namespace ns3
