// SPDX-License-Identifier: GPL-2.0-or-later
/// One Verilated radio_top with its host: samples in and out, packets in, completion records and received packets out. It
/// knows nothing of other nodes, and of time no more than its own clocks.
///
/// Registers are written over AXI4-Lite before the first sample; the MAC starts with time 0. Packets take as many clocks
/// into the MAC as they have bytes, and so on: nothing is faster than in a radio. What MAC and PHY say to each other inside
/// radio_top is read only, for traces.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <verilated.h>

#include "host/core/wire/generated/frames.hpp"
#include "sim/air/air_config.hpp"
#include "sim/air/axil_master.hpp"
#include "sim/air/samples/converter.hpp"
#include "sim/air/samples/sample_time.hpp"
#include "sim/air/types.hpp"

namespace perhop::air::samples {

/// From phy_tx_start, at a receiver without propagation, to its phy_rx_end, less the airtime: what the settings of the MAC
/// call the delays of the PHY, in clocks: in front of the antenna and behind it, the converter included. Tests measure them.
inline constexpr unsigned phy_tx_delay_clocks = 18;
inline constexpr unsigned phy_rx_delay_clocks = 45;

/// tx_active comes first, then a rising amplitude and half a pulse: so many samples after the first one with tx_active the frame's
/// first chip begins.
inline constexpr double samples_before_first_chip = 8.5;

/// Told what a radio does, in the clock in which it does it.
class radio_listener {
public:
  virtual ~radio_listener() = default;
  /// A frame's first sample leaves with this one. `sequence`: of the packet that it is sent for.
  virtual void on_frame_start(node_id node, std::uint8_t rate_index, std::uint16_t bytes, std::uint16_t sequence) = 0;
  /// The PHY has taken all bytes of the frame that started last.
  virtual void on_frame_bytes(node_id node, byte_span psdu) = 0;
  /// The host gets an MSDU.
  virtual void on_msdu(node_id node, const rx_status& status, byte_span msdu) = 0;
  virtual void on_record(node_id node, const completion_record& record) = 0;
  /// time_us is left to the listener: the event is in clock `clock` of the sample. Of tx_start on_frame_start() tells.
  virtual void on_phy(const phy_event& event, unsigned clock) = 0;
};

class radio_node {
public:
  /// Resets the radio and writes its settings.
  /// @throws std::runtime_error a setting that the registers refuse
  radio_node(VerilatedContext& context, const air_config& config, node_id node);
  ~radio_node();
  radio_node(radio_node&&) noexcept;

  /// The time of one sample goes by. @return what is sent in it, in steps of 12 bits
  std::complex<float> step(converted_sample heard, radio_listener& listener);

  /// Its antenna is a transmitter's: what is heard does not matter.
  bool sends() const { return sends_; }

  /// Room for one more packet, so that there are no more in the MAC than at the other fidelities.
  bool has_room() const { return packets_.size() <= core_queue_depth; }
  void give(const tx_request& request, std::uint16_t tag, std::vector<std::uint8_t> msdu);
  /// Of the packet in service.
  std::uint16_t tag_in_service() const { return packets_.empty() ? std::uint16_t{0} : packets_.front().tag; }

  std::uint32_t read(std::uint32_t address);
  std::uint64_t clocks() const { return clocks_; }

private:
  static constexpr std::size_t core_queue_depth = 4;

  struct packet {
    tx_request request;
    std::uint16_t tag;
    std::vector<std::uint8_t> msdu;
  };
  struct started {
    std::uint8_t rate_index;
    std::uint16_t bytes;
    std::uint16_t sequence;
  };

  void configure(const air_config& config);
  void write(std::uint32_t address, std::uint32_t word);
  void clock(radio_listener* listener, unsigned number);
  void drive_host();
  void see_sample(radio_listener& listener);
  void see_host(radio_listener& listener);
  void see_phy(radio_listener& listener, unsigned number);
  [[noreturn]] void fail(const std::string& what) const;

  struct model;
  std::unique_ptr<model> model_;
  node_id node_;
  std::uint32_t rts_threshold_bytes_;
  std::uint64_t clocks_ = 0;
  std::deque<packet> packets_;  // in the MAC or on their way to it
  std::size_t given_ = 0;       // of them in the MAC
  std::size_t byte_ = 0;        // of the one that is on its way
  bool describing_ = true;      // its descriptor is next
  std::complex<float> sample_;
  bool sends_ = false, busy_ = false;
  axil_master bus_;
  std::optional<started> started_;
  std::vector<std::uint8_t> psdu_, msdu_;
  std::array<std::uint32_t, completion_record_words> words_{};
  std::size_t words_come_ = 0;
};

}  // namespace perhop::air::samples
