// SPDX-License-Identifier: GPL-2.0-or-later
//
// EXACT sender: paces one flow at what the routers allow, and bounds what it may have under way when feedback is missing.
//
//   rate           min(rate of the last report, what this node's own router allows, application), within [1 packet/s, ceiling]
//   safety window  unacknowledged packets <= max(2, rate * (SRTT + feedback interval) / packet, rounded up), and <= a
//                  window limit
//   first round    2 packets; they ask for the application's rate
//   no feedback    for 2 SRTT (and not before the report of the packet after the next could have come): the rate halves, and
//                  again every SRTT
//   silent router  the reported rate is an upper bound only: additive increase, multiplicative decrease below it
//
// Source: K. Chen, K. Nahrstedt, "Limitations of equation-based congestion control in mobile ad hoc networks", section VI:
// the sender must not exceed the signalled rate. The rest is ours; halving without feedback is RFC 5348, section 4.4, its two packets'
// time section 4.3 (the timer is never below 2 s/X there: a slow flow has nothing that could be reported on earlier), the
// test for silent routers RFC 4782, section 3.1. A packet that nobody reported for max(1 s, 4 SRTT) counts as lost and not as
// under way: so a flow whose packets were all lost goes on with one packet a second. While reports are missing the flow still tells
// routers the rate that it would use, so that its share is there when they come again.

#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "host/core/wire/exact_header.hpp"

namespace perhop::policy {

struct exact_sender_config {
  std::uint32_t packet_bytes = 1500;       ///< IP packet; rates count these
  std::uint64_t max_rate_bps = 2'000'000;  ///< ceiling: the rate of the link
  std::uint32_t first_packets = 2;
  std::uint32_t feedback_every_packets = 4;  ///< as at the receiver
  std::uint32_t max_feedback_interval_us = 200'000;
};

struct exact_sender_counters {
  std::uint64_t packets = 0;
  std::uint64_t reports = 0;
  std::uint64_t stale_reports = 0;    ///< older than one already read, or than the last restart
  std::uint64_t foreign_reports = 0;  ///< of packets that were never sent
  std::uint64_t zero_rates = 0;       ///< reports of rate 0
  std::uint64_t halvings = 0;         ///< for want of feedback
  std::uint64_t presumed_lost = 0;
  std::uint64_t decreases = 0;  ///< of the fallback behind a silent router
};

/// What to write into the headers of a packet that is sent now.
struct exact_outgoing {
  wire::exact_header header;
  std::uint64_t explicit_rate_bps = 0;  ///< what the flow would like
  std::uint64_t current_rate_bps = 0;   ///< what it uses; 0 ends the flow at the routers
};

class exact_sender {
public:
  static constexpr std::uint32_t most_under_way = 1024;  ///< packets that nobody has reported on yet

  explicit exact_sender(const exact_sender_config& config = {});

  /// What the application can use; unlimited at first.
  void set_application_rate(std::uint64_t rate_bps);

  /// What the packets are long from now on, IP header included: pacing, window and floor count them.
  void set_packet_bytes(std::uint32_t bytes);

  /// The flow was silent for so long that its routers have forgotten it, or its path is new: begins as at first, but goes on
  /// counting. Reports of packets that were sent before tell nothing any more.
  void restart();

  /// A congestion window limit in force beside the safety window; nothing: none.
  void set_window_limit(std::optional<std::uint32_t> packets) { window_limit_packets_ = packets; }

  /// When the next packet may go, not before now; nothing: not before a report or the deadline.
  std::optional<std::uint64_t> next_send(std::uint64_t now_us);

  /// A packet goes now. Call only when next_send says so. @param last the flow ends with it
  exact_outgoing on_send(std::uint64_t now_us, bool last = false);

  /// What the packet just sent left this node with: its own router's allocation is in force at once, no report has to come.
  void on_first_hop(std::uint64_t now_us, std::uint64_t explicit_rate_bps);

  /// A report arrived. @return whether it was used
  bool on_report(std::uint64_t now_us, const wire::exact_report& report);

  /// When on_deadline wants to be called; nothing while nothing is under way.
  std::optional<std::uint64_t> deadline() const;
  void on_deadline(std::uint64_t now_us);

  std::uint64_t rate_bps() const { return rate_bps_; }
  std::uint32_t window_packets() const;
  std::uint32_t unacknowledged_packets() const { return next_sequence_ - acknowledged_below_; }
  std::uint32_t smoothed_round_trip_us() const { return smoothed_round_trip_us_; }
  bool silent_router() const { return silent_router_; }
  bool started() const { return reported_; }
  const exact_sender_counters& counters() const { return counters_; }

private:
  std::uint64_t floor_bps() const { return std::uint64_t{8} * config_.packet_bytes; }
  std::uint64_t wanted_bps() const;
  std::uint64_t feedback_interval_us() const;
  std::uint64_t lost_after_us() const;
  void give_up_old(std::uint64_t now_us);
  void restart_feedback_timer(std::uint64_t now_us);
  void back_off_blindly(std::uint64_t now_us, const wire::exact_report& report);
  void settle_rate();

  exact_sender_config config_;
  exact_sender_counters counters_;
  std::uint64_t application_bps_ = wire::unlimited_rate_bps;
  std::uint64_t allowed_bps_ = 0;   // by the last report, and halvings since
  std::uint64_t reported_bps_ = 0;  // by the last report
  std::uint64_t first_hop_bps_ = wire::unlimited_rate_bps;
  std::uint64_t rate_bps_ = 0;
  std::optional<std::uint32_t> window_limit_packets_;

  bool reported_ = false;
  bool silent_router_ = false;
  double blind_rate_bps_ = 0;  // of the fallback
  std::uint64_t blind_cut_us_ = 0;
  std::uint64_t blind_raised_us_ = 0;
  std::uint32_t last_received_packets_ = 0;

  std::uint32_t next_sequence_ = 0;
  std::uint32_t acknowledged_below_ = 0;
  std::uint32_t highest_reported_ = 0;
  std::uint32_t begun_at_ = 0;  // first sequence number since the last restart
  std::uint64_t paced_until_us_ = 0;
  std::uint32_t smoothed_round_trip_us_ = 0;
  std::optional<std::uint64_t> no_feedback_at_us_;
  std::array<std::uint64_t, most_under_way> sent_us_{};
};

}  // namespace perhop::policy
