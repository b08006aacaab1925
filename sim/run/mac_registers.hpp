// SPDX-License-Identifier: GPL-2.0-or-later
/// The registers of an emulated MAC, as a host sees those of a radio (gateware/spec/registers.rdl).
///
/// The Verilated core has no register block: its settings are pins. So settings are told from the pins' values, the neighbour
/// table from the core's snapshot ports, and counters from what the core was seen to do. What cannot be known here (the event
/// log, frames that were received for somebody else) is no register of this MAC. Settings cannot be written: the MAC runs.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "sim/air/air.hpp"

namespace perhop::run {

/// What one MAC has done. Counts wrap at 2^32 when they are read.
struct mac_statistics {
  std::uint64_t tx_refused = 0;     ///< packets of the daemon that cannot be sent
  std::uint64_t done_overflow = 0;  ///< completion records lost: the daemon was too slow
  std::uint64_t rts_sent = 0;
  std::uint64_t cts_sent = 0;
  std::uint64_t data_sent = 0;
  std::uint64_t data_retries_sent = 0;
  std::uint64_t mac_ack_sent = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t delivered = 0;
  std::uint64_t group_sent = 0;
  std::uint64_t short_retry_limit = 0;
  std::uint64_t long_retry_limit = 0;
  std::uint64_t rx_delivered = 0;  ///< frames given to the daemon
  std::uint64_t rx_overflow = 0;   ///< frames lost: the daemon was too slow

  void note_sent(const air::transmission& frame);
  void note_done(const air::completion& record);
};

class mac_registers {
public:
  mac_registers(const air::air_config& config, air::node_id node);

  /// @return the word; nothing: this MAC has no such register
  std::optional<std::uint32_t> read(std::uint32_t address, air::tick now, const mac_statistics& statistics);
  /// neighbour_select alone. @return whether it was written
  bool write(std::uint32_t address, std::uint32_t value, air::air& air);

private:
  void set(std::uint32_t address, std::uint64_t value, unsigned words = 1);
  std::optional<std::uint32_t> read_statistics(std::uint32_t address, const mac_statistics& statistics) const;

  air::node_id node_;
  std::unordered_map<std::uint32_t, std::uint32_t> words_;  ///< settings, and the neighbour that was taken
  std::uint32_t tsf_high_ = 0;                              ///< of the time whose low word was read
};

}  // namespace perhop::run
