// SPDX-License-Identifier: GPL-2.0-or-later
//
// Whether other traffic takes a part of a path, told from what the path delivers. Part of the project's combined policy.
//
//   alone     time that a packet takes where nobody else sends: max(S, ((w - 1) S + D + D') / (w + k)), a period, or a whole cycle of
//             the window (congestion_window_limit_pipeline.hpp) over the window's packets
//   by delay  alone from the delays that the path header tells, over the time that each packet took in the last 32 TCP
//             ACKs; up to 3 hops 8, which stand for as many packets
//   by idle   the same from exchanges on an idle medium
//
// Shared is a path that delivers less than its own delays promise (by delay) and less than an idle medium would (by idle). Each has a
// bound for paths of up to 3 hops, of 4, of 5 and 6, and of more (path_share.cpp):
//  - up to 3 hops all stations share one medium, so by idle alone tells who has it: 1.0 alone, 0.88 where
//    10 % of the frames are lost. A link at half the rate looks the same; what follows of it then costs round trip and no goodput;
//  - a slow link is in the delays, so that by delay it is 0.95 and more whatever by idle says;
//  - where each window waits for its TCP ACK (up to 6 hops) the cycle is known well: by idle 0.8 and more alone, half with a second flow;
//  - on longer paths frames that are sent again take by idle down to 0.44 (15 hops, 10 % errors), a second flow to 0.2 to 0.46: there by
//    delay decides, too. A lossy path of 15 hops that is taken for a shared one loses a tenth of its goodput.
//
// Source: none; ours.

#pragma once

#include <cstdint>

#include "host/core/policy/path_measurement.hpp"

namespace perhop::policy {

/// On an idle medium, with the mean backoff, as the sender's own link takes it. 0: unknown
struct idle_exchange {
  std::uint32_t tcp_ack_us = 0;  ///< A
  std::uint32_t data_us = 0;     ///< D
};

/// What a TCP ACK is the first to acknowledge, and the time since the one before.
struct delivered_data {
  std::uint32_t bytes = 0;
  std::uint32_t us = 0;
};

class path_share {
public:
  static constexpr std::uint32_t tcp_acks_a_look = 32, tcp_acks_a_look_of_short_paths = 8;

  /// @param segment_bytes of a full packet
  void on_delivery(const delivered_data& told, std::uint32_t segment_bytes, const idle_exchange& idle, const path_measurement& path);

  bool shared() const { return shared_; }

private:
  std::uint32_t bytes_ = 0;  // of this look
  std::uint32_t us_ = 0;
  std::uint8_t tcp_acks_ = 0;
  bool shared_ = false;
};

}  // namespace perhop::policy
