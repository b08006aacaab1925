// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/tfrc_sender.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace perhop::policy {

namespace {

// RFC 5348's names and values: t_mbi, q, q2, and the timer before the first round trip.
constexpr double longest_gap_s = 64;
constexpr double round_trip_memory = 0.9;
constexpr double root_memory = 0.9;
constexpr double first_timeout_s = 2;
constexpr double initial_window_bytes = 4380;  // RFC 3390
constexpr double largest_rate = 1e9;           // bytes per second; beyond any link, and finite
constexpr std::size_t most_received = 8;

time_us to_us(double seconds) { return static_cast<time_us>(std::llround(seconds * us_per_s)); }

}  // namespace

tfrc_sender::tfrc_sender(const tfrc_sender_config& config)
    : config_(config), rate_(static_cast<double>(config.packet_bytes)), pace_(rate_) {
  assert(config.packet_bytes > 0);
  received_.reserve(most_received);
}

double tfrc_sender::least_rate() const { return config_.packet_bytes / longest_gap_s; }

std::uint32_t tfrc_sender::round_trip_us() const {
  constexpr double most = std::numeric_limits<std::uint32_t>::max();
  return round_trip_s_ == 0 ? 0 : static_cast<std::uint32_t>(std::clamp(round_trip_s_ * us_per_s, 1.0, most));
}

time_us tfrc_sender::next_send(time_us now) const {
  return sent_us_ ? std::max(now, *sent_us_ + to_us(config_.packet_bytes / pace_)) : now;
}

wire::tfrc_header tfrc_sender::on_send(time_us now) {
  if (!begun_us_) {
    begun_us_ = now;
    if (config_.profile == tfrc_profile::rfc5348) received_.push_back({now, std::numeric_limits<double>::infinity()});
    no_feedback_at_us_ = now + to_us(first_timeout_s);
  }
  sent_us_ = now;
  ++counters_.packets;
  return {.sequence = next_sequence_++, .sent_us = static_cast<std::uint32_t>(now), .round_trip_us = round_trip_us()};
}

bool tfrc_sender::on_report(time_us now, const wire::tfrc_report& report) {
  const std::uint32_t elapsed_us = static_cast<std::uint32_t>(now) - report.sent_us;
  if (!begun_us_ || elapsed_us > now - *begun_us_ || report.held_us >= elapsed_us) {
    ++counters_.foreign_reports;
    return false;
  }
  ++counters_.reports;
  const double sample_s = (elapsed_us - report.held_us) / static_cast<double>(us_per_s);
  loss_event_rate_ = report.loss_event_rate;
  if (round_trip_s_ == 0) {
    round_trip_s_ = sample_s;
    root_mean_ = std::sqrt(sample_s);
    if (config_.profile == tfrc_profile::rfc5348) {
      rate_ = first_rate();
      doubled_us_ = now;
    }
  } else {
    round_trip_s_ = round_trip_memory * round_trip_s_ + (1 - round_trip_memory) * sample_s;
    root_mean_ = root_memory * root_mean_ + (1 - root_memory) * std::sqrt(sample_s);
  }
  note_received(now, report.receive_rate_bytes_per_s);
  settle_rate(now);
  set_pace(sample_s);
  restart_timer(now);
  return true;
}

// Of slow start, at least: RFC 5348's initial_rate, RFC 3448's packet a round trip.
double tfrc_sender::first_rate() const {
  const auto s = static_cast<double>(config_.packet_bytes);
  const double window_bytes = config_.profile == tfrc_profile::rfc5348 ? std::min(4 * s, std::max(2 * s, initial_window_bytes)) : s;
  return window_bytes / round_trip_s_;
}

void tfrc_sender::note_received(time_us now, double rate) {
  const auto memory_us = to_us(2 * round_trip_s_);
  const bool only_last = config_.profile == tfrc_profile::paper;
  std::erase_if(received_, [&](const received& old) { return only_last || now - old.at_us > memory_us; });
  if (received_.size() == most_received) received_.erase(received_.begin());
  received_.push_back({now, rate});
}

double tfrc_sender::receive_limit() const {
  const auto most = std::max_element(received_.begin(), received_.end(), [](const auto& a, const auto& b) { return a.rate < b.rate; });
  return most == received_.end() ? 0 : 2 * most->rate;
}

double tfrc_sender::equation_rate() const {
  return tfrc_rate(
      {.packet_bytes = static_cast<double>(config_.packet_bytes), .round_trip_s = round_trip_s_, .loss_event_rate = loss_event_rate_},
      config_.profile);
}

// RFC 5348, 4.3, step 4.
void tfrc_sender::settle_rate(time_us now) {
  if (loss_event_rate_ > 0) {
    rate_ = std::min(equation_rate(), receive_limit());
  } else if (!doubled_us_ || static_cast<double>(now - *doubled_us_) >= round_trip_s_ * us_per_s) {
    rate_ = std::max(std::min(2 * rate_, receive_limit()), first_rate());
    doubled_us_ = now;
  }
  rate_ = std::clamp(rate_, least_rate(), largest_rate);
}

void tfrc_sender::set_pace(double sample_s) {
  pace_ = config_.avoid_oscillation ? std::clamp(rate_ * root_mean_ / std::sqrt(sample_s), least_rate(), largest_rate) : rate_;
}

void tfrc_sender::restart_timer(time_us now) {
  const double two_packets_s = 2 * config_.packet_bytes / rate_;
  no_feedback_at_us_ = now + to_us(std::max(round_trip_s_ == 0 ? first_timeout_s : 4 * round_trip_s_, two_packets_s));
}

// RFC 5348, 4.4.
void tfrc_sender::on_deadline(time_us now) {
  if (!no_feedback_at_us_ || now < *no_feedback_at_us_) return;
  ++counters_.halvings;
  if (loss_event_rate_ == 0) {
    rate_ = std::max(rate_ / 2, least_rate());
  } else {
    const double equation = equation_rate();
    const double limit = std::max(equation > receive_limit() ? receive_limit() / 2 : equation / 2, least_rate());
    received_.assign(1, {now, limit / 2});
    settle_rate(now);
  }
  pace_ = rate_;
  restart_timer(now);
}

}  // namespace perhop::policy
