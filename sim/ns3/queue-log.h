// SPDX-License-Identifier: GPL-2.0-or-later
//
// queues.csv: how many packets wait in front of a node's MAC, a row a node and interval: the mean and the largest of SAMPLES looks. A node
// without a row had none waiting at any of them. To look changes nothing: transmissions are the same without this file.
#pragma once

#include "sim/run/run_config.hpp"

#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ns3
{

class QueueLog
{
  public:
    /// Looks in each interval.
    static constexpr int64_t SAMPLES = 10;

    /// Opens the file in the run's directory, and looks from now on. @param queued packets that wait at a node
    /// @throws std::runtime_error it cannot be written
    QueueLog(const perhop::run::run_config& config, std::size_t nodes, std::function<std::size_t(uint32_t)> queued)
        : m_path(config.outputs.directory / "queues.csv"),
          m_csv(m_path),
          m_queued(std::move(queued)),
          m_nodes(nodes),
          m_period(MicroSeconds(std::max<int64_t>(1, Seconds(config.outputs.interval_s).GetMicroSeconds() / SAMPLES)))
    {
        if (!(m_csv << "node,t_start_s,t_end_s,queue_packets,queue_most_packets\n"))
        {
            throw std::runtime_error("cannot write " + m_path.string() + ": check that its directory exists and is writable");
        }
        Simulator::Schedule(m_period, &QueueLog::Look, this);
    }

    /// @throws std::runtime_error the disk is full
    void Finish()
    {
        WriteRows();
        if (!m_csv.flush())
        {
            throw std::runtime_error("writing " + m_path.string() + " failed: is the disk full?");
        }
    }

  private:
    struct Waiting
    {
        std::size_t sum = 0;
        std::size_t most = 0;
    };

    void Look()
    {
        for (uint32_t node = 0; node < m_nodes.size(); ++node)
        {
            const std::size_t queued = m_queued(node);
            m_nodes[node].sum += queued;
            m_nodes[node].most = std::max(m_nodes[node].most, queued);
        }
        m_endS = Simulator::Now().GetSeconds();
        if (++m_looks == SAMPLES)
        {
            WriteRows();
        }
        Simulator::Schedule(m_period, &QueueLog::Look, this);
    }

    /// Also what a run that was cut short has of its last interval.
    void WriteRows()
    {
        for (std::size_t node = 0; node < m_nodes.size(); ++node)
        {
            Waiting& waiting = m_nodes[node];
            if (waiting.most > 0)
            {
                m_csv << node << ',' << m_startS << ',' << m_endS << ',' << static_cast<double>(waiting.sum) / static_cast<double>(m_looks)
                      << ',' << waiting.most << '\n';
            }
            waiting = {};
        }
        m_startS = m_endS;
        m_looks = 0;
    }

    std::filesystem::path m_path;
    std::ofstream m_csv;
    std::function<std::size_t(uint32_t)> m_queued;
    std::vector<Waiting> m_nodes;
    Time m_period;
    int64_t m_looks = 0;
    double m_startS = 0;
    double m_endS = 0;
};

} // namespace ns3
