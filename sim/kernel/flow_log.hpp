// SPDX-License-Identifier: GPL-2.0-or-later
/// What the flow ends have said on their consoles, and what that means for the flows of a run.
///
/// The definitions are the live backend's (host/python/perhop/realtime/flows.py): goodput is payload that the receiver read, round
/// trip and window are means of what TCP says of itself every 50 ms.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sim/kernel/event_queue.hpp"
#include "sim/run/run_config.hpp"
#include "sim/run/run_report.hpp"

namespace perhop::kernels {

/// Mean of what is looked at every 50 ms, since there was something.
class limit_samples {
public:
  void add(time_ns at, double limit) { samples_.emplace(at, limit); }
  std::optional<double> mean(time_ns from, time_ns until) const;

private:
  std::map<time_ns, double> samples_;
};

class flow_log {
public:
  /// @param begin of the run in the kernels' time
  flow_log(const run::run_config& config, time_ns begin);

  /// What the plan of the kernels' flow ends tells them of times.
  const std::vector<time_ns>& edges() const { return edges_; }

  void add_limit(std::size_t flow, time_ns at, double limit) { limits_[flow].add(at, limit); }
  /// What EXACT allows it, where its TCP is told.
  void add_rate(std::size_t flow, time_ns at, double rate_bps) { rates_[flow].add(at, rate_bps); }
  /// All that a kernel has said so far.
  void read_console(const std::string& text);

  /// How many kernels have said that they are up, and when the last one was.
  std::size_t kernels_up() const { return kernels_up_; }
  time_ns last_up() const { return last_up_; }
  const std::vector<std::string>& problems() const { return problems_; }

  /// The last moment at which all flow ends have told; the begin of the measured time where there is none after it.
  time_ns measured_until() const;
  run::flow_result result(std::size_t flow) const;
  /// intervals.csv
  void write_intervals(std::ostream& csv) const;

private:
  struct sums {
    double looks = 0, rtt_us = 0, window_packets = 0;
    double received_bytes = 0;
    std::uint64_t retransmissions = 0, timeouts = 0;
  };
  struct told {
    std::map<time_ns, sums> sent, received;
    std::optional<double> rtt_p95_ms;
  };
  struct difference {
    double seconds = 0;
    std::optional<double> rtt_ms, window_packets;
    double received_bytes = 0;
    std::uint64_t retransmissions = 0, timeouts = 0;
  };

  void read_line(const nlohmann::json& said);
  bool all_have_told(time_ns edge) const;
  difference between(std::size_t flow, time_ns from, time_ns until) const;

  const run::run_config& config_;
  time_ns begin_;
  time_ns measure_from_;
  std::vector<time_ns> edges_;
  std::vector<told> flows_;
  std::vector<limit_samples> limits_, rates_;
  std::size_t kernels_up_ = 0;
  time_ns last_up_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace perhop::kernels
