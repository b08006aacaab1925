// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/tfrc_receiver.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace perhop::policy {

namespace {

constexpr double unknown_round_trip_s = 1;  // a sender that knows none sends a packet a second
constexpr std::size_t most_arrivals = 65'536;

std::uint32_t saturated(double value) {
  constexpr double most = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(value, most));
}

}  // namespace

tfrc_receiver::tfrc_receiver(const tfrc_receiver_config& config) : config_(config), intervals_(config.intervals, config.profile) {
  assert(config.packet_bytes > 0);
}

double tfrc_receiver::round_trip_s() const {
  return round_trip_us_ == 0 ? unknown_round_trip_s : round_trip_us_ / static_cast<double>(us_per_s);
}

bool tfrc_receiver::on_data(time_us now, const wire::tfrc_header& data) {
  ended_.clear();
  const std::uint32_t gap_packets = data.sequence - next_sequence_;
  if (static_cast<std::int32_t>(gap_packets) < 0) {
    ++counters_.late;
    return false;
  }
  if (gap_packets > most_gap_packets) {
    ++counters_.foreign;
    return false;
  }
  const auto place =
      std::find_if(ahead_.begin(), ahead_.end(), [&](const arrival& other) { return other.sequence - next_sequence_ >= gap_packets; });
  if (place != ahead_.end() && place->sequence == data.sequence) {
    ++counters_.late;
    return false;
  }
  if (counters_.packets++ == 0) before_us_ = now;  // no arrival lies before losses at the very beginning
  ahead_.insert(place, {data.sequence, now});
  arrivals_us_.push_back(now);
  if (arrivals_us_.size() > most_arrivals) arrivals_us_.pop_front();
  last_arrival_us_ = now;
  last_sent_us_ = data.sent_us;
  round_trip_us_ = data.round_trip_us;
  ++packets_since_report_;

  const double rate_before = loss_event_rate();
  settle(now);
  return loss_event_rate() > rate_before || report_on_arrival_;
}

// Takes packets in order of their numbers: each has arrived, or is lost once enough later ones have.
void tfrc_receiver::settle(time_us now) {
  while (!ahead_.empty()) {
    const arrival first = ahead_.front();
    if (first.sequence != next_sequence_) {
      if (ahead_.size() < later_packets) return;
      lose(first.sequence - next_sequence_, first.at_us, now);
    }
    next_sequence_ = first.sequence + 1;
    before_us_ = first.at_us;
    intervals_.on_packets(1);
    ahead_.erase(ahead_.begin());
  }
}

void tfrc_receiver::lose(std::uint32_t packets, time_us after_us, time_us now) {
  const auto before = static_cast<double>(before_us_);
  const double step = (static_cast<double>(after_us) - before) / (packets + 1.0);
  for (std::uint32_t packet = 1; packet <= packets; ++packet) {
    ++counters_.lost;
    const double lost_us = before + step * packet;
    if (!event_us_ || *event_us_ + round_trip_s() * us_per_s < lost_us) {
      event_us_ = lost_us;
      on_loss_event(now);
    }
    intervals_.on_packets(1);
  }
}

void tfrc_receiver::on_loss_event(time_us now) {
  if (counters_.loss_events++ == 0) {
    const double least = 0.5 * config_.packet_bytes / round_trip_s();
    const bool first_packet_lost = intervals_.running_packets() == 0;
    const double before = config_.profile == tfrc_profile::rfc5348 ? largest_rate_ : 0;
    const double target = first_packet_lost ? least : std::max({before, receive_rate(now), least});
    const tfrc_equation_input at{.packet_bytes = static_cast<double>(config_.packet_bytes), .round_trip_s = round_trip_s()};
    intervals_.on_first_loss_event(1 / tfrc_loss_event_rate(target, at, config_.profile));
  } else {
    ended_.push_back({.predicted_packets = predicted_packets_, .true_packets = intervals_.running_packets()});
    intervals_.on_loss_event();
  }
  predicted_packets_ = intervals_.mean_packets();
}

// Over the last round trip, or since the last report if that was longer ago (RFC 5348, 6.2).
double tfrc_receiver::receive_rate(time_us now) const {
  if (!reported_us_) return 0;
  const auto window_us = std::max<time_us>({round_trip_us_, now - *reported_us_, 1});
  const auto arrived = std::count_if(arrivals_us_.rbegin(), arrivals_us_.rend(), [&](time_us at) { return now - at < window_us; });
  return static_cast<double>(arrived) * config_.packet_bytes * us_per_s / static_cast<double>(window_us);
}

bool tfrc_receiver::on_deadline(time_us now) {
  if (!feedback_at_us_ || now < *feedback_at_us_) return false;
  feedback_at_us_.reset();
  report_on_arrival_ = packets_since_report_ == 0;
  return !report_on_arrival_;
}

wire::tfrc_report tfrc_receiver::take_report(time_us now) {
  const double rate = receive_rate(now);
  largest_rate_ = std::max(largest_rate_, rate);
  while (!arrivals_us_.empty() && now - arrivals_us_.front() >= round_trip_us_) arrivals_us_.pop_front();
  reported_us_ = now;
  packets_since_report_ = 0;
  // Without a round trip there is no timer: each packet asks for a report, until the sender has one.
  report_on_arrival_ = round_trip_us_ == 0;
  feedback_at_us_ = report_on_arrival_ ? std::nullopt : std::optional(now + round_trip_us_);
  ++counters_.reports;
  return {.sent_us = last_sent_us_,
          .held_us = saturated(static_cast<double>(now - last_arrival_us_)),
          .receive_rate_bytes_per_s = saturated(std::round(rate)),
          .loss_event_rate = loss_event_rate()};
}

}  // namespace perhop::policy
