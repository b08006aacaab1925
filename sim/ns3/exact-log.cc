// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/exact-log.h"

#include <stdexcept>

namespace ns3
{
namespace
{

void
Open(std::ofstream& file, const perhop::run::run_config& config, const char* name, const char* header)
{
    const std::filesystem::path path = config.outputs.directory / name;
    file.open(path);
    if (!(file << header))
    {
        throw std::runtime_error("cannot write " + path.string() + ": check that its directory exists and is writable");
    }
}

} // namespace

ExactLog::ExactLog(const perhop::run::run_config& config)
{
    Open(m_signals, config, "signals.csv", "t_us,flow,signal_bps,allowed_bps,app_bps,hops\n");
    Open(m_allocations, config, "allocations.csv", "t_us,node,flow,allocation_bps,load\n");
    if (config.exact.packets)
    {
        Open(m_packets, config, "exact_packets.csv", "t_us,node,flow,sequence,arrived_bps,allocation_bps,sent_bps\n");
    }
}

void
ExactLog::OnSignal(uint64_t nowUs, std::size_t flow, const ExactSignal& signal)
{
    m_signals << nowUs << ',' << flow << ',' << signal.signalBps << ',' << signal.allowedBps << ',' << signal.appBps << ','
              << static_cast<unsigned>(signal.hops) << '\n';
}

void
ExactLog::OnAllocation(uint64_t nowUs, uint32_t node, std::size_t flow, double allocationBps, double load)
{
    m_allocations << nowUs << ',' << node << ',' << flow << ',' << allocationBps << ',' << load << '\n';
}

void
ExactLog::OnPacket(uint64_t nowUs, const ExactPacketAt& packet)
{
    m_packets << nowUs << ',' << packet.node << ',' << packet.flow << ',' << packet.sequence << ',' << packet.arrivedBps << ',';
    if (packet.allocationBps)
    {
        m_packets << static_cast<uint64_t>(*packet.allocationBps);
    }
    m_packets << ',' << packet.sentBps << '\n';
}

void
ExactLog::Finish()
{
    const bool written = m_signals.flush() && m_allocations.flush() && (!m_packets.is_open() || m_packets.flush());
    if (!written)
    {
        throw std::runtime_error("writing signals.csv, allocations.csv or exact_packets.csv failed: is the disk full?");
    }
}

} // namespace ns3
