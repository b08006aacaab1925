# SPDX-License-Identifier: GPL-2.0-or-later
"""xoroshiro64+ (D. Blackman, S. Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 2021)."""

from collections.abc import Sequence

MASK = 0xFFFF_FFFF
GOLDEN = 0x9E37_79B9


def rotated_left(word: int, bits: int) -> int:
    """A 32-bit word rotated."""
    return (word << bits | word >> (32 - bits)) & MASK


class Xoroshiro64Plus:
    """Constants 26, 9, 13; the state is the seed, low word first, and never all zero."""

    def __init__(self, seed: int) -> None:
        self.s0 = seed & MASK
        self.s1 = seed >> 32 & MASK if seed else GOLDEN

    def next_word(self) -> int:
        """The next 32 bits."""
        word = (self.s0 + self.s1) & MASK
        mixed = self.s1 ^ self.s0
        self.s0 = rotated_left(self.s0, 26) ^ mixed ^ (mixed << 9 & MASK)
        self.s1 = rotated_left(mixed, 13)
        return word

    def slots(self, cw: int, *, below_cw: bool = False) -> int:
        """Draws 0..cw from the word's ten top bits, or 0..cw-1 by drawing again."""
        while True:
            drawn = self.slots_if(cw, below_cw=below_cw)
            if drawn is not None:
                return drawn

    def slots_if(self, cw: int, *, below_cw: bool = False) -> int | None:
        """Draws once; None if the number will not do."""
        drawn = self.next_word() >> 22 & cw
        return None if below_cw and drawn == cw else drawn


def splitmix64(state: int) -> int:
    """Spreads a small number over 64 bits, as whoever sets a seed does (G. Steele et al., OOPSLA 2014)."""
    mixed = (state + 0x9E37_79B9_7F4A_7C15) & (1 << 64) - 1
    mixed = (mixed ^ mixed >> 30) * 0xBF58_476D_1CE4_E5B9 & (1 << 64) - 1
    mixed = (mixed ^ mixed >> 27) * 0x94D0_49BB_1331_11EB & (1 << 64) - 1
    return mixed ^ mixed >> 31


def draws_of(seed: int, windows: Sequence[int], *, below_cw: bool = False) -> list[int]:
    """What a seed draws from a sequence of contention windows."""
    source = Xoroshiro64Plus(seed)
    return [source.slots(cw, below_cw=below_cw) for cw in windows]
