// SPDX-License-Identifier: GPL-2.0-or-later
//
// How long a packet of any size will take to each next hop, from head of line to MAC ACK.
//
//   delay = avg_contention + avg_overhead + avg_data_attempts * airtime(size, rate)
//
// The three averages are kept by the MAC's neighbour table and arrive with every completion record; nothing is averaged
// here, so that hardware and host never hold two estimates of one thing. Contention is IFS, backoff, frozen time,
// timeouts and time given to other stations' frames; overhead is RTS, CTS, MAC ACK and the SIFS between them.
// Until a neighbour's first completion the estimate is what an idle medium would take: DIFS + CWmin/2 slots + exchange.
//
// Source: S. Shah, K. Chen, K. Nahrstedt, "Dynamic bandwidth management for single-hop ad hoc wireless networks",
// PerCom 2003 (delay normalised to a packet size). Ours differs: contention is averaged apart from airtime, in
// hardware. One overhead average serves all sizes of a neighbour: with an RTS threshold between the sizes in use it is
// a mixture.

#pragma once

#include <array>
#include <cstdint>

#include "host/core/wire/generated/frames.hpp"
#include "host/core/wire/generated/protocol.hpp"

namespace perhop::policy {

/// The part of a completion record that the estimator needs: one neighbour's averages after the packet.
struct neighbour_averages {
  std::uint8_t peer = 0;                    ///< slot of the neighbour table, 0..15
  std::uint32_t avg_contention_us16 = 0;    ///< unit 1/16 us
  std::uint32_t avg_overhead_us16 = 0;      ///< unit 1/16 us
  std::uint32_t avg_data_attempts_256 = 0;  ///< unit 1/256
};

/// The same, taken out of a whole completion record.
constexpr neighbour_averages averages_of(const completion_record& record) {
  return {.peer = record.peer,
          .avg_contention_us16 = record.avg_contention_us16,
          .avg_overhead_us16 = record.avg_overhead_us16,
          .avg_data_attempts_256 = record.avg_data_attempts_256};
}

class delay_estimator {
public:
  /// @param profile must outlive the estimator (the profiles of the specification always do)
  /// @param rts_threshold_bytes an MPDU of more bytes than this is preceded by RTS/CTS; matters before the first
  ///        completion only
  explicit delay_estimator(const timing_profile& profile, std::uint32_t rts_threshold_bytes = 0);

  /// A packet to this neighbour was completed. A slot out of range is ignored. @return whether it was in range
  bool on_completion(const neighbour_averages& averages);

  /// The slot now belongs to another neighbour: start again from the idle medium.
  void forget(std::uint8_t peer);

  /// @param peer slot of the neighbour table; out of range: the idle medium's delay
  /// @param mpdu_bytes the whole MPDU with its FCS
  std::uint32_t delay_us(std::uint8_t peer, std::uint32_t mpdu_bytes, std::uint8_t rate_index) const;

  /// DIFS + CWmin/2 slots + the whole exchange, on an idle medium without errors.
  std::uint32_t uncontended_delay_us(std::uint32_t mpdu_bytes, std::uint8_t rate_index) const;

  /// DIFS + CWmin/2 slots + a broadcast frame at the lowest basic rate, which nobody acknowledges.
  std::uint32_t broadcast_delay_us(std::uint32_t mpdu_bytes) const;

private:
  struct neighbour {
    std::uint64_t fixed_us16 = 0;  // contention plus overhead
    std::uint32_t data_attempts_256 = 0;
    bool measured = false;
  };

  const timing_profile* profile_;
  std::uint32_t rts_threshold_bytes_;
  std::array<neighbour, neighbour_slots> neighbours_{};
};

}  // namespace perhop::policy
