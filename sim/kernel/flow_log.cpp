// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/flow_log.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

namespace perhop::kernels {

namespace {

constexpr double second_ns = 1e9;
constexpr double thousandths = 1000;

time_ns nanoseconds(double seconds) { return static_cast<time_ns>(std::llround(seconds * second_ns)); }

void write_cell(std::ostream& csv, const std::optional<double>& value) {
  csv << ',';
  if (value) csv << *value;
}

}  // namespace

std::optional<double> limit_samples::mean(time_ns from, time_ns until) const {
  double sum = 0;
  std::size_t count = 0;
  for (auto sample = samples_.upper_bound(from); sample != samples_.end() && sample->first <= until; ++sample) {
    sum += sample->second;
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

flow_log::flow_log(const run::run_config& config, time_ns begin)
    : config_(config),
      begin_(begin),
      measure_from_(begin + nanoseconds(config.warmup_s)),
      flows_(config.flows.size()),
      limits_(config.flows.size()),
      rates_(config.flows.size()) {
  const time_ns end = begin + nanoseconds(config.duration_s), step = nanoseconds(config.outputs.interval_s);
  for (time_ns edge = begin; edge < end; edge += step) edges_.push_back(edge);
  edges_.push_back(end);
  edges_.push_back(measure_from_);
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
}

void flow_log::read_console(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // Beside ours there are the kernel's own; the last one may not be whole.
    const auto said = nlohmann::json::parse(line, nullptr, false);
    if (said.is_object()) read_line(said);
  }
}

void flow_log::read_line(const nlohmann::json& said) {
  if (said.contains("ready_ns")) {
    ++kernels_up_;
    last_up_ = std::max(last_up_, said.at("ready_ns").get<time_ns>());
  }
  if (said.contains("problem")) {
    const std::string problem = said.at("problem").get<std::string>();
    problems_.push_back(said.contains("flow") ? "flow " + std::to_string(said.at("flow").get<std::size_t>()) + ": " + problem : problem);
  }
  if (!said.contains("end") || said.at("flow").get<std::size_t>() >= flows_.size()) return;
  told& flow = flows_[said.at("flow").get<std::size_t>()];
  if (said.contains("rtt_p95_us")) flow.rtt_p95_ms = said.at("rtt_p95_us").get<double>() / 1000;
  if (!said.contains("at_ns")) return;
  const auto at = said.at("at_ns").get<time_ns>();
  if (said.at("end") == "receive") {
    flow.received[at].received_bytes = said.at("received_bytes").get<double>();
    return;
  }
  flow.sent[at] = {.looks = said.at("looks").get<double>(),
                   .rtt_us = said.at("rtt_us").get<double>(),
                   .window_packets = said.at("window_packets").get<double>() / thousandths,
                   .retransmissions = said.at("retransmissions").get<std::uint64_t>(),
                   .timeouts = said.at("timeouts").get<std::uint64_t>()};
}

bool flow_log::all_have_told(time_ns edge) const {
  return std::all_of(flows_.begin(), flows_.end(),
                     [edge](const told& flow) { return flow.sent.contains(edge) && flow.received.contains(edge); });
}

time_ns flow_log::measured_until() const {
  if (!all_have_told(measure_from_)) return measure_from_;
  const auto last = std::find_if(edges_.rbegin(), edges_.rend(), [this](time_ns edge) { return all_have_told(edge); });
  return std::max(*last, measure_from_);
}

flow_log::difference flow_log::between(std::size_t flow, time_ns from, time_ns until) const {
  difference found;
  const told& known = flows_[flow];
  if (until <= from || !known.sent.contains(from) || !known.sent.contains(until)) return found;
  const sums &before = known.sent.at(from), &after = known.sent.at(until);
  found.seconds = static_cast<double>(until - from) / second_ns;
  found.received_bytes = known.received.at(until).received_bytes - known.received.at(from).received_bytes;
  if (const double looks = after.looks - before.looks; looks > 0) {
    found.rtt_ms = (after.rtt_us - before.rtt_us) / looks / 1000;
    found.window_packets = (after.window_packets - before.window_packets) / looks;
  }
  found.retransmissions = after.retransmissions - before.retransmissions;
  found.timeouts = after.timeouts - before.timeouts;
  return found;
}

run::flow_result flow_log::result(std::size_t flow) const {
  run::flow_result result;
  const time_ns until = measured_until();
  const difference measured = between(flow, measure_from_, until);
  if (measured.seconds == 0) return result;
  result.goodput_bps = measured.received_bytes * 8 / measured.seconds;
  result.packets_per_s = result.goodput_bps / 8 / config_.flows[flow].segment_bytes;
  result.delivered_packets = static_cast<std::uint64_t>(measured.received_bytes) / config_.flows[flow].segment_bytes;
  result.rtt_ms = measured.rtt_ms;
  result.rtt_p95_ms = flows_[flow].rtt_p95_ms;
  result.cwnd_packets = measured.window_packets;
  result.cwl_packets = limits_[flow].mean(measure_from_, until);
  result.allowed_rate_bps = rates_[flow].mean(measure_from_, until);
  result.retransmissions = measured.retransmissions;
  result.timeouts = measured.timeouts;
  return result;
}

void flow_log::write_intervals(std::ostream& csv) const {
  csv << "flow,t_start_s,t_end_s,goodput_bps,rtt_ms,cwl_packets,cwnd_packets\n";
  const time_ns step = nanoseconds(config_.outputs.interval_s);
  std::vector<time_ns> told;
  for (const time_ns edge : edges_) {
    const bool whole = (edge - begin_) % step == 0 || edge == edges_.back();
    if (whole && all_have_told(edge)) told.push_back(edge);
  }
  for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
    for (std::size_t index = 1; index < told.size(); ++index) {
      const time_ns from = told[index - 1], until = told[index];
      const difference grown = between(flow, from, until);
      csv << flow << ',' << static_cast<double>(from - begin_) / second_ns << ',' << static_cast<double>(until - begin_) / second_ns << ','
          << grown.received_bytes * 8 / grown.seconds;
      write_cell(csv, grown.rtt_ms);
      write_cell(csv, limits_[flow].mean(from, until));
      write_cell(csv, grown.window_packets);
      csv << '\n';
    }
  }
}

}  // namespace perhop::kernels
