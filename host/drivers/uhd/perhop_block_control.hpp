// SPDX-License-Identifier: GPL-2.0-or-later
/// UHD's controller of the RFNoC blocks perhop and perhop_stream (hw/rfnoc): the registers of MAC, modem and shell by their names in
/// gateware/spec, properties for what is set most, and snapshots of the neighbour table.
///
///     auto block = graph->get_block<perhop_block_control>("0/perhop#0");
///     block->set_property<std::string>("profile", "dsss_short");
///     block->snapshot_neighbour(0).delay_us(airtime);
///
/// Properties (set them while "enabled" is false, but for those marked live):
///
///     profile               timing profile of gateware/spec/protocol.yaml that the modem keeps: dsss_long, dsss_short
///     address               of the station, as text: 02:00:00:00:00:01
///     seed                  of the back-off draws, any number
///     rts_threshold         bytes; longer MPDUs are sent after an RTS
///     tx_delay, rx_delay    clocks that modem, shell and front end take
///     tx_gain               live; 0 to 1
///     energy_threshold      live; dBm
///     rssi_base             live; dBm
///     heartbeat_limit       live; ms: the shell stops sending and answering when beat() was not called for so long; 0: never
///     own_converter         live; whether the modem sends, and switches the front end
///     enabled               whether the MAC runs: setting it to true writes all of the above
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <uhd/rfnoc/noc_block_base.hpp>

namespace perhop::drivers::uhd_blocks {

inline constexpr std::uint32_t perhop_noc_id = 0x88B50001;
inline constexpr std::uint32_t perhop_stream_noc_id = 0x88B50002;

/// What packets to one neighbour cost, at one moment; the histogram alone is read bin by bin.
struct neighbour_snapshot {
  double contention_us;
  double overhead_us;
  double data_attempts;
  std::uint32_t packets;
  std::uint32_t drops;
  std::uint64_t service_us;                 ///< sum over packets
  std::array<std::uint32_t, 16> histogram;  ///< packets by service time: below 128 us, below 256 us, ...

  /// Expected service time of a packet with that airtime.
  double delay_us(double data_airtime_us) const { return contention_us + overhead_us + data_attempts * data_airtime_us; }
};

/// Makes UHD know the controller; before a graph is made. Harmless when repeated.
void register_blocks();

class perhop_block_control : public ::uhd::rfnoc::noc_block_base {
public:
  RFNOC_DECLARE_BLOCK(perhop_block_control)

  /// A register, or an entry of an array, by its name: "slot", "radio.tx_gain", "shell.route". All of its bits, at most 64.
  /// @throws uhd::key_error no such register  @throws uhd::index_error no such entry  @throws uhd::op_timeout no answer
  virtual std::uint64_t read_register(std::string_view name, std::uint32_t index = 0) = 0;
  /// @throws uhd::access_error it cannot be written, or the hardware refused the value  and as read_register()
  virtual void write_register(std::string_view name, std::uint64_t value, std::uint32_t index = 0) = 0;
  /// One field of a register; in two's complement where it is signed.
  virtual std::int64_t read_field(std::string_view name, std::string_view field, std::uint32_t index = 0) = 0;

  /// A slot of the neighbour table, all but the histogram at one moment. @throws uhd::index_error no such slot
  virtual neighbour_snapshot snapshot_neighbour(std::uint32_t slot) = 0;

  /// The 64-bit TSF timer, never torn.
  virtual std::uint64_t read_tsf_us() = 0;

  /// Tells the radio that this program is there; own_converter becomes 0 without that (heartbeat_limit).
  virtual void beat() = 0;
};

}  // namespace perhop::drivers::uhd_blocks
