// SPDX-License-Identifier: GPL-2.0-or-later
//
// Tries how much faster than one packet a period S a path takes packets, and keeps what raises delivery. S (pacing_path.hpp) assumes
// that of four consecutive hops one can send. Under another reception rule, at other distances, every third hop may. Part of the
// project's combined policy.
//
//   trial    TCP ACKs in three parts: as before, with the change, as before, so that a drift cancels. 5, 9 and 5 where each window waits
//            for its TCP ACK; 9, 17 and 9 on longer paths, where deliveries come less evenly. The first TCP ACK of a part answers packets
//            of the part before and is not counted
//   faster   the period x 0.9, down to 0.73, just under 3/4: the strict limit is a reuse of every third hop. Kept if bytes a second rise
//            by a quarter of the change or more (2.5 %; 4 % on longer paths). Ended in the middle of the change if they fall by 5 %
//   slower   the way back. Kept unless bytes a second fall by 1 % or more
//
// The window (congestion_window_limit_pipeline.hpp) follows the period that is tried. Where it grows, delivery must rise by half of that:
// a sender that its window limits delivers a window a round trip, so that less would only lengthen the queue.
//
// The first trial begins after 16 TCP ACKs. What pays is tried once more at once. When nothing pays, the pace is left alone for 16 TCP
// ACKs, the next time for 64, then for 255; for 255 at once after a faster pace that cost 3 %. Where there is nothing to gain, trials must
// cost little.
//
// Source: none; ours. Rates compared in neighbouring intervals are the idea of PCC (M. Dong et al., NSDI 2015).

#pragma once

#include <cstdint>

#include "host/core/policy/path_measurement.hpp"
#include "host/core/policy/path_share.hpp"

namespace perhop::policy {

class pace_trials {
public:
  static constexpr std::uint16_t untried_permille = 1000;
  static constexpr std::uint16_t least_permille = 729;  // 0.9^3
  static constexpr std::uint8_t first_pause_tcp_acks = 16, longest_pause_tcp_acks = 255;

  void on_delivery(const delivered_data& told, const path_measurement& path);

  /// Another flow has come: what changes now is not what is tried.
  void stop();

  /// Of the period S, to pace by now.
  std::uint16_t permille() const;

private:
  enum class trial : std::uint8_t {
    none,    ///< the pace is left alone
    faster,  ///< S becomes shorter
    slower,  ///< and longer again
  };
  enum class trial_part : std::uint8_t { before, changed, after };

  trial_part part_now() const;
  std::uint16_t tried_permille() const;
  std::uint32_t ratio_permille() const;
  void begin(trial next);
  void leave_faster();
  void rest();
  void finish(const path_measurement& path);

  std::uint16_t permille_ = untried_permille;  // settled
  trial trial_ = trial::none;
  std::uint8_t part_tcp_acks_ = 0;  // counted in the first part; twice as many in the second
  std::uint8_t tcp_acks_ = 0;       // of this trial
  std::uint8_t pause_tcp_acks_ = first_pause_tcp_acks;
  std::uint8_t rest_tcp_acks_ = first_pause_tcp_acks;  // until the next trial
  delivered_data with_;
  delivered_data without_;
};

}  // namespace perhop::policy
