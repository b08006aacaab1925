# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of 1024 octets through noise, offsets, echoes and levels: how many are lost, and how many theory says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from perhop import modem
from perhop.phy.channel import received
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS

OCTETS = 1024
PER_LIMIT = 0.08
"""The standard's sensitivity is stated at this frame error rate and length (IEEE 802.11-2012, 16.4.8.2)."""
CARRIER_HZ, CLOCK_PPM = 122e3, 50
"""Worst offsets: 25 ppm of 2.44 GHz at each end, and as much of the chip clock, the signs drawn."""
RATE_NAMES = {RATE_1MBPS: "1 Mb/s", RATE_2MBPS: "2 Mb/s"}


@dataclass(frozen=True)
class Point:
    """Frames under one condition."""

    rate: int
    es_n0_db: float
    frames: int
    offsets: bool = True
    """Carrier and clock are off by the worst; the delay is drawn either way."""
    echo_us: float = 0.0
    echo_db: float | None = None
    """A second ray of this power against the first, its phase drawn; None: there is none."""
    level: float = 1000.0
    """Root mean square at the converter, in its steps."""
    dc_db: float | None = None
    """Power of a constant on I and Q against the signal's, its phase drawn; None: there is none."""
    imbalance: tuple[float, float] | None = None
    """Of I and Q, decibels and degrees."""
    step: int = 1
    """Of the converter, in those of 16 bits: 16 where it has 12."""


@dataclass(frozen=True)
class Counted:
    """What became of them."""

    per: float
    ber: float
    """Of the frames whose header was good."""


def symbol_errors(rate: int, es_n0_db: float) -> float:
    """Probability of a wrong symbol with differential detection (R. F. Pawula, 1982), 2 or 4 phases."""
    ratio = 10 ** (es_n0_db / 10)
    phases = 2 << rate
    angle = np.linspace(-np.pi / 2, np.pi / 2, 20001)
    part = 1 - np.cos(np.pi / phases) * np.cos(angle)
    return float(np.sin(np.pi / phases) / (2 * np.pi) * np.trapezoid(np.exp(-ratio * part) / part, angle))


def theory_per(rate: int, es_n0_db: float) -> float:
    """Probability that any symbol of a frame is wrong."""
    return 1 - (1 - symbol_errors(rate, es_n0_db)) ** (8 * OCTETS >> rate)


def theory_point_db(rate: int) -> float:
    """Es/N0 at which theory says PER_LIMIT."""
    low_db, high_db = 0.0, 30.0
    for _ in range(40):
        middle_db = (low_db + high_db) / 2
        low_db, high_db = (middle_db, high_db) if theory_per(rate, middle_db) > PER_LIMIT else (low_db, middle_db)
    return high_db


def samples_of(point: Point, seed: int) -> tuple[bytes, np.ndarray]:
    """A frame's PSDU, and what the converter gives of it, two samples a chip."""
    random = np.random.default_rng([seed, point.rate])
    psdu = random.bytes(OCTETS)
    wave = modem.transmitted(psdu, point.rate, samples_per_chip=4) @ np.array([1, 1j])
    signs = random.choice((-1, 1), 2) * point.offsets
    echo = None
    if point.echo_db is not None:
        echo = (point.echo_us, 10 ** (point.echo_db / 20) * np.exp(2j * np.pi * random.uniform()))
    dc = 0j
    if point.dc_db is not None:
        # From numbers of its own, so that signal and noise are those of the point without DC.
        phase = 2 * np.pi * np.random.default_rng([seed, point.rate, 1]).uniform()
        dc = point.level * 10 ** (point.dc_db / 20) * np.exp(1j * phase)
    samples = received(
        wave,
        4,
        es_n0_db=point.es_n0_db,
        random=random,
        carrier_hz=CARRIER_HZ * signs[0],
        clock_ppm=CLOCK_PPM * signs[1],
        delay_samples=random.uniform(),
        level=point.level,
        echo=echo,
        dc=dc,
        imbalance=point.imbalance,
    )
    return psdu, samples // point.step * point.step


def level_over(noise: float, es_n0_db: float) -> float:
    """Root mean square of a signal whose noise has `noise` on each of I and Q."""
    return noise * math.sqrt(2 * 10 ** (es_n0_db / 10) / 22)


def count(point: Point) -> Counted:
    """Seeds 0, 1, ...: points of one rate differ in what the channel does and not in their frames."""
    lost = wrong_bits = bits = 0
    for seed in range(point.frames):
        psdu, samples = samples_of(point, seed)
        receiver = modem.Receiver()
        receiver.push(samples.astype(np.int16))
        heard = [reception.psdu for reception in receiver.take_receptions() if len(reception.psdu) == OCTETS]
        lost += psdu not in heard
        for each in heard[:1]:
            difference = np.frombuffer(each, np.uint8) ^ np.frombuffer(psdu, np.uint8)
            wrong_bits += int(np.unpackbits(difference).sum())
            bits += 8 * OCTETS
    return Counted(lost / point.frames, wrong_bits / bits if bits else 1.0)


def limit_db(points: Sequence[tuple[float, float]], frames: int) -> float | None:
    """Es/N0 at which a measured curve (Es/N0, frame error rate) crosses PER_LIMIT: straight lines in its logarithm.

    None where it never does. A point without a lost frame counts as half a frame.
    """
    logs = [(es_n0_db, math.log(max(per, 0.5 / frames))) for es_n0_db, per in sorted(points)]
    wanted = math.log(PER_LIMIT)
    for (before_db, before), (after_db, after) in itertools.pairwise(logs):
        if before >= wanted > after:
            return before_db + (after_db - before_db) * (before - wanted) / (before - after)
    return None
