// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/exact_sender.hpp"

#include <algorithm>
#include <cassert>

#include "host/core/policy/time.hpp"

namespace perhop::policy {

namespace {

constexpr std::uint32_t least_window_packets = 2;
constexpr std::uint64_t least_lost_after_us = 1'000'000;

}  // namespace

exact_sender::exact_sender(const exact_sender_config& config) : config_(config) {
  config_.packet_bytes = std::max(config_.packet_bytes, 1U);
  config_.max_rate_bps = std::max(config_.max_rate_bps, floor_bps());
  config_.feedback_every_packets = std::max(config_.feedback_every_packets, 1U);
  allowed_bps_ = floor_bps();
  settle_rate();
}

void exact_sender::set_application_rate(std::uint64_t rate_bps) {
  application_bps_ = rate_bps;
  settle_rate();
}

void exact_sender::set_packet_bytes(std::uint32_t bytes) {
  config_.packet_bytes = std::max(bytes, 1U);
  config_.max_rate_bps = std::max(config_.max_rate_bps, floor_bps());
  settle_rate();
}

void exact_sender::restart() {
  reported_ = silent_router_ = false;
  allowed_bps_ = floor_bps();
  reported_bps_ = 0;
  first_hop_bps_ = wire::unlimited_rate_bps;
  acknowledged_below_ = begun_at_ = next_sequence_;
  smoothed_round_trip_us_ = 0;
  paced_until_us_ = 0;
  no_feedback_at_us_.reset();
  settle_rate();
}

void exact_sender::settle_rate() {
  std::uint64_t rate_bps = std::min({allowed_bps_, first_hop_bps_, application_bps_});
  if (silent_router_) rate_bps = std::min(rate_bps, static_cast<std::uint64_t>(blind_rate_bps_));
  rate_bps_ = std::clamp(rate_bps, floor_bps(), config_.max_rate_bps);
}

// How long the receiver may take to tell of a packet: its rule, as exact_receiver states it.
std::uint64_t exact_sender::feedback_interval_us() const {
  const std::uint64_t packets_us = std::uint64_t{8} * config_.packet_bytes * config_.feedback_every_packets * us_per_s / rate_bps_;
  return std::min<std::uint64_t>(std::max<std::uint64_t>(smoothed_round_trip_us_ / 2, packets_us), config_.max_feedback_interval_us);
}

std::uint32_t exact_sender::window_packets() const {
  if (!reported_) return std::min(config_.first_packets, window_limit_packets_.value_or(UINT32_MAX));
  const std::uint64_t bits = rate_bps_ * (smoothed_round_trip_us_ + feedback_interval_us()) / us_per_s;
  // Rounded up: 2.8 packets of time hold the sending of 3. Rounded down, a flow at 148 kb/s over one hop would send at 118 kb/s.
  const std::uint64_t packet_bits = std::uint64_t{8} * config_.packet_bytes;
  const std::uint64_t safe = std::max<std::uint64_t>((bits + packet_bits - 1) / packet_bits, least_window_packets);
  const std::uint64_t limited = std::min<std::uint64_t>(safe, std::max(window_limit_packets_.value_or(UINT32_MAX), 1U));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(limited, most_under_way));
}

std::uint64_t exact_sender::lost_after_us() const { return std::max(least_lost_after_us, std::uint64_t{4} * smoothed_round_trip_us_); }

void exact_sender::give_up_old(std::uint64_t now_us) {
  while (acknowledged_below_ != next_sequence_ && now_us - sent_us_[acknowledged_below_ % most_under_way] >= lost_after_us()) {
    ++acknowledged_below_;
    ++counters_.presumed_lost;
  }
}

std::optional<std::uint64_t> exact_sender::next_send(std::uint64_t now_us) {
  give_up_old(now_us);
  if (unacknowledged_packets() >= window_packets()) return std::nullopt;
  // The first packets only ask; they are not paced.
  return reported_ ? std::max(now_us, paced_until_us_) : now_us;
}

std::uint64_t exact_sender::wanted_bps() const { return std::clamp(application_bps_, floor_bps(), config_.max_rate_bps); }

exact_outgoing exact_sender::on_send(std::uint64_t now_us, bool last) {
  give_up_old(now_us);
  assert(unacknowledged_packets() < most_under_way);
  ++counters_.packets;
  const std::uint64_t used_bps =
      silent_router_ ? rate_bps_
                     : std::clamp(std::min({reported_bps_, first_hop_bps_, application_bps_}), floor_bps(), config_.max_rate_bps);
  // Before the first report the flow uses nothing worth telling; what it asks for keeps routers from taking it as limited.
  const exact_outgoing outgoing{.header = {.sequence = next_sequence_, .last = last},
                                .explicit_rate_bps = wanted_bps(),
                                .current_rate_bps = last ? 0 : (reported_ ? used_bps : wanted_bps())};
  sent_us_[next_sequence_ % most_under_way] = now_us;
  ++next_sequence_;
  const std::uint64_t packet_us = std::uint64_t{8} * config_.packet_bytes * us_per_s / rate_bps_;
  // A packet that goes late does not let the next one go early.
  paced_until_us_ = now_us + packet_us;
  if (!no_feedback_at_us_) restart_feedback_timer(now_us);
  return outgoing;
}

void exact_sender::on_first_hop(std::uint64_t now_us, std::uint64_t explicit_rate_bps) {
  // The rate that the packet asked for limits nothing.
  first_hop_bps_ = explicit_rate_bps < wanted_bps() ? explicit_rate_bps : wire::unlimited_rate_bps;
  const std::uint64_t before_bps = rate_bps_;
  settle_rate();
  if (rate_bps_ < before_bps) paced_until_us_ = now_us + std::uint64_t{8} * config_.packet_bytes * us_per_s / rate_bps_;
}

