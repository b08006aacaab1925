# SPDX-License-Identifier: GPL-2.0-or-later
"""The receiver: from samples at two a chip to frames, equal to gateware/rtl/phy/rx number by number.

Times are numbers of samples. What the gateware does a few samples later, because its steps are clocked by samples, has
the same delay here where it matters: FREEZE_LATENCY, THAW_LATENCY.

It is one file because its steps count the same samples and symbols: each is read beside the constants of the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from perhop.phy import constants as phy
from perhop.phy.plcp import SIGNALS, crc_remainder, value_of
from perhop.phy.transmitter import BARKER

SYMBOL_SAMPLES = 2 * phy.BARKER_CHIPS

# rx_dc_removal.
DC_FAST_SHIFT, DC_SLOW_SHIFT = 3, 9
DC_FAST_SAMPLES = 4 * SYMBOL_SAMPLES
"""Samples after a reset, and after a signal's end, in which DC is learnt fast."""
DC_FALL_RATIO = 4
"""A signal has ended where a block's sum of absolute values is so much smaller than the one before."""

# rx_gain: 16 bits come in, 6 go on.
GAIN_BITS = 6
GAIN_MAX_SHIFT = 10
GAIN_APPLY = 4
"""Sample of a block at which the shift that the block before asked for is taken."""
GAIN_TARGET_BIT = 8
"""Highest bit of a block's sum of absolute values, after the shift."""
FREEZE_LATENCY, THAW_LATENCY = 6, 5
"""Samples from the last one of a symbol that begins or ends a reception to the first whose gain stands, or moves."""

# Acquisition.
FRACTION_BITS = 5
FIRST_TESTED = 3
"""Symbols of a search that are too few to tell a peak from noise."""
LOCK_SYMBOLS = 4
LOCK_RATIO = 11
"""A peak is one where this many of it exceed the sum of the 22 bins: twice the mean."""
FRESH_RATIO = 2
"""And one where this many of the symbol's own level reach what the average was: otherwise an average that one symbol
has filled, the end of a frame for instance, passes for a peak while it fades."""

# Tracking.
EARLY_LATE_SHIFT = 4
CARRIER_RATIOS = (8, 12, 16)
"""A symbol's peak is clear where 8 of it exceed the sum of its levels (2.75 times the mean), doubtful at 12 or 16."""
CARRIER_STEPS = (1, 0, -1, -2)
"""What such symbols add to the trust in a carrier, and what one without a peak does."""
CARRIER_FULL = 7
"""Its most, which it begins with. At 0 the carrier is lost, until all of it is back."""

# Demodulation.
PRODUCT_SHIFT = 6
SYNC_ROTATION_SHIFT = 3
DATA_ROTATION_SHIFT = 5

# Estimates.
RSSI_SHIFT = 2
ERROR_SHIFT = 4
SNR_BASE_DB = 4
"""Two symbols' noise is in a turn, and the mean of |I| + |Q| is above its root mean square."""

SFD_SYMBOLS = 170
"""Symbols after which no SFD is expected any more."""
BITS_BEFORE = 0xAAAA
"""What stands for the bits before the first one: neither SFD begins as this ends, and so the seven bits that the
descrambler needs to find its state are never part of one."""


