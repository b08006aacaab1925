// SPDX-License-Identifier: GPL-2.0-or-later
/// ABC's router: which data packets of a node tell their sender to accelerate, and which to brake.
///
///   tr = eta mu - mu/delta (x - dt)+        the rate at which packets are to come
///   f  = min(tr / (2 cr), 1)                share of packets that leave as accelerates: each of them brings two, a brake none
///   token = min(token + f, limit); a packet that came as an accelerate stays one for a whole token, and brakes otherwise
///
/// mu is the rate of the link, cr the rate at which packets leave, x their time in the queue. mu is what the MAC has measured: one
/// packet in the mean service time of the last completions, contention, attempts and exchange included, which no other link layer
/// tells. cr/mu is then the share of time that the MAC was at work on a packet, so that f needs neither rates nor sizes.
///
/// Source: P. Goyal, A. Agarwal, R. Netravali, M. Alizadeh, H. Balakrishnan, "ABC: A Simple Explicit Congestion Controller for
/// Wireless Networks", NSDI 2020: its target rate, share of accelerates and token bucket; eta and delta as told of its evaluation.
/// Ours differs from the source:
///  - packets are marked when they are queued, not when they leave: the MAC has their bytes before that. x is therefore what this
///    packet is going to wait, the packets before it times their mean service time, and not what the last one has waited;
///  - mu is measured by the MAC where the paper's access points infer it from the sizes of aggregates;
///  - cr is taken over some packets, 200 ms: in the tens of milliseconds of the paper our links carry one or two;
///  - the queue is shared with TCP ACKs of the way back and with flows without the policy. They count in cr and in x, and flows
///    without the policy have no queue and no share of their own (the paper gives them one each): ABC yields to them.
#pragma once

#include <array>
#include <cstdint>

#include "host/core/policy/time.hpp"

namespace perhop::policy {

/// The queue that a packet finds.
struct abc_queue {
  std::uint32_t target_us = 0;            ///< dt
  std::uint32_t before_it = 0;            ///< packets that this node sends first
  std::uint32_t expected_service_us = 0;  ///< of a packet, while none has been measured
};

class abc_router {
public:
  static constexpr std::uint64_t eta_permille = 980;
  /// delta. By the paper stable for round trips of up to 3/2 of it, 200 ms.
  static constexpr std::uint64_t drain_us = 133'000;
  /// The most that was not used and may be used later: so many accelerates may follow each other although f is small.
  static constexpr std::uint32_t token_limit_packets = 5;
  static constexpr time_us rate_window_us = 200'000;

  /// The MAC is done with a packet, of whatever kind. @param service_us from the head of its queue to its end
  void on_served(time_us now, std::uint32_t service_us);

  /// A data packet that came as an accelerate joins the queue. @return it is still one; false: it brakes
  bool accelerates(time_us now, const abc_queue& queue);

  /// One that brakes already: what it might have used is there for others.
  void on_brake(time_us now, const abc_queue& queue) { add_token(now, queue); }

  /// f, in 1/one_share
  static constexpr std::uint32_t one_share = 65'536;
  std::uint32_t accelerated_share(time_us now, const abc_queue& queue);

private:
  static constexpr std::size_t slots = 10;
  static constexpr time_us slot_us = rate_window_us / slots;

  /// Packets that the MAC was done with within one of the window's parts.
  struct window_part {
    std::uint64_t busy_us = 0;
    std::uint32_t packets = 0;
  };

  void advance(time_us now);
  void add_token(time_us now, const abc_queue& queue);

  std::array<window_part, slots> served_{};
  std::uint64_t newest_ = 0;  ///< number of the part that is being filled, since time 0
  std::uint64_t first_ = 0;   ///< of the first one
  bool begun_ = false;
  std::uint32_t token_ = 0;  ///< in 1/one_share packets
};

}  // namespace perhop::policy
