// SPDX-License-Identifier: GPL-2.0-or-later
//
// TFRC sender: the rate of one flow, from the loss event rate and the round trip by TCP's equation.
//
//   slow start    until the first loss event the rate doubles once a round trip, to at most twice what was received
//   rate          then the equation's, at most twice what was received, at least a packet in 64 s
//   no feedback   for max(4 R, two packets' time): the rate is halved, again and again until feedback comes
//   oscillation   packets leave slower while the round trip is above its mean (RFC 5348, 4.5; optional, on in ns-2)
//
// Source: RFC 5348, section 4 (profile rfc5348). The profile of K. Chen, K. Nahrstedt, "Limitations of equation-based congestion control
// in mobile ad hoc networks" (paper), names RFC 3448, which differs in: slow start begins with one packet a round trip in place of
// RFC 3390's initial window; only the last report says what was received, where RFC 5348 takes the largest of two round trips; t_RTO in
// the equation. Differences: the application always has data, so the rules for idle and limited senders are left out.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/core/policy/tfrc_equation.hpp"
#include "host/core/policy/time.hpp"
#include "host/core/wire/tfrc_header.hpp"

namespace perhop::policy {

struct tfrc_sender_config {
  tfrc_profile profile = tfrc_profile::paper;
  std::uint32_t packet_bytes = 1000;  ///< s: payload of a packet
  bool avoid_oscillation = true;
};

struct tfrc_sender_counters {
  std::uint64_t packets = 0;
  std::uint64_t reports = 0;
  std::uint64_t foreign_reports = 0;  ///< of packets that were never sent, or held for longer than they were under way
  std::uint64_t halvings = 0;         ///< for want of feedback
};

class tfrc_sender {
public:
  explicit tfrc_sender(const tfrc_sender_config& config = {});

  /// When the next packet may go, not before now.
  time_us next_send(time_us now) const;

  /// A packet goes now. Call only when next_send says so. @return what it tells the receiver
  wire::tfrc_header on_send(time_us now);

  /// A report arrived. @return whether it was used
  bool on_report(time_us now, const wire::tfrc_report& report);

  /// When on_deadline wants to be called; nothing before the first packet.
  std::optional<time_us> deadline() const { return no_feedback_at_us_; }
  void on_deadline(time_us now);

  double rate_bytes_per_s() const { return rate_; }  ///< X
  /// At which packets leave: the rate, or less while the round trip is above its mean and more while it is below.
  double pace_bytes_per_s() const { return pace_; }
  std::uint32_t round_trip_us() const;  ///< mean; 0: not known yet
  double loss_event_rate() const { return loss_event_rate_; }
  const tfrc_sender_counters& counters() const { return counters_; }

private:
  struct received {
    time_us at_us;
    double rate;
  };

  double least_rate() const;
  double equation_rate() const;
  double receive_limit() const;
  double first_rate() const;
  void note_received(time_us now, double rate);
  void settle_rate(time_us now);
  void set_pace(double sample_s);
  void restart_timer(time_us now);

  tfrc_sender_config config_;
  tfrc_sender_counters counters_;
  double rate_;  // bytes per second
  double pace_;
  double loss_event_rate_ = 0;
  double round_trip_s_ = 0;  // 0: unknown
  double root_mean_ = 0;     // of the round trips' square roots
  std::vector<received> received_;
  std::optional<time_us> doubled_us_;
  std::optional<time_us> begun_us_;
  std::optional<time_us> sent_us_;
  std::optional<time_us> no_feedback_at_us_;
  std::uint32_t next_sequence_ = 0;
};

}  // namespace perhop::policy
