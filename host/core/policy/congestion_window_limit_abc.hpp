// SPDX-License-Identifier: GPL-2.0-or-later
//
// Window limit of ABC's sender (accel-brake control): the routers of the path have marked each data packet (abc_router.hpp), and the
// receiver's TCP ACKs bring the marks back (wire/abc_echo.hpp).
//
//   accelerate: w += 1 + 1/w        brake: w += -1 + 1/w
//
// So a TCP ACK that accelerates lets two packets go, and one that brakes none. 1/w makes flows that share a link equal in time.
//
// Source: the paper named in abc_router.hpp; where it meets other bottlenecks the flow sends by the least of this window and
// TCP's own, for routers that do not mark, and w is at most twice what is in flight.
// Ours differs from the source:
//  - marks come as running counts, not as a bit of each TCP ACK: the order of marks within one TCP ACK is unknown, and nothing is lost
//    with a TCP ACK;
//  - w is a limit on the window of any TCP, told to it as its receiver's window: the least of both is what TCP itself does;
//  - w begins with what TCP has in flight when the first marks come back, and ends at the ceiling of all limits.

#pragma once

#include <cstdint>
#include <optional>

#include "host/core/policy/congestion_window_limit_hop.hpp"
#include "host/core/policy/path_measurement.hpp"

namespace perhop::policy {

class congestion_window_limit_abc {
public:
  explicit congestion_window_limit_abc(std::uint32_t ceiling_packets = default_ceiling_packets);

  void on_path(const path_measurement&) {}
  void on_marks(const path_marks& told);
  std::optional<std::uint32_t> limit_packets() const;

private:
  static constexpr std::uint32_t one_packet = 256;  // of window_256_

  void move(std::uint32_t accelerates, std::uint32_t brakes, std::uint32_t in_flight_packets);

  std::uint32_t ceiling_packets_;
  std::optional<path_marks> known_;
  std::uint32_t window_256_ = one_packet;  // w
};

}  // namespace perhop::policy
