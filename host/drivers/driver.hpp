// SPDX-License-Identifier: GPL-2.0-or-later
/// What a node's daemon wants of a MAC, wherever that runs: packets down, completions and receptions up.
///
/// Not thread safe; nothing blocks. A driver is down until its MAC answers, and may go down and come up again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "host/core/wire/generated/frames.hpp"
#include "host/drivers/radio_time.hpp"

namespace perhop::drivers {

/// What a MAC says of itself when it comes up.
struct mac_properties {
  std::uint64_t address = 0;
  const timing_profile* profile = nullptr;
  std::uint8_t data_rate_index = 0;                    ///< of DATA frames to one station
  std::uint32_t rts_threshold_bytes = 0;               ///< longer MPDUs are sent after an RTS
  std::uint8_t average_shift = default_average_shift;  ///< a new sample weighs 2^-this in the neighbour table
  std::uint32_t send_credits = 0;                      ///< packets that may be given before a completion must come

  friend bool operator==(const mac_properties&, const mac_properties&) = default;
};

struct send_request {
  std::uint64_t receiver_address = 0;
  std::uint8_t peer = 0;  ///< the receiver's slot in the MAC's neighbour table
  std::uint8_t rate_index = 0;
  bool use_rts = false;
  std::uint32_t cookie = 0;            ///< comes back with the completion
  std::span<const std::uint8_t> msdu;  ///< from LLC/SNAP on
};

/// Whether a MAC can send this at all. What it cannot, it would never complete.
inline bool is_sendable(const mac_properties& mac, const send_request& request) {
  return !request.msdu.empty() && request.msdu.size() <= most_msdu_bytes && request.peer < neighbour_slots &&
         request.rate_index < mac.profile->rates.size() && request.receiver_address <= broadcast_address;
}

struct reception {
  std::uint64_t receiver_address = 0;
  std::uint64_t transmitter_address = 0;
  std::uint64_t tsf_us = 0;                ///< of its end
  std::optional<std::uint64_t> device_us;  ///< the same by the radio's own time; nothing: it has none
  std::uint16_t sequence = 0;
  std::uint8_t rate_index = 0;
  std::span<const std::uint8_t> msdu;  ///< valid during the call
};

/// An access to a 32-bit word of the MAC's registers (gateware/spec/registers.rdl).
struct register_access {
  std::uint32_t address = 0;           ///< bytes
  std::optional<std::uint32_t> write;  ///< nothing: read it
};

/// What came of a register_access: the word read, 0 after a write; nothing: the MAC has no such register, or it may not be written.
using register_answer = std::optional<std::uint32_t>;

/// Counted since the start.
struct driver_counters {
  std::uint64_t ups = 0;        ///< times that the MAC came up
  std::uint64_t malformed = 0;  ///< messages that could not be read
  std::uint64_t lost = 0;       ///< packets that could not be handed over
  std::uint64_t refused = 0;    ///< packets that no MAC can send (is_sendable)
  // Of radios.
  std::uint64_t overflows = 0;        ///< what the radio had for this host found no room, here or there
  std::uint64_t late = 0;             ///< what was sent to the radio was late
  std::uint64_t sequence_errors = 0;  ///< packets were missing between here and the radio
  std::uint64_t rx_samples_lost = 0;  ///< in the FPGA, on their way to the modem
  std::uint64_t tx_samples_late = 0;  ///< in the FPGA, on their way to the converter
  std::uint64_t times_lost = 0;       ///< the radio's clocks stood, or lost their reference
};

class driver_listener {
public:
  virtual ~driver_listener() = default;
  virtual void on_up(const mac_properties& mac) = 0;
  /// What was given and not completed never will be.
  virtual void on_down() = 0;
  virtual void on_completion(std::uint32_t cookie, const completion_record& record) = 0;
  virtual void on_reception(const reception& frame) = 0;
  /// One answer an access. @param cookie of access_registers()
  virtual void on_registers(std::uint32_t /*cookie*/, std::span<const register_answer> /*answers*/) {}
};

class driver {
public:
  virtual ~driver() = default;
  /// Readable when poll() has something to do; the same for ever.
  virtual int descriptor() const = 0;
  /// Tells the listener what has happened.
  virtual void poll(driver_listener& listener) = 0;
  /// Up, and a credit is left.
  virtual bool can_send() const = 0;
  /// Requires can_send(). Every packet ends once: here, in on_completion(), or with all others in on_down().
  /// @return false: refused, because no MAC can send it or this one cannot be reached. It costs no credit and is not completed
  [[nodiscard]] virtual bool send(const send_request& request) = 0;
  /// Its MAC is of no more use: the driver lets go of it and begins anew. on_down() comes by poll(), never within this call, and
  /// on_up() when a MAC answers. @param why in words for a person, for problem()
  virtual void restart(const std::string& why) = 0;
  /// Accesses to registers, done in order and with no other between them. The answers come by on_registers(), never within this
  /// call; when the driver goes down, they never come.
  /// @return false: down, more than air_most_register_accesses, or a MAC without registers; nothing will come
  virtual bool access_registers(std::uint32_t /*cookie*/, std::span<const register_access> /*accesses*/) { return false; }
  virtual const driver_counters& counters() const = 0;
  /// How its radio's time was set; nothing: no radio, or none with a time.
  virtual std::optional<radio_time> time() const { return {}; }
  /// Its MAC's clock, the low half of the TSF timer, as it was a moment ago; nothing: it passes as this host's does. That of a virtual
  /// radio is slower.
  virtual std::optional<std::uint32_t> mac_clock_us() const { return {}; }
  /// Why the MAC is down, in words for a person; empty: it is up, or nothing is known. A new one makes descriptor() readable.
  virtual std::string problem() const { return {}; }
};

}  // namespace perhop::drivers
