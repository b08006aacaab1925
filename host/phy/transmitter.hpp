// SPDX-License-Identifier: GPL-2.0-or-later
/// The DSSS transmitter: from a PSDU to the samples of gateware/rtl/phy/tx, number by number (IEEE 802.11-2012, clauses 16
/// and 17). The same as host/python/perhop/phy/transmitter.py, which explains itself; this one is fast.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace perhop::phy {

/// A PSDU to send, with what its PLCP says of it.
struct outgoing_frame {
  std::span<const std::uint8_t> psdu;
  std::uint8_t rate_index = 0;  ///< 0: 1 Mb/s, 1: 2 Mb/s
  bool short_preamble = false;  ///< with 2 Mb/s only
};

inline constexpr std::uint32_t gain_one = 256;

/// Largest PSDU whose LENGTH, in microseconds, has room in its 16 bits.
constexpr std::uint32_t max_psdu_bytes(std::uint8_t rate_index) { return 0xFFFF / (8U >> rate_index); }

/// What is wrong with a frame; empty: nothing.
std::string fault_of(const outgoing_frame& frame);

/// Microseconds of preamble, header and PSDU; as many symbols.
std::uint32_t airtime_symbols(const outgoing_frame& frame);

/// I, Q, I, Q ...: 12 bits each with a gain of `gain_one`. The first chip peaks 3 chips after the first sample.
/// @param frame without fault
/// @param samples_per_chip 2 or 4
/// @param gain up to gain_one
std::vector<std::int16_t> transmitted(const outgoing_frame& frame, std::uint32_t samples_per_chip, std::uint32_t gain);

}  // namespace perhop::phy
