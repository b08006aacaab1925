# SPDX-License-Identifier: GPL-2.0-or-later
"""What a recording of the air tells: frames, the gaps between them, levels. Samples of 22 million a second, I and Q
in two columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from perhop.errors import PerhopError
from perhop.phy.channel import resampled
from perhop.phy.plcp import SIGNALS, Frame
from perhop.phy.receiver import Receiver

SAMPLES_PER_US = 22
QUIET_US = 4
"""Between two bursts; SIFS is longer."""
ABOVE_NOISE = 8.0
"""A burst's amplitude over the noise's."""
QUIET_SHARE = 5
"""Percent of a recording in which nobody sends, at least: even a busy medium has its back-offs."""
MARGIN_US = 8
SILENCE = 400
KINDS = {0xB4: "RTS", 0xC4: "CTS", 0xD4: "MAC ACK", 0x08: "DATA"}
RESPONSES = {("RTS", "CTS"), ("CTS", "DATA"), ("DATA", "MAC ACK")}
END_OFFSET_SAMPLES = 0.0
"""From the sample that the receiver calls the last symbol's to the symbol's end; the same for all frames, so gaps do
without."""


@dataclass(frozen=True)
class Burst:
    """Samples that are louder than the noise."""

    first: int
    last: int
    level: float
    """Root mean square, in steps of the converter."""


@dataclass(frozen=True)
class Heard:
    """A frame of a recording; times in samples."""

    kind: str
    psdu: bytes
    rate: int
    end: float
    airtime_us: int
    level: float
    snr_db: int | None

    @property
    def begin(self) -> float:
        return self.end - SAMPLES_PER_US * self.airtime_us


@dataclass(frozen=True)
class Gap:
    """Between a frame and the response to it."""

    of: str
    response: str
    us: float


def bursts(samples: NDArray[np.integer]) -> list[Burst]:
    """Where somebody sends."""
    amplitude = np.hypot(samples[:, 0].astype(float), samples[:, 1].astype(float))
    window = SAMPLES_PER_US // 2
    smooth = np.convolve(amplitude, np.full(window, 1 / window), mode="same")
    loud = smooth > max(ABOVE_NOISE * float(np.percentile(smooth, QUIET_SHARE)), 1.0)
    if not loud.any():
        return []
    at = np.flatnonzero(loud)
    breaks = np.flatnonzero(np.diff(at) > QUIET_US * SAMPLES_PER_US)
    firsts, lasts = at[np.concatenate([[0], breaks + 1])], at[np.concatenate([breaks, [len(at) - 1]])]
    return [
        Burst(int(first), int(last), float(np.sqrt(np.mean(amplitude[first : last + 1] ** 2))))
        for first, last in zip(firsts, lasts, strict=True)
    ]


def frames(samples: NDArray[np.integer]) -> list[Heard]:
    """Every frame with a good PLCP header, in order. PerhopError when there is no burst at all."""
    found = []
    loud = bursts(samples)
    if not loud:
        raise PerhopError(
            "the recording holds nothing but noise", "raise the recorder's gain, or check cable and frequency"
        )
    random = np.random.default_rng(1)
    margin = MARGIN_US * SAMPLES_PER_US
    for burst in loud:
        first = max(burst.first - margin, 0)
        part = samples[first : burst.last + margin].astype(np.int64)
        # The receiver wants noise before a frame, and some behind it.
        noise = np.round(random.standard_normal((SILENCE, 2)) * max(burst.level / 100, 2)).astype(np.int64)
        for reception in Receiver().run(np.vstack([noise, part, noise])):
            if reception.ended_at is None or reception.signal not in SIGNALS or not reception.psdu:
                continue
            rate = SIGNALS.index(reception.signal)
            frame = Frame(reception.psdu, rate, reception.short_preamble)
            kind = KINDS.get(reception.psdu[0] & 0xFC, "other")
            end = first + reception.ended_at - SILENCE + END_OFFSET_SAMPLES
            found.append(Heard(kind, reception.psdu, rate, end, frame.airtime_us(), burst.level, reception.snr_db))
    return found


def response_gaps(heard: list[Heard], longest_us: float = 40) -> list[Gap]:
    """Gaps between neighbours of which the second answers the first."""
    gaps = []
    for one, other in pairwise(heard):
        gap_us = (other.begin - one.end) / SAMPLES_PER_US
        if (one.kind, other.kind) in RESPONSES and 0 < gap_us < longest_us:
            gaps.append(Gap(one.kind, other.kind, gap_us))
    return gaps


def turnarounds_us(samples: NDArray[np.integer], heard: list[Heard], of_level: float = 0.1) -> list[float]:
    """From a frame's end to the first sample of its response that has a tenth of the response's amplitude."""
    found = []
    amplitude = np.hypot(samples[:, 0].astype(float), samples[:, 1].astype(float))
    for one, other in pairwise(heard):
        if (one.kind, other.kind) not in RESPONSES:
            continue
        # Behind the tail of the first one: a pulse and the ramp.
        first, last = int(one.end) + 2 * SAMPLES_PER_US, int(other.begin) + SAMPLES_PER_US
        rises = np.flatnonzero(amplitude[first:last] > of_level * other.level)
        if len(rises):
            found.append((first + int(rises[0]) - one.end) / SAMPLES_PER_US)
    return found


def histogram(values_us: list[float], step_us: float = 0.05) -> str:
    """A line a bin."""
    low = np.floor(min(values_us) / step_us) * step_us
    counts = np.bincount(((np.array(values_us) - low) / step_us).astype(int))
    most = max(counts)
    return "\n".join(
        f"  {low + index * step_us:8.2f} us {count:6d} {'#' * round(50 * count / most)}"
        for index, count in enumerate(counts)
    )


CHUNK = 1 << 20
OVERLAP = 64


def at_22(samples: NDArray[np.int16], msps: float) -> NDArray[np.int16]:
    """What was recorded at another rate, as 22 million samples a second; piece by piece, for recordings are long."""
    step = msps / SAMPLES_PER_US
    if step == 1.0:
        return samples
    whole = int((len(samples) - 1) / step) + 1
    out = np.empty((whole, 2), dtype=np.int16)
    for first in range(0, whole, CHUNK):
        count = min(CHUNK, whole - first)
        # A little more than what is asked for, so that no piece feels its ends.
        begin = max(int(first * step) - OVERLAP, 0)
        part = samples[begin : int((first + count) * step) + OVERLAP] @ np.array([1, 1j])
        values = resampled(part, step, first * step - begin, count)
        out[first : first + count, 0] = np.clip(np.round(values.real), -32768, 32767)
        out[first : first + count, 1] = np.clip(np.round(values.imag), -32768, 32767)
    return out


def read_iq(path: str) -> NDArray[np.int16]:
    """A file of 16-bit I and Q, little-endian. PerhopError that names it."""
    try:
        values = np.fromfile(path, dtype="<i2")
    except OSError as error:
        raise PerhopError(f"{path}: {error.strerror}", "name a file of 16-bit I and Q") from error
    if len(values) < 2 * SAMPLES_PER_US or len(values) % 2:
        raise PerhopError(
            f"{path}: {len(values)} values are no recording",
            "record 16-bit I and Q, 22 million samples a second or what --recording-msps says",
        )
    return values.reshape(-1, 2)
