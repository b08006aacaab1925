# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever is on the air, the receiver comes back: every header, every end within the PLCP, tones, noise.

Through perhop.modem, which is the gateware number by number; after each the next good frame decodes.
"""

import os
import random
import zlib
from collections.abc import Iterable

import numpy as np
import pytest
from perhop import modem
from perhop.phy import constants as phy
from perhop.phy.plcp import Frame, header_of, scrambled
from perhop.phy.transmitter import shaped, spread

SEED = int(os.environ.get("PERHOP_SEED", random.randrange(2**32)))
SYMBOL = 22
PREAMBLES = (False, True)
LEVEL_NOISE = 4.0
"""The frames have an amplitude of about 1,700: 52 dB above."""
BACK_WITHIN_US = 100
"""A good frame may begin so long after a signal that stopped."""
SLIPS = 5
"""Samples by which a frame's end may be off: until the carrier is known to be gone, noise moves the timing."""
LOST_WITHIN_US = 60
"""A carrier that stops is known to be gone."""


class Air:
    """Gives a receiver one thing after the other, with noise between, and says what came out."""

    def __init__(self, name: str) -> None:
        print(f"PERHOP_SEED={SEED}")
        self.draw = random.Random(SEED ^ zlib.crc32(name.encode()))
        self.random = np.random.default_rng(SEED ^ zlib.crc32(name.encode()))
        self.receiver = modem.Receiver()
        self.noise = np.round(self.random.normal(0, LEVEL_NOISE, (SYMBOL * 66_000, 2))).astype(np.int16)
        self.good = [
            (frame, modem.transmitted(frame.psdu, frame.rate, frame.short_preamble)) for frame in self._frames()
        ]

    def _frames(self) -> Iterable[Frame]:
        for rate, short in ((0, False), (1, False), (1, True)):
            for octets in (1, 14):
                yield Frame(self.draw.randbytes(octets), rate, short)

    def quiet(self, microseconds: float) -> None:
        self.receiver.push(self.noise[: round(SYMBOL * microseconds)])

    def give(self, samples: np.ndarray) -> None:
        self.receiver.push(np.ascontiguousarray(np.clip(np.round(samples), -32768, 32767), dtype=np.int16))

    def a_good_frame_decodes(self, what: object) -> None:
        """At once: behind BACK_WITHIN_US of noise."""
        frame, samples = self.draw.choice(self.good)
        self.receiver.push(samples)
        self.quiet(5)
        receptions = self.receiver.take_receptions()
        assert receptions and receptions[-1].psdu == frame.psdu, what


def plcp(short: bool, header: list[int], body: Iterable[int] = ()) -> np.ndarray:
    """Samples of a preamble, a header and the bits behind it, in pairs behind a short preamble's SFD."""
    preamble = Frame(bytes(1), 1, short).preamble_bits()
    seed = phy.SCRAMBLER_SEED_SHORT if short else phy.SCRAMBLER_SEED_LONG
    bits = scrambled([*preamble, *header, *body], seed)
    singles = len(preamble) if short else len(bits)
    pairs = list(zip(bits[singles::2], bits[singles + 1 :: 2], strict=True))
    return shaped(spread([(bit,) for bit in bits[:singles]] + pairs), 2).astype(np.int16)


def a_header_is_waited_for(air: Air, signal: int, service: int, length_us: int, short: bool) -> None:
    """Of a frame of that header, whose carrier stops behind it, the medium is busy for LENGTH; a good one decodes at
    once, whether that is over or not."""
    told = (signal, service, length_us)
    air.give(plcp(short, header_of(*told)))
    air.quiet(BACK_WITHIN_US)
    air.receiver.take_carrier_edges()
    receptions = air.receiver.take_receptions()
    assert len(receptions) == 1, told
    (heard,) = receptions
    assert (heard.signal, heard.service, heard.length_us, heard.short_preamble) == (*told, short)
    heard_us = (heard.ended_at - heard.started_at) / SYMBOL
    assert heard_us <= min(length_us + SLIPS / SYMBOL, LOST_WITHIN_US), (told, heard_us)
    assert heard.carrier_lost == (abs(heard_us - length_us) > SLIPS / SYMBOL), (told, heard_us)
    air.a_good_frame_decodes(told)
    rest_us = length_us - (air.receiver.samples - heard.started_at) / SYMBOL
    if rest_us > 30:
        air.receiver.take_carrier_edges()
        air.quiet(rest_us - 10)
        assert air.receiver.busy, told
        air.quiet(40)
        *_, (idle, busy) = air.receiver.take_carrier_edges()
        assert not busy, told
        late = idle - heard.started_at - SYMBOL * length_us
        # Told when all samples of a symbol have been looked at, in the search of one that may have begun anywhere.
        assert -SLIPS <= late <= 2 * SYMBOL + SLIPS, (told, late)
    else:
        air.quiet(max(rest_us, 0) + 40)
    assert not air.receiver.busy, told


@pytest.mark.parametrize("short", PREAMBLES)
@pytest.mark.parametrize("field", ["signal", "service"])
def test_every_signal_and_every_service(field, short):
    air = Air(f"{field} {short}")
    for value in range(256):
        told = {"signal": air.draw.randrange(256), "service": air.draw.randrange(256)} | {field: value}
        a_header_is_waited_for(air, **told, length_us=air.draw.randrange(700), short=short)


