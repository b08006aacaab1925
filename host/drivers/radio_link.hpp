// SPDX-License-Identifier: GPL-2.0-or-later
/// What reaches the FPGA of a radio: registers, and a packet stream each way. One file a way to get there (host/drivers/uhd: UHD).
///
/// Calls block. read(), write() and send() may come from one thread while receive() is in another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "host/drivers/radio_time.hpp"

namespace perhop::drivers {

/// The radio cannot be reached, or is none: the link is of no more use.
class link_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// What went wrong between host and FPGA, since the link was made.
struct link_counts {
  std::uint64_t overflows = 0;        ///< packets of the FPGA found no room on the host
  std::uint64_t late = 0;             ///< of the host's packets or commands, by the radio's word
  std::uint64_t sequence_errors = 0;  ///< packets were missing on the way, there or back

  bool operator==(const link_counts&) const = default;
};

class radio_link {
public:
  virtual ~radio_link() = default;
  /// The word at a byte address. @throws link_error
  virtual std::uint32_t read(std::uint32_t address) = 0;
  /// @throws link_error
  virtual void write(std::uint32_t address, std::uint32_t word) = 0;
  /// A packet for the FPGA. @throws link_error
  virtual void send(std::span<const std::uint8_t> packet) = 0;
  /// Waits for a packet of the FPGA, at most some tenths of a second.
  /// @return its length; 0: none came
  /// @throws link_error
  virtual std::size_t receive(std::span<std::uint8_t> packet) = 0;
  /// The radio's time that came beside the packet which receive() gave last; nothing: none did.
  virtual std::optional<std::uint64_t> packet_ticks() const { return {}; }
  virtual link_counts counts() const { return {}; }
  /// Of the radio's time; 0: it has none that the link knows of.
  virtual std::uint64_t ticks_per_s() const { return 0; }
  /// How that time was set, and how it stood when the link looked last.
  virtual std::optional<radio_time> time() const { return {}; }
  /// What is wrong with the radio's clocks now, where the link knows of them; empty: nothing. @throws link_error
  virtual std::string time_trouble() { return {}; }
};

}  // namespace perhop::drivers