void exact_sender::restart_feedback_timer(std::uint64_t now_us) {
  if (!reported_) {
    no_feedback_at_us_ = now_us + least_lost_after_us;
    return;
  }
  // One packet or report that is lost is no reason: the next packet is reported as late as this.
  const std::uint64_t round_trip_us = smoothed_round_trip_us_;
  const std::uint64_t two_packets_us = std::uint64_t{16} * config_.packet_bytes * us_per_s / rate_bps_;
  no_feedback_at_us_ = now_us + std::max(2 * round_trip_us, round_trip_us + config_.max_feedback_interval_us + two_packets_us);
}

bool exact_sender::on_report(std::uint64_t now_us, const wire::exact_report& report) {
  // Only packets of this flow that were sent, and are remembered, can have been reported.
  const std::uint32_t behind = next_sequence_ - 1 - report.highest_sequence;
  if (next_sequence_ == 0 || behind >= std::min<std::uint64_t>(counters_.packets, most_under_way)) {
    ++counters_.foreign_reports;
    return false;
  }
  const bool of_the_way_before = static_cast<std::int32_t>(report.highest_sequence - begun_at_) < 0;
  if (of_the_way_before || (reported_ && static_cast<std::int32_t>(report.highest_sequence - highest_reported_) < 0)) {
    ++counters_.stale_reports;
    return false;
  }
  ++counters_.reports;
  counters_.zero_rates += report.explicit_rate_bps == 0 ? 1 : 0;

  const std::uint64_t passed_us = now_us - sent_us_[report.highest_sequence % most_under_way];
  const bool new_sample = !reported_ || report.highest_sequence != highest_reported_;
  if (new_sample && passed_us > report.held_us) {
    const auto sample_us = static_cast<std::uint32_t>(std::min<std::uint64_t>(passed_us - report.held_us, UINT32_MAX / 8));
    smoothed_round_trip_us_ =
        smoothed_round_trip_us_ == 0 ? sample_us : static_cast<std::uint32_t>((std::uint64_t{7} * smoothed_round_trip_us_ + sample_us) / 8);
  }
  if (static_cast<std::int32_t>(report.highest_sequence + 1 - acknowledged_below_) > 0) acknowledged_below_ = report.highest_sequence + 1;

  const bool first = !reported_;
  const bool was_silent = silent_router_;
  reported_ = true;
  silent_router_ = report.silent_router_seen;
  allowed_bps_ = reported_bps_ = std::clamp(report.explicit_rate_bps, floor_bps(), config_.max_rate_bps);
  if (silent_router_) {
    if (!was_silent) {
      // Starts from what went well so far; a flow that starts behind a silent router starts slowly.
      blind_rate_bps_ = static_cast<double>(first ? floor_bps() : rate_bps_);
      blind_raised_us_ = blind_cut_us_ = now_us;
      if (first) blind_rate_bps_ *= 2;
    } else {
      back_off_blindly(now_us, report);
    }
  }
  highest_reported_ = report.highest_sequence;
  last_received_packets_ = report.received_packets;
  settle_rate();
  no_feedback_at_us_.reset();
  if (unacknowledged_packets() != 0) restart_feedback_timer(now_us);
  // A rate that rose lets the next packet go earlier.
  const std::uint64_t packet_us = std::uint64_t{8} * config_.packet_bytes * us_per_s / rate_bps_;
  paced_until_us_ = std::min(paced_until_us_, now_us + packet_us);
  return true;
}

// Additive increase by a packet a round trip, halving at most once a round trip.
void exact_sender::back_off_blindly(std::uint64_t now_us, const wire::exact_report& report) {
  const std::uint64_t round_trip_us = std::max<std::uint64_t>(smoothed_round_trip_us_, 1);
  const std::uint32_t sent = report.highest_sequence - highest_reported_;
  const std::uint32_t arrived = report.received_packets - last_received_packets_;
  if (sent > arrived) {
    if (now_us - blind_cut_us_ >= round_trip_us) {
      blind_rate_bps_ = std::max(blind_rate_bps_ / 2, static_cast<double>(floor_bps()));
      blind_cut_us_ = blind_raised_us_ = now_us;
      ++counters_.decreases;
    }
    return;
  }
  const double round_trips = static_cast<double>(now_us - blind_raised_us_) / static_cast<double>(round_trip_us);
  const double packet_a_round_trip_bps = 8.0 * config_.packet_bytes * us_per_s / static_cast<double>(round_trip_us);
  blind_rate_bps_ =
      std::min(blind_rate_bps_ + std::min(round_trips, 1.0) * packet_a_round_trip_bps, static_cast<double>(config_.max_rate_bps));
  blind_raised_us_ = now_us;
}

std::optional<std::uint64_t> exact_sender::deadline() const {
  std::optional<std::uint64_t> next = no_feedback_at_us_;
  if (unacknowledged_packets() != 0) {
    const std::uint64_t given_up_us = sent_us_[acknowledged_below_ % most_under_way] + lost_after_us();
    next = std::min(next.value_or(UINT64_MAX), given_up_us);
  }
  return next;
}

void exact_sender::on_deadline(std::uint64_t now_us) {
  give_up_old(now_us);
  if (!no_feedback_at_us_ || now_us < *no_feedback_at_us_) return;
  if (!reported_) {
    no_feedback_at_us_ = now_us + least_lost_after_us;
    return;
  }
  allowed_bps_ = std::max(std::min(allowed_bps_, rate_bps_) / 2, floor_bps());
  ++counters_.halvings;
  settle_rate();
  no_feedback_at_us_ = now_us + std::max<std::uint64_t>(smoothed_round_trip_us_, 10'000);
}

}  // namespace perhop::policy
