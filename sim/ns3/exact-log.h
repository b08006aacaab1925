// SPDX-License-Identifier: GPL-2.0-or-later
//
// What EXACT said and did in a run, for studies: signals.csv (each flow's rates at its source), allocations.csv (each router's flows)
// and, where asked for, exact_packets.csv (each packet at each router).
#pragma once

#include "sim/run/run_config.hpp"

#include <cstdint>
#include <fstream>
#include <optional>

namespace ns3
{

/// What a source of an EXACT flow knows and does.
struct ExactSignal
{
    uint64_t signalBps = 0;  ///< rate of the path in the last report
    uint64_t allowedBps = 0; ///< what the application may use of it: DIID, halvings without feedback
    uint64_t appBps = 0;     ///< what it sends at
    uint8_t hops = 0;

    friend bool operator==(const ExactSignal&, const ExactSignal&) = default;
};

/// A data packet at a router, or at its destination.
struct ExactPacketAt
{
    uint32_t node = 0;
    std::size_t flow = 0;
    uint32_t sequence = 0;
    uint64_t arrivedBps = 0;             ///< explicit rate as it came
    std::optional<double> allocationBps; ///< what the router allots to the flow; nothing at the destination, or without EXACT
    uint64_t sentBps = 0;                ///< explicit rate as it goes on; at the destination as it came
};

class ExactLog
{
  public:
    /// Opens the files in the run's directory. @throws std::runtime_error one cannot be written
    explicit ExactLog(const perhop::run::run_config& config);

    void OnSignal(uint64_t nowUs, std::size_t flow, const ExactSignal& signal);
    void OnAllocation(uint64_t nowUs, uint32_t node, std::size_t flow, double allocationBps, double load);

    bool WantsPackets() const
    {
        return m_packets.is_open();
    }

    void OnPacket(uint64_t nowUs, const ExactPacketAt& packet);

    /// @throws std::runtime_error the disk is full
    void Finish();

  private:
    std::ofstream m_signals;
    std::ofstream m_allocations;
    std::ofstream m_packets;
};

} // namespace ns3
