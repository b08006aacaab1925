// SPDX-License-Identifier: GPL-2.0-or-later
/// The scrambler and the CRC-16 of the PLCP, bit by bit (IEEE 802.11-2012, 17.2).
#pragma once

#include <cstdint>

#include "host/phy/generated/constants.hpp"

namespace perhop::phy {

/// out = in xor z4 xor z7, z being past outputs of the transmitter; the same register serves both ends.
class scrambler {
public:
  explicit scrambler(std::uint32_t seed = 0) : past_(seed) {}
  unsigned scrambled(unsigned bit) {
    bit ^= tap();
    push(bit);
    return bit;
  }
  unsigned descrambled(unsigned bit) {
    const unsigned plain = bit ^ tap();
    push(bit);
    return plain;
  }

private:
  unsigned tap() const { return (past_ >> 3 ^ past_ >> 6) & 1; }
  void push(unsigned bit) { past_ = (past_ << 1 | bit) & 0x7F; }
  std::uint32_t past_;
};

/// The register of the CRC-16 after one more bit of the header; it begins with ones.
constexpr std::uint32_t crc_step(std::uint32_t remainder, unsigned bit) {
  const bool feedback = ((remainder >> 15 ^ bit) & 1) != 0;
  return (remainder << 1 & 0xFFFF) ^ (feedback ? plcp_crc_polynomial : 0);
}

}  // namespace perhop::phy
