# SPDX-License-Identifier: GPL-2.0-or-later
"""The PLCP: what stands before a PSDU on the air, its CRC-16, and the scrambler (IEEE 802.11-2012, 16.2 and 17.2).

A bit is an int, 0 or 1; bits stand in the order of the air.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perhop.phy import constants as phy

RATE_1MBPS, RATE_2MBPS = 0, 1
"""Rate indices, as those of the timing profiles dsss_long and dsss_short."""

SIGNALS = (phy.PLCP_SIGNAL_1MBPS, phy.PLCP_SIGNAL_2MBPS)


def low_bit_first(value: int, bits: int) -> list[int]:
    """The bits of a field as all fields but the CRC are sent."""
    return [value >> bit & 1 for bit in range(bits)]


def value_of(bits: Iterable[int]) -> int:
    """The reverse of low_bit_first."""
    return sum(bit << place for place, bit in enumerate(bits))


def crc_remainder(bits: Iterable[int]) -> int:
    """The register of the CRC-16 after these bits."""
    register = 0xFFFF
    for bit in bits:
        feedback = register >> 15 ^ bit
        register = register << 1 & 0xFFFF ^ (phy.PLCP_CRC_POLYNOMIAL if feedback else 0)
    return register


def crc16(bits: Iterable[int]) -> int:
    """The CRC of a header's 32 bits; it is sent with its high bit first, unlike every other field."""
    return crc_remainder(bits) ^ 0xFFFF


def header_of(signal: int, service: int, length_us: int) -> list[int]:
    """A header's fields and its CRC."""
    fields = low_bit_first(signal, 8) + low_bit_first(service, 8) + low_bit_first(length_us, 16)
    return fields + low_bit_first(crc16(fields), 16)[::-1]


def header_bits(rate: int, psdu_bytes: int) -> list[int]:
    """The header of a PSDU at one of our rates."""
    return header_of(SIGNALS[rate], phy.PLCP_SERVICE, psdu_bytes * (8 >> rate))


def scrambled(bits: Iterable[int], seed: int) -> list[int]:
    """out = in xor z4 xor z7, where z are the past outputs; the seed's low bit is Z1."""
    past, out = seed, []
    for bit in bits:
        bit ^= (past >> 3 ^ past >> 6) & 1
        past = (past << 1 | bit) & 0x7F
        out.append(bit)
    return out


@dataclass(frozen=True)
class Frame:
    """A PSDU to send, with what its PLCP says of it."""

    psdu: bytes
    rate: int = RATE_1MBPS
    short_preamble: bool = False

    def __post_init__(self) -> None:
        if self.short_preamble and self.rate == RATE_1MBPS:
            raise ValueError("1 Mb/s exists with the long preamble only (17.2.2.3)")

    def preamble_bits(self) -> list[int]:
        """SYNC and SFD, before the scrambler."""
        if self.short_preamble:
            return [0] * phy.PLCP_SYNC_BITS_SHORT + low_bit_first(phy.PLCP_SFD_SHORT, 16)
        return [1] * phy.PLCP_SYNC_BITS_LONG + low_bit_first(phy.PLCP_SFD_LONG, 16)

    def symbols(self) -> list[tuple[int, ...]]:
        """The scrambled bits of each symbol: one with DBPSK, two with DQPSK."""
        preamble, header = self.preamble_bits(), header_bits(self.rate, len(self.psdu))
        body = [bit for byte in self.psdu for bit in low_bit_first(byte, 8)]
        seed = phy.SCRAMBLER_SEED_SHORT if self.short_preamble else phy.SCRAMBLER_SEED_LONG
        bits = scrambled(preamble + header + body, seed)
        pairs_from = len(preamble) if self.short_preamble else len(preamble) + len(header)
        if self.rate == RATE_1MBPS:
            pairs_from = len(bits)
        singles = [(bit,) for bit in bits[:pairs_from]]
        return singles + list(zip(bits[pairs_from::2], bits[pairs_from + 1 :: 2], strict=True))

    def airtime_us(self) -> int:
        """Microseconds of preamble, header and PSDU; as many symbols."""
        return len(self.symbols())
