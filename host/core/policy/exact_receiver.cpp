// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/exact_receiver.hpp"

#include <algorithm>

namespace perhop::policy {

namespace {
constexpr std::uint32_t bitmap_packets = 32;
constexpr std::uint64_t usual_gaps = 4;
}  // namespace

bool exact_receiver::on_data(std::uint64_t now_us, const wire::path_header& path, const wire::exact_header& exact, std::uint32_t ttl_hops) {
  ++counters_.packets;
  const bool silent = path.silent_router_seen || (ttl_hops != 0 && !path.wired_hop_seen && ttl_hops != path.hops);
  counters_.silent_routers += silent ? 1 : 0;

  const bool first = !heard_;
  heard_ = true;
  const auto ahead = static_cast<std::int32_t>(exact.sequence - report_.highest_sequence);
  const bool newest = first || ahead > 0;
  if (first) {
    report_.highest_sequence = exact.sequence;
  } else if (ahead > 0) {
    const auto step = static_cast<std::uint32_t>(ahead);
    // The packet that was the highest moves into the bitmap, the others up.
    const std::uint32_t moved = step < bitmap_packets ? report_.arrived_bitmap << step : 0;
    report_.arrived_bitmap = step <= bitmap_packets ? moved | std::uint32_t{1} << (step - 1) : 0;
    report_.highest_sequence = exact.sequence;
  } else {
    const std::uint32_t behind = report_.highest_sequence - exact.sequence;
    const bool known = behind == 0 || (behind <= bitmap_packets && (report_.arrived_bitmap >> (behind - 1) & 1) != 0);
    if (known) {
      ++counters_.duplicates;
      return false;
    }
    if (behind <= bitmap_packets) {
      report_.arrived_bitmap |= std::uint32_t{1} << (behind - 1);
    } else {
      ++counters_.too_old;
    }
  }
  if (newest) {
    const std::uint64_t gap_us = first ? 0 : now_us - highest_arrived_us_;
    usual_gap_us_ = usual_gap_us_ == 0 ? gap_us : (7 * usual_gap_us_ + gap_us) / 8;
    highest_arrived_us_ = now_us;
    repeated_ = false;
    ended_ = exact.last;
  }
  ++report_.received_packets;
  if (packets_since_report_++ == 0) first_since_report_us_ = now_us;

  // A packet that was overtaken tells nothing new about the path.
  if (!newest) return false;
  report_.silent_router_seen = silent;
  report_.hops = path.hops;
  report_.explicit_rate_bps = path.explicit_rate_bps;
  report_.current_rate_bps = path.current_rate_bps;
  report_.total_delay_us = path.total_delay_us;
  report_.max_delay_us = path.max_delay_us;

  const auto rate = static_cast<double>(path.explicit_rate_bps);
  const auto reported = static_cast<double>(reported_rate_bps_);
  const bool changed = rate < (1 - config_.fall) * reported || rate > (1 + config_.rise) * reported;
  if (first || changed || path.hops != reported_hops_ || exact.last) {
    ++counters_.immediate_reports;
    return true;
  }
  const std::uint64_t since_us = now_us - reported_us_;
  return (packets_since_report_ >= config_.every_packets && since_us >= path.total_delay_us) || since_us >= config_.max_interval_us;
}

std::optional<std::uint64_t> exact_receiver::deadline() const {
  if (packets_since_report_ == 0) {
    if (config_.repeat_after_us == 0 || !heard_ || ended_ || repeated_) return std::nullopt;
    return highest_arrived_us_ + std::max<std::uint64_t>(config_.repeat_after_us, usual_gaps * usual_gap_us_);
  }
  return std::max(first_since_report_us_, reported_us_ + config_.max_interval_us);
}

wire::exact_report exact_receiver::take_report(std::uint64_t now_us) {
  ++counters_.reports;
  if (packets_since_report_ == 0) {
    repeated_ = true;
    ++counters_.repeated_reports;
  }
  packets_since_report_ = 0;
  reported_us_ = now_us;
  reported_rate_bps_ = report_.explicit_rate_bps;
  reported_hops_ = report_.hops;
  report_.held_us = static_cast<std::uint32_t>(std::min<std::uint64_t>(now_us - highest_arrived_us_, wire::max_delay_us));
  return report_;
}

}  // namespace perhop::policy
