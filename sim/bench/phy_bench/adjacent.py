# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of 1024 octets beside a stronger neighbour, another 802.11b channel 25 MHz away: how many are lost.

The air is made at 88 Msps and reaches the modem as an AD9361 would give it (UG-570): its low-pass, set by
set_rx_bandwidth, its half-band filters, then 44 or 22 Msps of 16 bits. `bare` has none of that, as a converter at the
antenna: what lies beyond 22 MHz folds back at full strength.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from perhop import modem
from perhop.phy.channel import resampled
from perhop.phy.half_band import decimated
from perhop.phy.plcp import RATE_2MBPS
from scipy import fft, signal

from phy_bench.frame_errors import CARRIER_HZ, CLOCK_PPM, OCTETS, theory_point_db

AIR_MSPS = 88
SENT_MSPS = 44
NEIGHBOUR_MHZ = 25.0
"""Between two channels that the standard calls adjacent (IEEE 802.11-2012, 16.4.8.4)."""
NEIGHBOUR_US = 30000
MARGIN_DB = 6.0
"""The wanted signal's level above the sensitivity in that test."""
REJECTION_DB = 35.0
"""What it asks for."""
HB1 = np.array([-8, 0, 42, 0, -147, 0, 619, 1013, 619, 0, -147, 0, 42, 0, -8]) / 2**11
HB2 = np.array([-9, 0, 73, 128, 73, 0, -9]) / 2**8
"""Receive half-band filters of the AD9361."""
BEFORE_SAMPLES = 1600
AFTER_SAMPLES = 800


@dataclass(frozen=True)
class FrontEnd:
    """Between antenna and modem."""

    msps: int
    """Of the converter's output, 22 or 44; at 44 the modem decimates."""
    bandwidth_mhz: float | None
    """As set_rx_bandwidth has it, both sides; None: bare."""

    @property
    def name(self) -> str:
        filtered = "bare" if self.bandwidth_mhz is None else f"{self.bandwidth_mhz:g} MHz"
        return f"{self.msps} Msps, {filtered}"


@dataclass(frozen=True)
class Beside:
    """Frames at one rate, one ratio of the neighbour to the wanted signal, one front end."""

    rate: int
    front_end: FrontEnd
    neighbour_db: float | None
    """Power against the wanted signal's; None: there is none."""
    frames: int
    loss_db: float
    """What the receiver may lose against theory: Es/N0 is that of theory's sensitivity, this, and MARGIN_DB."""
    level: float = 200.0
    """Of the wanted signal, root mean square at the converter, in its steps."""


@dataclass(frozen=True)
class Counted:
    """What became of them."""

    per: float


@lru_cache
def low_pass(bandwidth_mhz: float, samples: int) -> NDArray[np.complex128]:
    """Response of an AD9361's two analogue filters, by the frequencies of a Fourier transform.

    A pole at 2.5 times half the bandwidth (transimpedance amplifier), a Butterworth of third order at 1.4 times.
    """
    mhz = fft.fftfreq(samples, 1 / AIR_MSPS)
    half = bandwidth_mhz / 2
    _, amplifier = signal.freqs(*signal.butter(1, 2.5 * half, analog=True), worN=np.abs(mhz))
    _, filtered = signal.freqs(*signal.butter(3, 1.4 * half, analog=True), worN=np.abs(mhz))
    response = amplifier * filtered
    return np.where(mhz < 0, np.conj(response), response)


@lru_cache(maxsize=1)
def neighbour() -> NDArray[np.complex128]:
    """NEIGHBOUR_US of frames without a pause, of root mean square 1, around NEIGHBOUR_MHZ.

    A frame sees a part of it, whose begin is drawn.
    """
    random = np.random.default_rng(NEIGHBOUR_US)
    samples = NEIGHBOUR_US * AIR_MSPS
    wave = np.zeros(0, dtype=complex)
    while len(wave) < NEIGHBOUR_US * SENT_MSPS:
        wave = np.append(wave, modem.transmitted(random.bytes(1500), RATE_2MBPS, samples_per_chip=4) @ (1, 1j))
    air = resampled(wave, SENT_MSPS / AIR_MSPS, 0, samples)
    return air / np.sqrt(np.mean(np.abs(air) ** 2)) * np.exp(2j * np.pi * NEIGHBOUR_MHZ / AIR_MSPS * np.arange(samples))


def received(point: Beside, seed: int) -> tuple[bytes, NDArray[np.int64]]:
    """A frame's PSDU, and what the modem's receiver gets at two samples a chip."""
    random = np.random.default_rng([seed, point.rate, 5])
    psdu = random.bytes(OCTETS)
    wave = modem.transmitted(psdu, point.rate, samples_per_chip=4) @ np.array([1, 1j])
    signs = random.choice((-1, 1), 2)
    samples = fft.next_fast_len(2 * len(wave) + BEFORE_SAMPLES + AFTER_SAMPLES)
    step = SENT_MSPS / AIR_MSPS * (1 + signs[1] * CLOCK_PPM * 1e-6)
    air = resampled(wave, step, -(BEFORE_SAMPLES + random.uniform()) * step, samples)
    air *= 1 / np.sqrt(np.mean(np.abs(air[BEFORE_SAMPLES + 800 : BEFORE_SAMPLES + 2 * len(wave) - 800]) ** 2))
    air *= np.exp(2j * np.pi * signs[0] * CARRIER_HZ * 1e-6 / AIR_MSPS * np.arange(samples))
    begin, phase = int(random.integers(NEIGHBOUR_US * AIR_MSPS - samples)), random.uniform()
    if point.neighbour_db is not None:
        amplitude = 10 ** (point.neighbour_db / 20) * np.exp(2j * np.pi * phase)
        air += amplitude * neighbour()[begin : begin + samples]
    chain = point.front_end
    if chain.bandwidth_mhz is not None:
        air = fft.ifft(fft.fft(air) * low_pass(chain.bandwidth_mhz, samples))
        for taps in (HB1,) if chain.msps == SENT_MSPS else (HB2, HB1):
            air = signal.upfirdn(taps, air, down=2)
    else:
        air = air[:: AIR_MSPS // chain.msps]
    # Behind the filters, so that its density is the same with each of them.
    es_n0_db = theory_point_db(point.rate) + point.loss_db + MARGIN_DB
    sigma = np.sqrt(chain.msps / 10 ** (es_n0_db / 10) / 2)
    air += sigma * (random.standard_normal(len(air)) + 1j * random.standard_normal(len(air)))
    air *= point.level
    converted = np.clip(np.round(np.stack([air.real, air.imag], axis=1)), -32768, 32767).astype(np.int64)
    return psdu, decimated(converted) if chain.msps == SENT_MSPS else converted


def count(point: Beside) -> Counted:
    """How many of the frames are lost; of each seed all points of a rate have the same ones."""
    lost = 0
    for seed in range(point.frames):
        psdu, samples = received(point, seed)
        receiver = modem.Receiver()
        receiver.push(samples.astype(np.int16))
        lost += psdu not in [reception.psdu for reception in receiver.take_receptions()]
    return Counted(lost / point.frames)
