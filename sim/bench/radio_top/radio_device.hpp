// SPDX-License-Identifier: GPL-2.0-or-later
/// \file
/// A Verilated radio_top with its host, sample by sample.
#pragma once

#include <complex>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/air/axil_master.hpp"

class VerilatedContext;
class Vradio_top;

namespace perhop::bench {

/// A packet of the host, for one station.
struct radio_packet {
  std::uint64_t ra = 0;
  std::uint32_t rate = 0;
  bool force_rts = false;
  std::vector<std::uint8_t> msdu;  ///< at least one byte
};

/// What a radio puts on the air with a sample.
struct air_sample {
  std::complex<double> value;
  bool active = false;  ///< tx_active
};

class radio_device {
public:
  radio_device();
  ~radio_device();
  radio_device(const radio_device&) = delete;
  radio_device& operator=(const radio_device&) = delete;

  /// Writes a register over AXI4-Lite while nothing is on the air. Throws if it is not answered in 1000 clocks.
  void write(std::uint32_t address, std::uint32_t word);
  std::uint32_t read(std::uint32_t address);

  /// Hands a packet to the MAC as soon as it takes it.
  void give(radio_packet packet) { packets_.push_back(std::move(packet)); }
  /// Packets that are not yet with the MAC.
  std::size_t waiting() const { return packets_.size(); }
  /// Completion records, by tx_result.
  const std::vector<std::uint32_t>& results() const { return results_; }

  /// What it says to its front end now.
  unsigned gain_below_db() const;

  /// One sample: the clocks until the next one. `heard` is what the antenna has, in steps of the converter.
  air_sample sample(std::complex<double> heard, std::uint32_t clocks);

private:
  void clock();

  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vradio_top> pins_;
  std::deque<radio_packet> packets_;
  bool describing_ = true;  // the descriptor of the first packet is next, not its bytes
  std::size_t byte_index_ = 0;
  air::axil_master bus_;
  std::vector<std::uint32_t> words_, results_;
};

}  // namespace perhop::bench