def magnitude(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """max + min / 2 of two columns; the size of -1 is 0."""
    size = np.where(values < 0, ~values, values)
    return size.max(axis=-1) + (size.min(axis=-1) >> 1)


def decibels(level: int) -> int:
    """20 log10 as level_decibels tells it, within 1.3 dB."""
    top = max(level.bit_length() - 1, 0)
    below = (level << 3 >> top) & 7
    return 3 * (8 * top + below + 1) + 2 >> 2


def tangent_128(real: int, imaginary: int) -> int:
    """imaginary / real in 1/128 as carrier_offset tells it: the tangent of what the carrier turns in a symbol."""
    size_i, size_q = (~part if part < 0 else part for part in (real, imaginary))
    quotient = 127 if size_q >= size_i else (size_q << 7) // size_i
    return -quotient if (real < 0) != (imaginary < 0) else quotient


def without_dc(samples: NDArray[np.int64]) -> NDArray[np.int64]:
    """Samples from a reset on as rx_gain's rx_dc_removal passes them on: against a leaky average, 16 bits of them."""
    rows = []
    averages = [0, 0]
    fast_until, block_sum, before = DC_FAST_SAMPLES, 0, 0
    for at, row in enumerate(samples.tolist()):
        fast = at < fast_until
        if at % SYMBOL_SAMPLES == 0:
            # What a signal has left in the average would be energy when it is over: DC is learnt anew.
            if at >= DC_FAST_SAMPLES and DC_FALL_RATIO * block_sum < before:
                fast_until = at + 1 + DC_FAST_SAMPLES
            before, block_sum = block_sum, 0
        out = []
        for column, value in enumerate(row):
            rest = value - (averages[column] >> DC_SLOW_SHIFT)
            averages[column] += rest << DC_SLOW_SHIFT - DC_FAST_SHIFT if fast else rest
            rest = min(max(rest, -32768), 32767)
            block_sum += ~rest if rest < 0 else rest
            out.append(rest)
        rows.append(out)
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def limited(samples: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """Samples as rx_gain passes them on."""
    top = (1 << GAIN_BITS - 1) - 1
    return np.clip(samples >> shift, -top - 1, top)


def correlated(samples: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum of two neighbours, then the Barker code with its last chip at the sample itself; zeros before the first."""
    padded = np.vstack([np.zeros((1, 2), dtype=np.int64), samples])
    boxes = padded[1:] + padded[:-1]
    code = np.zeros(SYMBOL_SAMPLES - 1, dtype=np.int64)
    code[::2] = BARKER[::-1]
    return np.stack([np.convolve(boxes[:, column], code)[: len(samples)] for column in range(2)], axis=1)


@dataclass(frozen=True)
class SymbolTrace:
    """What tracking and demodulation made of one symbol; for comparison with the gateware."""

    at: int
    """Sample of the prompt correlation."""
    prompt: tuple[int, int]
    product: tuple[int, int]
    rotation: tuple[int, int]
    slip: int
    bits: tuple[int, ...]
    """As decided, before the descrambler."""


@dataclass
class Reception:
    """A frame whose PLCP header was good."""

    started_at: int
    """Sample of the header's last symbol."""
    signal: int
    service: int
    length_us: int
    short_preamble: bool
    psdu: bytes = b""
    ended_at: int | None = None
    """Sample of the last symbol; None where the samples ended before."""
    carrier_lost: bool = False
    """It ended when its carrier was lost, before its LENGTH was over: the search goes on, the medium stays busy."""
    snr_db: int | None = None
    """Es/N0 of the frame's last symbols."""
    carrier_hz: float | None = None
    """Offset of the carrier, for symbols of 1 us."""


@dataclass
class Receiver:
    """Give it samples, two a chip, as rows of I and Q; `receptions` has what was in them."""

    receptions: list[Reception] = field(default_factory=list)
    locks: list[int] = field(default_factory=list)
    """Last sample of each symbol at whose end the timing was taken."""
    header_errors: int = 0
    sfd_timeouts: int = 0
    carriers_lost: int = 0
    trace: list[SymbolTrace] = field(default_factory=list)
    keep_trace: bool = False

    def run(self, samples: NDArray[np.int64]) -> list[Reception]:
        """Receives all samples from the state after a reset."""
        stream = _Stream(samples)
        start = 0
        while True:
            found = self._search(stream, start)
            if found is None:
                return self.receptions
            lock, peak = found
            self.locks.append(lock)
            stream.freeze(lock)
            end = _Track(self, stream).run(lock + 1, (1 - peak) % SYMBOL_SAMPLES)
            if end is None:
                return self.receptions
            stream.thaw(end)
            start = end + 1

    def _search(self, stream: _Stream, start: int) -> tuple[int, int] | None:
        """Symbols from `start` on; the last sample of the one that locks and the place of its peak."""
        bins = np.zeros(SYMBOL_SAMPLES, dtype=np.int64)
        good, last_peak, number, peak_before = 0, 0, 0, False
        while start + SYMBOL_SAMPLES < stream.samples:
            end = start + SYMBOL_SAMPLES
            levels, before = stream.levels(start, end) << FRACTION_BITS, bins
            bins = before + (levels - before >> min(number, 2))
            peak = int(bins.argmax())
            is_peak = LOCK_RATIO * int(bins[peak]) > int(bins.sum()) and number >= FIRST_TESTED
            # Only a symbol whose own level is there counts; a single one that is not ends nothing.
            fresh = is_peak and FRESH_RATIO * int(levels[peak]) >= int(before[peak])
            near = (peak - last_peak + 1) % SYMBOL_SAMPLES <= 2
            good = (good if is_peak and near and (fresh or peak_before) else 0) + fresh
            peak_before = fresh
            if good == LOCK_SYMBOLS:
                return end - 1, peak
            last_peak, number, start = peak, number + 1, end
        return None


class _Stream:
    """Samples behind gain and correlator. They are computed ahead while the gain stands still."""

    def __init__(self, samples: NDArray[np.int64]) -> None:
        self.samples = len(samples)
        self._raw = without_dc(np.asarray(samples, dtype=np.int64))
        size = np.where(self._raw < 0, ~self._raw, self._raw).sum(axis=1)
        blocks = len(size) // SYMBOL_SAMPLES
        self.block_sums = size[: blocks * SYMBOL_SAMPLES].reshape(-1, SYMBOL_SAMPLES).sum(axis=1)
        self._limited = np.zeros_like(self._raw)
        self._correlations = np.zeros_like(self._raw)
        self._levels = np.zeros(len(self._raw), dtype=np.int64)
        self._done = 0
        self._shift = 0
        self._shifts: list[tuple[int, int]] = []
        self._frozen_from: int | None = None

    def freeze(self, last: int) -> None:
        self._frozen_from = last + FREEZE_LATENCY

    def thaw(self, last: int) -> None:
        """The gain moves again; what was computed ahead of it is forgotten."""
        self._advance(last + THAW_LATENCY)
        self._frozen_from = None
        self._done = min(self._done, last + THAW_LATENCY)

    def levels(self, start: int, end: int) -> NDArray[np.int64]:
        self._advance(end)
        return self._levels[start:end]

    def correlations(self, start: int, end: int) -> NDArray[np.int64]:
        self._advance(end)
        return self._correlations[start:end]

    def _advance(self, end: int) -> None:
        """Everything before sample `end`, and more while it is cheap."""
        end = min(end, self.samples)
        if end <= self._done:
            return
        frozen = self._frozen_from is not None and self._done >= self._frozen_from
        if frozen:
            end = min(self._done + 200 * SYMBOL_SAMPLES, self.samples)
        at = self._done
        while at < end:
            block, place = divmod(at, SYMBOL_SAMPLES)
            if place == GAIN_APPLY and block and (self._frozen_from is None or at < self._frozen_from):
                top = int(self.block_sums[block - 1]).bit_length() - 1
                self._shift = min(max(top - GAIN_TARGET_BIT, 0), GAIN_MAX_SHIFT)
            next_change = at - place + GAIN_APPLY + (SYMBOL_SAMPLES if place >= GAIN_APPLY else 0)
            upto = end if frozen else min(end, next_change)
            self._limited[at:upto] = limited(self._raw[at:upto], self._shift)
            at = upto
        first = max(self._done - SYMBOL_SAMPLES, 0)
        correlations = correlated(self._limited[first:end])[self._done - first :]
        self._correlations[self._done : end] = correlations
        self._levels[self._done : end] = magnitude(correlations)
        self._done = end


class _Track:
    """Symbols from the lock to the end of a frame."""

    def __init__(self, receiver: Receiver, stream: _Stream) -> None:
        self._receiver = receiver
        self._stream = stream
        # Early, prompt, late.
        self._averages = [0, 0, 0]
        self._carrier = CARRIER_FULL
        self._lost = False
        self._previous: NDArray[np.int64] | None = None
        self._rotation = (0, 0)
        self._error = 0
        self._parser = _Parser(receiver)

    def run(self, at: int, index: int) -> int | None:
        """`index` is the place of sample `at` in its symbol, whose prompt is at 1; returns the last sample."""
        # A symbol that is not whole any more is left out.
        start = at + 1 + (SYMBOL_SAMPLES - 1 - index) % SYMBOL_SAMPLES
        slip_before = 0
        while start + SYMBOL_SAMPLES + 2 < self._stream.samples:
            slip, done = self._symbol(start, slip_before)
            last = start + SYMBOL_SAMPLES - 1 + slip
            if done:
                return last
            start, slip_before = last + 1, slip
        return None

    def _symbol(self, start: int, slip_before: int) -> tuple[int, bool]:
        points = self._stream.correlations(start, start + 3)
        levels = self._stream.levels(start, start + SYMBOL_SAMPLES + 1)
        for place in range(3):
            fresh = int(levels[place]) << FRACTION_BITS
            self._averages[place] += fresh - self._averages[place] >> EARLY_LATE_SHIFT
        early, prompt, late = self._averages
        slip = 0
        # Without a carrier the timing stands still: the end of the frame is waited for.
        if late > prompt and late >= early and not self._lost:
            slip, self._averages = 1, [prompt, late, prompt]
        elif early > prompt and early > late and not self._lost:
            slip, self._averages = -1, [prompt, early, prompt]
        # The last symbol of a frame comes too late for them.
        estimates = self.estimates()
        bits = self._demodulate(points, slip_before)
        lost = self._lost
        level, total = int(levels[1]), int(levels[: SYMBOL_SAMPLES + slip].sum())
        # A symbol's own peak against its own sum: what came before it has no part in that, however strong it was.
        missed = sum(ratio * level <= total for ratio in CARRIER_RATIOS)
        self._carrier = min(max(self._carrier + CARRIER_STEPS[missed], 0), CARRIER_FULL)
        self._lost = self._carrier == 0 or (self._lost and self._carrier != CARRIER_FULL)
        if self._receiver.keep_trace:
            product, rotation = self._last
            trace = SymbolTrace(start + 1, (int(points[1, 0]), int(points[1, 1])), product, rotation, slip, bits)
            self._receiver.trace.append(trace)
        done = self._parser.symbol(start + 1, bits, lost)
        if done:
            self._parser.estimated(*estimates)
        return slip, done

    def estimates(self) -> tuple[int, float]:
        """Signal-to-noise ratio in dB and carrier offset in Hz."""
        turn = np.array([part >> FRACTION_BITS for part in self._rotation])
        snr_db = decibels(int(magnitude(turn)) << ERROR_SHIFT) - decibels(self._error) + SNR_BASE_DB
        tangent = tangent_128(int(turn[0]), int(turn[1])) / 128
        return min(max(snr_db, -64), 63), float(np.arctan(tangent) / (2e-6 * np.pi))

    def _demodulate(self, points: NDArray[np.int64], slip_before: int) -> tuple[int, ...]:
        """The bits of a symbol; none for the first."""
        before, self._previous = self._previous, points
        self._last = ((0, 0), (0, 0))
        if before is None:
            return ()
        now_i, now_q = (int(value) for value in points[1])
        was_i, was_q = (int(value) for value in before[1 + slip_before])
        d_i = now_i * was_i + now_q * was_q >> PRODUCT_SHIFT
        d_q = now_q * was_i - now_i * was_q >> PRODUCT_SHIFT
        sync = self._parser.in_sync
        e_i, e_q = (part >> FRACTION_BITS for part in self._rotation)
        y_i = d_i * e_i + d_q * e_q
        y_q = d_q * e_i - d_i * e_q
        turns = 0
        if self._parser.two_bits:
            turns = (0 if y_i - y_q >= 0 else 1) if y_i + y_q >= 0 else (2 if y_i - y_q < 0 else 3)
            bits = ((0, 0), (0, 1), (1, 1), (1, 0))[turns]
        else:
            turns = 2 if y_i < 0 else 0
            bits = (turns >> 1,)
        # While nothing is known of the carrier it turns less than a quarter a symbol.
        turns_back = (2 if d_i < 0 else 0) if sync else turns
        r_i, r_q = ((d_i, d_q), (d_q, -d_i), (-d_i, -d_q), (-d_q, d_i))[turns_back]
        shift = SYNC_ROTATION_SHIFT if sync else DATA_ROTATION_SHIFT
        errors = (
            (fresh << FRACTION_BITS) - part >> FRACTION_BITS
            for part, fresh in zip(self._rotation, (r_i, r_q), strict=True)
        )
        size = sum(~error if error < 0 else error for error in errors)
        self._error += size - (self._error >> ERROR_SHIFT)
        self._rotation = tuple(
            part + ((fresh << FRACTION_BITS) - part >> shift)
            for part, fresh in zip(self._rotation, (r_i, r_q), strict=True)
        )
        self._last = ((d_i, d_q), self._rotation)
        return bits


class _Parser:
    """Descrambler, SFD, header, PSDU: what the bits of a frame mean."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._past = 0
        self._last_bits = BITS_BEFORE
        self._symbols = 0
        self._header: list[int] | None = None
        self._short = False
        self._reception: Reception | None = None
        self._octets = bytearray()
        self._octet: list[int] = []
        self._left = 0
        self.in_sync = True
        self.two_bits = False

    def symbol(self, at: int, bits: tuple[int, ...], lost: bool) -> bool:
        """True where the frame, or the hope of one, ends with this symbol."""
        done = False
        if bits:
            self._symbols += 1
        for bit in bits:
            plain = bit ^ (self._past >> 3 ^ self._past >> 6) & 1
            self._past = (self._past << 1 | bit) & 0x7F
            done |= self._bit(at, plain)
        if self._reception is not None:
            return self._in_frame(at, lost)
        if not done and (lost or (self.in_sync and self._symbols == SFD_SYMBOLS)):
            if not self.in_sync:
                self._receiver.header_errors += 1
            elif lost:
                self._receiver.carriers_lost += 1
            else:
                self._receiver.sfd_timeouts += 1
            return True
        return done

    def _bit(self, at: int, bit: int) -> bool:
        if self.in_sync:
            self._last_bits = (self._last_bits >> 1) | bit << 15
            if self._last_bits in (phy.PLCP_SFD_LONG, phy.PLCP_SFD_SHORT):
                self._short = self._last_bits == phy.PLCP_SFD_SHORT
                self.in_sync, self.two_bits = False, self._short
                self._header = []
        elif self._reception is not None:
            self._octet.append(bit)
            if len(self._octet) == 8:
                self._octets.append(value_of(self._octet))
                self._octet = []
        elif self._header is not None:
            self._header.append(bit)
            if len(self._header) == phy.PLCP_HEADER_BITS:
                return self._end_of_header(at)
        return False

    def _end_of_header(self, at: int) -> bool:
        header = self._header or []
        if crc_remainder(header) != phy.PLCP_CRC_RESIDUE:
            self._receiver.header_errors += 1
            return True
        signal, service, length_us = value_of(header[:8]), value_of(header[8:16]), value_of(header[16:32])
        self.two_bits = signal == phy.PLCP_SIGNAL_2MBPS
        self._left = length_us + 1
        self._reception = Reception(at, signal, service, length_us, self._short)
        self._receiver.receptions.append(self._reception)
        return False

    def estimated(self, snr_db: int, carrier_hz: float) -> None:
        """What is known of the signal at the frame's end."""
        if self._reception is not None:
            self._reception.snr_db, self._reception.carrier_hz = snr_db, carrier_hz

    def _in_frame(self, at: int, lost: bool) -> bool:
        reception = self._reception
        assert reception is not None
        self._left -= 1
        # The symbol that ends the header is no symbol of the PSDU.
        reception.carrier_lost = lost and self._left > 0 and at != reception.started_at
        if self._left > 0 and not reception.carrier_lost:
            return False
        reception.ended_at = at
        if reception.signal in SIGNALS:
            reception.psdu = bytes(self._octets)
        return True
