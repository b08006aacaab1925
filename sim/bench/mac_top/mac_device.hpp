// SPDX-License-Identifier: GPL-2.0-or-later
/// \file
/// A Verilated mac_top with its host and its PHY: clock by clock, so that times can be told in clocks.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "host/core/wire/generated/protocol.hpp"
#include "sim/air/axil_master.hpp"
#include "sim/bench/mac_top/frames.hpp"

class VerilatedContext;
class Vmac_top;

namespace perhop::bench {

using clock_number = std::uint64_t;

/// A PHY's first byte comes so many clocks after phy_rx_start, and its next phy_rx_start after phy_rx_end.
constexpr int first_byte_clocks = 4;

/// What the host writes to the registers before it enables the MAC.
struct station_settings {
  const timing_profile* profile = nullptr;
  std::uint64_t address = node_address_base + 1;
  std::uint64_t bssid = 0x021122334455;
  std::uint64_t seed = 1;
  std::uint32_t rts_threshold_bytes = 4095;
  std::uint32_t tx_delay_clocks = 0;
  std::uint32_t rx_delay_clocks = 0;
  std::uint32_t short_retry_limit = default_short_retry_limit;
  std::uint32_t long_retry_limit = default_long_retry_limit;
  std::uint32_t more_response_timeout_us = 0;  ///< for the delays of the PHY
};

/// A packet of the host.
struct host_packet {
  std::uint32_t queue = 0;
  std::uint64_t ra = 0;
  std::uint32_t rate = 0;
  std::uint16_t tag = 0;
  bool force_rts = false;
  bytes msdu;                               ///< at least one byte
  std::optional<std::uint32_t> told_bytes;  ///< what the descriptor says instead of the MSDU's length
  std::uint32_t peer = 0;
  bool peer_series = false;
  bool four_address = false;
  std::uint32_t series_attempts = 0, series_rate = 0;
};

/// A frame that the MAC sends.
struct sent_frame {
  clock_number at = 0;  ///< of phy_tx_start
  std::uint32_t rate = 0;
  std::uint32_t told_bytes = 0;
  std::uint32_t airtime_us = 0;
  bytes frame;
  bool whole = false;
};

/// What the PHY tells the MAC, and when. At most one indication of a kind a clock.
struct phy_event {
  enum class what : std::uint8_t { carrier, no_carrier, start, byte, end };
  clock_number at = 0;
  what kind = what::carrier;
  std::uint32_t value = 0;  ///< start: bytes told; byte: the byte; end: 1 for an error
  std::uint32_t rate = 0;
};

/// A completion record, as far as benches look at it.
struct completion {
  std::uint16_t tag = 0;
  tx_result result{};
};

class mac_device {
public:
  mac_device();
  ~mac_device();
  mac_device(const mac_device&) = delete;
  mac_device& operator=(const mac_device&) = delete;

  /// Disables the MAC, writes every setting, enables it. Throws if one is refused.
  void configure(const station_settings& settings);

  /// A register, over AXI4-Lite; the clocks that it takes go by. An access that is not answered in 1000 clocks throws.
  std::uint32_t read(std::uint32_t address);
  void write(std::uint32_t address, std::uint32_t word, std::uint32_t strobes = 0xF);

  /// One clock. Returns true if the MAC starts a frame in it.
  bool clock();

  /// The number of the clock to come.
  clock_number now() const { return now_; }

  /// Adds what the PHY will say; in any order, none of it in the past.
  void schedule(const phy_event& event);
  /// Forgets what it had yet to say, but for the carrier.
  void cancel_reception();

  void give(host_packet packet) { packets_.push_back(std::move(packet)); }
  std::size_t packets_waiting() const { return packets_.size(); }

  const sent_frame& last_sent() const { return sent_; }
  std::vector<completion>& completions() { return completions_; }
  /// Completion records of a wrong length; a MAC that is disabled may tear one.
  std::uint64_t torn_records() const { return torn_records_; }
  std::uint64_t frames_received() const { return frames_received_; }
  /// The TSF, read over the registers.
  std::uint64_t tsf_us();
  /// A frame that began while a register was accessed has been seen by nobody yet.
  bool take_start();

  /// A byte is taken from the MAC in one of so many clocks; 1: in every clock.
  void set_byte_clocks(std::uint32_t clocks) { byte_clocks_ = clocks; }

  /// What the host and the PHY had begun and not ended is forgotten.
  void forget();

  /// Whether the host takes what comes: frames and completion records, or records alone.
  void set_taking(bool taking);
  void set_taking_completions(bool taking);
  /// Packets are waiting or under way, or there is something for the host to take.
  bool busy();

  static std::uint32_t clocks_per_us();

private:
  void drive_phy();
  void drive_host();
  void collect();

  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vmac_top> pins_;
  clock_number now_ = 0;
  std::deque<phy_event> events_;  // in order of time
  std::deque<host_packet> packets_;
  bool describing_ = true;  // the descriptor of the first packet is next, not its bytes
  std::size_t byte_index_ = 0;
  sent_frame sent_;
  std::uint32_t byte_clocks_ = 1;
  bool started_ = false, taking_completions_ = true;
  air::axil_master bus_;
  std::vector<std::uint32_t> words_;
  std::vector<completion> completions_;
  std::uint64_t frames_received_ = 0, torn_records_ = 0;
};

}  // namespace perhop::bench
