// SPDX-License-Identifier: GPL-2.0-or-later
/// Wraps a driver and does to what it receives what a bad network does: drops, duplicates, corrupts, delays and reorders packets,
/// each with its own probability, from one seed. What is sent is left alone: it meets the faults of the node that receives it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "host/drivers/wrapping_driver.hpp"

namespace perhop::drivers {

/// Probabilities in [0, 1], each drawn for every packet.
struct fault_config {
  std::uint64_t seed = 1;
  double drop = 0;
  double duplicate = 0;
  double corrupt = 0;  ///< one to four of its bytes get other values
  double delayed = 0;
  std::uint32_t delay_us = 10'000;  ///< of the packets that are delayed
  double reorder = 0;               ///< kept until the next packet has passed, or delay_us have
};

/// Packets so far.
struct fault_counters {
  std::uint64_t received = 0;
  std::uint64_t dropped = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t delayed = 0;
  std::uint64_t reordered = 0;
};

class fault_injector : public wrapping_driver {
public:
  /// @throws std::system_error no descriptors left
  fault_injector(std::unique_ptr<driver> inner, const fault_config& config);
  ~fault_injector() override;
  fault_injector(const fault_injector&) = delete;
  fault_injector& operator=(const fault_injector&) = delete;

  int descriptor() const override { return epoll_; }
  const fault_counters& faults() const { return faults_; }

  /// Packets that wait for their time; more are dropped.
  static constexpr std::size_t most_waiting = 1024;

private:
  /// A packet with bytes of its own.
  struct kept {
    reception frame;
    std::vector<std::uint8_t> msdu;
  };

  struct late_packet {
    std::uint64_t due_us;
    kept packet;
  };

  void on_reception(const reception& frame) override;
  void after_poll() override;

  bool happens(double probability);
  void spoil(std::vector<std::uint8_t>& bytes, std::uint64_t seed);
  void pass(const kept& packet);
  void keep_until(std::uint64_t due_us, kept packet);
  void release(std::uint64_t now_us);
  void set_timer();

  fault_config config_;
  std::mt19937_64 random_;
  int epoll_ = -1;
  int timer_ = -1;
  std::deque<late_packet> waiting_;  ///< all for the same time, so in order of theirs
  std::optional<kept> overtaken_;    ///< goes on behind the next packet
  std::uint64_t overtaken_due_us_ = 0;
  fault_counters faults_;
};

}  // namespace perhop::drivers
