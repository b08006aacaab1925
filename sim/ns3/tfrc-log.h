// SPDX-License-Identifier: GPL-2.0-or-later
//
// loss_intervals.csv: each loss interval of the TFRC flows of a run as it ended, beside what had been predicted for it.
#pragma once

#include "sim/run/run_config.hpp"

#include "host/core/policy/tfrc_receiver.hpp"

#include <cstdint>
#include <fstream>
#include <stdexcept>

namespace ns3
{

class TfrcLog
{
  public:
    /// Opens the file in the run's directory. @throws std::runtime_error it cannot be written
    explicit TfrcLog(const perhop::run::run_config& config)
        : m_path(config.outputs.directory / "loss_intervals.csv"),
          m_intervals(m_path)
    {
        if (!(m_intervals << "t_us,flow,predicted_packets,true_packets\n"))
        {
            throw std::runtime_error("cannot write " + m_path.string() + ": check that its directory exists and is writable");
        }
    }

    void OnLossInterval(uint64_t nowUs, std::size_t flow, const perhop::policy::tfrc_ended_interval& ended)
    {
        m_intervals << nowUs << ',' << flow << ',' << ended.predicted_packets << ',' << ended.true_packets << '\n';
    }

    /// @throws std::runtime_error the disk is full
    void Finish()
    {
        if (!m_intervals.flush())
        {
            throw std::runtime_error("writing " + m_path.string() + " failed: is the disk full?");
        }
    }

  private:
    std::filesystem::path m_path;
    std::ofstream m_intervals;
};

} // namespace ns3
