// SPDX-License-Identifier: GPL-2.0-or-later
//
// TFRC receiver: finds losses and gathers them into loss events, measures the receive rate, and says when to tell the sender.
//
//   loss         a packet is lost when three later ones have arrived
//   loss event   all losses within a round trip after its first one, whose time is interpolated between the arrivals around it
//   first event  counts as the interval at which the equation gives the rate received in the last round trip, in profile rfc5348 the
//                largest so far (at least half a packet a round trip, and no more when the very first packet is lost)
//   feedback     for the first packet, once a round trip while packets come, and at once when the loss event rate rises
//
// Source: RFC 5348, sections 5 and 6; K. Chen, K. Nahrstedt, "Limitations of equation-based congestion control in mobile ad hoc
// networks", section II, which names RFC 3448: its section 6.3.1 has the rate of the last round trip. Differences: a packet that arrives
// after it was taken for lost stays lost; no ECN. A packet that is no further than most_gap_packets ahead is believed; any other is
// ignored.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "host/core/policy/tfrc_loss_intervals.hpp"
#include "host/core/policy/time.hpp"
#include "host/core/wire/tfrc_header.hpp"

namespace perhop::policy {

struct tfrc_receiver_config {
  tfrc_profile profile = tfrc_profile::paper;
  std::size_t intervals = 8;          ///< L
  std::uint32_t packet_bytes = 1000;  ///< s: payload of a packet
};

/// A loss interval that has ended: paper 002, section IV.B.
struct tfrc_ended_interval {
  double predicted_packets = 0;  ///< mean of the intervals before it, as it began
  double true_packets = 0;
};

struct tfrc_receiver_counters {
  std::uint64_t packets = 0;
  std::uint64_t late = 0;     ///< arrived twice, or after they were taken for lost
  std::uint64_t foreign = 0;  ///< too far ahead to be this flow's
  std::uint64_t lost = 0;
  std::uint64_t loss_events = 0;
  std::uint64_t reports = 0;
};

class tfrc_receiver {
public:
  static constexpr std::uint32_t later_packets = 3;
  static constexpr std::uint32_t most_gap_packets = 65'535;

  explicit tfrc_receiver(const tfrc_receiver_config& config = {});

  /// A data packet arrived. @return true when a report is to be sent now
  bool on_data(time_us now, const wire::tfrc_header& data);

  /// When on_deadline wants to be called; nothing before the first packet, and while no packets come.
  std::optional<time_us> deadline() const { return feedback_at_us_; }

  /// @return true when a report is to be sent now
  bool on_deadline(time_us now);

  /// The report to send now.
  wire::tfrc_report take_report(time_us now);

  /// The intervals that the last packet ended, oldest first.
  std::span<const tfrc_ended_interval> ended() const { return ended_; }

  double loss_event_rate() const { return intervals_.loss_event_rate(); }
  const tfrc_receiver_counters& counters() const { return counters_; }

private:
  struct arrival {
    std::uint32_t sequence;
    time_us at_us;
  };

  void settle(time_us now);
  void lose(std::uint32_t packets, time_us after_us, time_us now);
  void on_loss_event(time_us now);
  double receive_rate(time_us now) const;
  double round_trip_s() const;

  tfrc_receiver_config config_;
  tfrc_receiver_counters counters_;
  tfrc_loss_intervals intervals_;
  std::vector<tfrc_ended_interval> ended_;

  std::uint32_t next_sequence_ = 0;  // all before it have arrived or are lost
  time_us before_us_ = 0;            // arrival of the last one before it that arrived
  std::vector<arrival> ahead_;       // that arrived beyond it, in order of their numbers
  std::optional<double> event_us_;   // when the loss event that runs began
  double predicted_packets_ = 0;

  std::deque<time_us> arrivals_us_;  // of the last round trip
  time_us last_arrival_us_ = 0;
  std::uint32_t last_sent_us_ = 0;
  std::uint32_t round_trip_us_ = 0;  // as the sender told; 0: unknown
  double largest_rate_ = 0;          // bytes per second

  std::optional<time_us> feedback_at_us_;
  std::optional<time_us> reported_us_;
  std::uint64_t packets_since_report_ = 0;
  bool report_on_arrival_ = true;  // the timer expired while there was nothing to tell
};

}  // namespace perhop::policy
