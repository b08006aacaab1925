// SPDX-License-Identifier: GPL-2.0-or-later
/// SWAN's rate control: how fast a node lets best effort to its MAC, so that real-time packets on the same air meet small delays.
///
/// In each period the rate grows by a step, or shrinks by a share where a packet's time at the MAC exceeded the threshold. It never
/// stands more than a share above what was sent in that period, so that a node that was silent does not begin with a burst. Nothing
/// is known of flows, and nothing is told to other nodes.
///
/// Source: Ahn, Campbell, Veres and Sun, "SWAN: Service Differentiation in Stateless Wireless Ad Hoc Networks", IEEE INFOCOM 2002,
/// section III (paper 002's reference 17). The settings' values are ours, and so is the least rate, which is one step: without it a
/// node that sent nothing could never send again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "host/core/policy/generated/settings.hpp"
#include "host/core/policy/time.hpp"

namespace perhop::policy {

class best_effort_rate {
public:
  explicit best_effort_rate(const swan_settings& settings)
      : settings_(settings), rate_bps_(settings.increase_bps), period_ends_(settings.period_us) {}

  /// The MAC is done with a packet, of whatever kind. @param at_mac_us its service time, DATA included
  void on_completion(time_us now, std::uint32_t at_mac_us) {
    go_on(now);
    exceeded_ |= at_mac_us > settings_.threshold_us;
  }

  /// When the next packet of best effort may go to the MAC.
  time_us next_send() const { return next_send_; }

  /// It goes. Of the time for which the MAC had no room, that of one packet is made up for.
  void on_send(time_us now, std::uint32_t mpdu_bytes) {
    go_on(now);
    const double bits = 8.0 * mpdu_bytes;
    sent_bits_ += bits;
    const auto gap = static_cast<time_us>(std::llround(bits / rate_bps_ * 1e6));
    next_send_ = std::max(next_send_ + gap, now);
  }

  double rate_bps() const { return rate_bps_; }

private:
  /// Ends the periods that are over.
  void go_on(time_us now) {
    if (now < period_ends_) return;
    end_period();
    const time_us silent_periods = (now - period_ends_) / settings_.period_us;
    if (silent_periods != 0) end_period();  // the first of them leaves the least rate, and the others no other
    period_ends_ += (silent_periods + 1) * settings_.period_us;
  }

  void end_period() {
    const double sent_bps = sent_bits_ * 1e6 / settings_.period_us;
    const double wanted_bps = exceeded_ ? rate_bps_ * (1 - settings_.decrease_share) : rate_bps_ + settings_.increase_bps;
    rate_bps_ = std::max<double>(std::min(wanted_bps, sent_bps * (1 + settings_.gap_share)), settings_.increase_bps);
    sent_bits_ = 0;
    exceeded_ = false;
  }

  swan_settings settings_;
  double rate_bps_;
  time_us period_ends_;
  time_us next_send_ = 0;
  double sent_bits_ = 0;  ///< in this period
  bool exceeded_ = false;
};

}  // namespace perhop::policy
