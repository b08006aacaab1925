// SPDX-License-Identifier: GPL-2.0-or-later
/// Writes what was on the air as a pcapng file of 802.11 frames with radiotap headers, which Wireshark and tshark read.
///
/// At fidelity bytes the frames are those of the gateware's framer. At fidelity core the medium knows a frame's header
/// fields, its times and its length; everything between the MAC header and the FCS of a DATA frame comes from the caller
/// as bytes, so that a simulator of MAC traffic alone and one with a whole TCP/IP stack share this writer.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "host/core/wire/generated/protocol.hpp"
#include "sim/air/loss_watch.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

/// The frame as it is on the air, FCS included (IEEE 802.11-2012, clause 8). Independent network: its BSSID is
/// node_address_base, an address that no node has.
///
/// @param msdu bytes of a DATA frame between MAC header and FCS; empty for control frames
/// @throws std::length_error when header, msdu and FCS do not make frame.psdu_bytes
/// @throws std::invalid_argument when the kind is `other`: nothing sends it
std::vector<std::uint8_t> frame_bytes(const transmission& frame, byte_span msdu);

/// Every node is an interface, n0, n1, ...; a frame stands at its transmitter's. One that was lost where it was for has pcapng's
/// flag of a CRC error (frame.packet_flags_crc_error) and a comment that says where and why. Its bytes are those that were sent.
class pcapng_writer {
public:
  /// @param chosen nodes whose frames are kept, those that they send and those that are for them; empty: all frames are
  /// @throws std::runtime_error when the file cannot be written
  pcapng_writer(const std::filesystem::path& file, const timing_profile& profile, std::size_t nodes,
                const std::vector<node_id>& chosen = {});
  /// Writes what still waits, as finish() does, but nobody is told if that fails.
  ~pcapng_writer();
  pcapng_writer(const pcapng_writer&) = delete;
  pcapng_writer& operator=(const pcapng_writer&) = delete;

  /// Whether the frame is one of those that are kept; write() passes over others.
  bool keeps(const transmission& frame) const {
    if (chosen_.empty() || chosen_[frame.node]) return true;
    return frame.ra > node_address_base && frame.ra - node_address_base <= chosen_.size() && chosen_[frame.ra - node_address_base - 1];
  }

  /// The time stamp is the frame's start; TSFT its end (wire::radiotap_of says why). Call in order of starts.
  /// A frame waits for its end, since it may be lost.
  /// @throws std::runtime_error when writing fails; what frame_bytes throws
  void write(const transmission& frame, byte_span msdu = {});
  /// The same with all its bytes, FCS included.
  void write_psdu(const transmission& frame, byte_span psdu);
  /// A frame that was written was lost.
  void note(const lost_frame& lost);
  /// Writes what still waits. @throws std::runtime_error when writing fails
  void finish();

  std::uint64_t frames() const { return frames_; }

private:
  struct waiting_frame {
    transmission frame;
    std::vector<std::uint8_t> psdu;
    bool crc_error = false;
    std::string comment;
  };

  void write_block();
  void write_first();

  std::ofstream file_;
  const timing_profile* profile_;
  std::vector<bool> chosen_;  // by node; empty: all are
  std::vector<std::uint8_t> block_;
  std::deque<waiting_frame> waiting_;  // in order of starts
  std::uint64_t frames_ = 0;
};

}  // namespace perhop::air