def test_lengths_around_each_power_of_two():
    air = Air("lengths")
    for length_us in sorted({min((1 << bit) + off, 65_535) for bit in range(17) for off in (-1, 0, 1)}):
        for signal in (phy.PLCP_SIGNAL_1MBPS, phy.PLCP_SIGNAL_2MBPS, phy.PLCP_SIGNAL_11MBPS):
            a_header_is_waited_for(air, signal, air.draw.randrange(256), length_us, air.draw.random() < 0.5)


@pytest.mark.long
@pytest.mark.parametrize("part", range(16))
def test_every_length(part):
    """All 65,536, in 16 parts: 36 minutes on the air."""
    air = Air(f"length {part}")
    for length_us in range(part, 65_536, 16):
        a_header_is_waited_for(
            air, air.draw.choice((0x0A, 0x14, air.draw.randrange(256))), air.draw.randrange(256), length_us, True
        )


def fields_of(header: list[int]) -> tuple[int, int, int]:
    """SIGNAL, SERVICE and LENGTH of 48 bits, whatever their CRC."""
    octets = np.packbits(header, bitorder="little").tobytes()
    return octets[0], octets[1], int.from_bytes(octets[2:4], "little")


@pytest.mark.parametrize("short", PREAMBLES)
def test_every_wrong_bit_of_a_header(short):
    """One or several bits: no frame begins, unless the CRC fits by chance: that header is as good as any other."""
    air = Air(f"wrong bits {short}")
    wrong = [[bit] for bit in range(48)]
    wrong += [air.draw.sample(range(48), air.draw.randrange(2, 20)) for _ in range(200)]
    wrong += [[7, 8, 14, 17, 26, 36, 38, 42]]  # The CRC of these fits.
    fitted = []
    for bits in wrong:
        header = header_of(0x14, 0, 40)
        for bit in bits:
            header[bit] ^= 1
        told = fields_of(header)
        if header_of(*told) == header:
            fitted.append(bits)
            a_header_is_waited_for(air, *told, short)
            continue
        air.give(plcp(short, header, [air.draw.randrange(2) for _ in range(80)]))
        air.quiet(BACK_WITHIN_US)
        assert not air.receiver.take_receptions(), bits
        air.a_good_frame_decodes(bits)
    assert wrong[-1] in fitted and all(len(bits) > 3 for bits in fitted), "a CRC of 16 bits finds up to three"


@pytest.mark.parametrize("then", ["noise", "loud noise", "silence", "another level"])
@pytest.mark.parametrize("short", PREAMBLES)
def test_a_signal_that_ends_with_any_symbol_of_the_plcp(short, then):
    """Within SYNC, SFD and header; what follows at once is nothing, noise, or a carrier without meaning."""
    air = Air(f"ends {short} {then}")
    whole = plcp(short, header_of(0x14, 0, 30))
    fitted = []
    for symbols in range(1, len(whole) // SYMBOL + 1):
        air.give(whole[: SYMBOL * symbols + air.draw.randrange(SYMBOL)])
        # A whole header is a frame's: the medium is busy for its LENGTH.
        rest_us = 40 if symbols < len(whole) // SYMBOL else 30 + 40
        if then == "loud noise":
            air.give(air.random.normal(0, 2000, (SYMBOL * rest_us, 2)))
        elif then == "silence":
            air.give(np.zeros((SYMBOL * rest_us, 2)))
        elif then == "another level":
            air.give(plcp(short, [1] * 48)[: SYMBOL * rest_us] / 20)
        else:
            air.quiet(rest_us)
        air.quiet(BACK_WITHIN_US)
        # What came instead of the header's rest can make its CRC fit: that header is as good as any other.
        fitted += [symbols for heard in air.receiver.take_receptions() if heard.length_us != 30]
        air.a_good_frame_decodes(symbols)
    # One in 65,536 of some fifty that end within the header.
    assert len(fitted) <= 1, fitted


def test_tones_noise_and_steps_of_level():
    """At each quarter of a megahertz, at any level, on and off; white noise; full scale; nothing."""
    air = Air("tones")
    time_us = np.arange(SYMBOL * 300) / SYMBOL
    for quarter_mhz in range(-44, 45):
        for level in (20, 1000, 40_000):
            tone = level * np.exp(2j * np.pi * (quarter_mhz / 4 + air.draw.uniform(-0.1, 0.1)) * time_us)
            samples = np.stack([tone.real, tone.imag], axis=1)
            if air.draw.random() < 0.5:
                samples *= (np.floor(time_us / air.draw.choice((1, 7, 40))) % 2)[:, None]
            air.give(samples)
            air.quiet(BACK_WITHIN_US)
            air.receiver.take_receptions()
            air.a_good_frame_decodes((quarter_mhz, level))
    for level in (0, 1, 30, 300, 3000, 30_000, 10**6):
        for _ in range(5):
            air.give(air.random.normal(0, level, (SYMBOL * 500, 2)))
            air.quiet(BACK_WITHIN_US)
            air.receiver.take_receptions()
            air.a_good_frame_decodes(level)
