// SPDX-License-Identifier: GPL-2.0-or-later
//
// perhop-air [--config] RUN_JSON: one run of MAC-level traffic. Writes result.json, intervals.csv and what else `outputs` asks for.
// Exit status: 0 done, 2 run.json is wrong, 130 interrupted (results so far are complete), 1 anything else.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "sim/run/mac_traffic.hpp"
#include "sim/run/scripted_events.hpp"

namespace {

using namespace perhop::air;
using namespace perhop::run;

// Between two looks at the clock and at SIGINT.
constexpr tick slice_us_of_frames = 20'000;
constexpr tick slice_us_of_samples = 1'000;
constexpr std::chrono::milliseconds progress_interval{500};

volatile std::sig_atomic_t interrupted = 0;

std::ofstream open_output(const std::filesystem::path& file) {
  std::ofstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error(file.string() + ": cannot be written; check outputs.directory");
  return stream;
}

double cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Rows of intervals.csv; what only TCP has stays 0.
class interval_writer {
public:
  interval_writer(const std::filesystem::path& file, double interval_s) : file_(open_output(file)), interval_s_(interval_s) {
    file_ << "flow,t_start_s,t_end_s,goodput_bps,rtt_ms,cwl_packets,cwnd_packets\n";
  }
  tick next() const { return static_cast<tick>(std::llround((start_s_ + interval_s_) * ticks_per_second)); }

  /// Ends the interval at `now`.
  void write(tick now, const std::vector<std::uint64_t>& delivered_bytes) {
    const double end_s = static_cast<double>(now) / ticks_per_second;
    if (end_s <= start_s_) return;
    before_.resize(delivered_bytes.size());
    for (std::size_t flow = 0; flow < delivered_bytes.size(); ++flow) {
      const double bits = 8 * static_cast<double>(delivered_bytes[flow] - before_[flow]);
      file_ << flow << ',' << start_s_ << ',' << end_s << ',' << bits / (end_s - start_s_) << ",0,0,0\n";
    }
    before_ = delivered_bytes;
    start_s_ = end_s;
  }

private:
  std::ofstream file_;
  double interval_s_;
  double start_s_ = 0;
  std::vector<std::uint64_t> before_;
};

int run(const std::filesystem::path& file) {
  const run_config config = load_run_config(file);
  const std::filesystem::path& directory = config.outputs.directory;
  std::filesystem::create_directories(directory);
  const bool samples = config.air.mac.fidelity == mac_fidelity::samples;
  std::optional<std::ofstream> lines, completions, phy;
  if (config.outputs.trace) lines = open_output(directory / "trace.txt");
  if (config.outputs.trace && samples) phy = open_output(directory / "phy.csv");
  if (config.outputs.completions) completions = open_output(directory / "completions.csv");
  std::optional<pcapng_writer> capture;
  if (config.outputs.pcapng) {
    capture.emplace(directory / "packets.pcapng", *config.air.mac.profile, config.air.nodes.size(), config.outputs.pcapng_nodes);
  }

  run_report report(config, lines ? &*lines : nullptr, completions ? &*completions : nullptr, phy ? &*phy : nullptr);
  mac_traffic traffic(config, report, capture ? &*capture : nullptr);
  perhop::air::air medium(config.air, traffic);
  traffic.attach(medium);
  scripted_events events(config.events);
  interval_writer intervals(directory / "intervals.csv", config.outputs.interval_s);

  const auto end = static_cast<tick>(std::llround(config.duration_s * ticks_per_second));
  auto next_progress = std::chrono::steady_clock::now();
  // A slice of samples takes some hundred times as long.
  const tick slice_us = samples ? slice_us_of_samples : slice_us_of_frames;
  while (interrupted == 0) {
    const tick now = medium.now();
    events.act(now, medium);
    traffic.act(now);
    if (now >= intervals.next()) intervals.write(now, traffic.delivered_bytes());
    if (const auto wall = std::chrono::steady_clock::now(); wall >= next_progress || now >= end) {
      std::printf("PROGRESS %.3f %.3f\n", static_cast<double>(now) / ticks_per_second, config.duration_s);
      std::fflush(stdout);
      next_progress = wall + progress_interval;
    }
    if (now >= end) break;
    medium.advance(std::min({end, traffic.next_event(), events.next_event(), intervals.next(), now + slice_us}));
  }
  intervals.write(medium.now(), traffic.delivered_bytes());
  if (capture) capture->finish();

  cpu_times cpu;
  cpu.total_s = cpu_s();
  // Shares from a sample: they may come out a little above the whole.
  const double scale = std::min(1.0, cpu.total_s / std::max(medium.counters().rtl_s + medium.counters().medium_s, 1e-9));
  cpu.rtl_s = medium.counters().rtl_s * scale;
  cpu.medium_s = medium.counters().medium_s * scale;
  cpu.other_s = std::max(0.0, cpu.total_s - cpu.rtl_s - cpu.medium_s);
  const bool stopped = medium.now() < end;
  std::ofstream result = open_output(directory / "result.json");
  result << report.result(medium.now(), medium.counters(), cpu, traffic.results(medium.now()), stopped).dump(1) << '\n';
  return stopped ? exit_interrupted : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool named = argc == 3 && std::string_view(argv[1]) == "--config";
  if (argc != 2 && !named) {
    std::fprintf(stderr, "usage: perhop-air [--config] RUN_JSON\n");
    return exit_bad_config;
  }
  std::signal(SIGINT, [](int) { interrupted = 1; });
  try {
    return run(argv[argc - 1]);
  } catch (const config_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return exit_bad_config;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "perhop-air: %s\n", error.what());
    return 1;
  }
}
