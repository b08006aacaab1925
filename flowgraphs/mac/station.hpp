// SPDX-License-Identifier: GPL-2.0-or-later
/// One station's MAC for flowgraphs: the Verilated mac_bytes (sim/air/bytes_node.hpp) with a time that its owner moves. MPDUs
/// with FCS go in and out, as a PHY in software has them: whole, when they are over.
///
/// A frame that no perhop MAC sends (other types, protected, fragments) counts as its Duration only.
///
/// Time is microseconds since the start. It never goes back; what is given is given at now(). Nothing here reads a clock.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <verilated.h>

#include "sim/air/bytes_node.hpp"

namespace perhop::flowgraphs {

struct station_config {
  air::node_id node = 0;  ///< its address is mac_address(node)
  std::string profile = "host_phy";
  std::uint8_t data_rate_index = 1;
  std::uint32_t rts_threshold_bytes = 0;  ///< an MPDU longer than this is sent after an RTS
  std::uint64_t seed = 1;
};

/// The MAC sends this MPDU (with FCS) from `at` on.
struct sent_frame {
  air::tick at;
  air::transmission frame;
  std::vector<std::uint8_t> psdu;
};
/// A DATA frame's MSDU for the host.
struct delivered_frame {
  air::tick at;
  std::uint64_t source;  ///< address 2 of its header
  std::uint64_t destination;
  std::vector<std::uint8_t> msdu;
};
/// The MAC is done with a packet.
struct finished_packet {
  air::completion record;
};
using station_event = std::variant<sent_frame, delivered_frame, finished_packet>;

class station {
public:
  /// @throws std::invalid_argument naming what is wrong with the configuration
  explicit station(const station_config& config);

  /// Lets time pass, at most to when the MAC has something for its host (a delivery, a completion), which may answer then and
  /// there; what it does meanwhile is in take_events(). @return `until` is reached
  bool advance(air::tick until);
  air::tick now() const { return now_; }

  void set_carrier(bool busy);
  /// A frame is over, at now(). Its FCS is looked at here. @return whether it was good
  bool receive(std::span<const std::uint8_t> psdu, std::uint8_t rate_index, double power_dbm);
  bool has_room() const { return node_.descriptor_ready(); }
  /// A packet for the neighbour `ra`, at now(). Only with has_room().
  void submit(std::uint64_t ra, std::span<const std::uint8_t> msdu, std::uint16_t tag);

  std::vector<station_event> take_events() { return std::exchange(events_, {}); }
  std::uint64_t address() const { return air::mac_address(config_.node); }

private:
  void clock(std::uint32_t ticks);
  void settle();
  std::uint8_t peer_of(std::uint64_t ra);

  station_config config_;
  air::air_config air_;
  air::bytes_node node_;
  air::tick now_ = 0;
  std::uint64_t frames_ = 0;
  std::vector<std::uint8_t> received_;
  std::vector<std::uint64_t> peers_;
  std::size_t next_peer_ = 0;
  std::array<std::uint64_t, 16> addresses_{};  ///< of the packets in the MAC, by tag
  std::vector<station_event> events_;
  bool for_host_ = false;
};

}  // namespace perhop::flowgraphs
