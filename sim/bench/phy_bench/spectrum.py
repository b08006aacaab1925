# SPDX-License-Identifier: GPL-2.0-or-later
"""The transmitter's power over frequency beside the standard's mask (IEEE 802.11-2012, 16.4.7.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from perhop.phy import transmitter
from perhop.phy.plcp import RATE_2MBPS, Frame

CHIP_MHZ = 11.0
SIDE_MHZ, FAR_MHZ = 11.0, 22.0
SIDE_DBR, FAR_DBR = -30.0, -50.0
RESOLUTION_MHZ = 0.1
"""Bandwidth of the mask's measurement."""
OVERSAMPLING = 8
"""Of the converter's output, so that its images are seen."""


@dataclass(frozen=True)
class Spectrum:
    """Power in RESOLUTION_MHZ against the strongest, in dB, and the least distance to the mask in each of its parts."""

    mhz: NDArray[np.float64]
    dbr: NDArray[np.float64]
    side_margin_db: float | None
    far_margin_db: float | None
    """None: these samples have no such frequencies."""


def mask_dbr(mhz: NDArray[np.float64]) -> NDArray[np.float64]:
    away = np.abs(mhz)
    return np.where(away > FAR_MHZ, FAR_DBR, np.where(away > SIDE_MHZ, SIDE_DBR, 0.0))


def converted(samples: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """What a converter that holds each sample gives, OVERSAMPLING times finer."""
    return np.repeat(samples, OVERSAMPLING)


def of_transmitter(samples_per_chip: int, octets: int = 2000, hold: bool = False) -> Spectrum:
    """Of a frame's samples; with `hold` behind a converter without a filter, images and all."""
    psdu = np.random.default_rng(5).bytes(octets)
    wave = transmitter.transmitted(Frame(psdu, RATE_2MBPS), samples_per_chip) @ np.array([1, 1j])
    rate_mhz = CHIP_MHZ * samples_per_chip
    if hold:
        wave, rate_mhz = converted(wave), rate_mhz * OVERSAMPLING
    size = round(2 * rate_mhz / RESOLUTION_MHZ)
    window = np.blackman(size)
    # Without the ramps at both ends, which are no part of the mask's measurement.
    inner = wave[4 * size : -4 * size]
    pieces = np.lib.stride_tricks.sliding_window_view(inner, size)[:: size // 2]
    power = np.mean(np.abs(np.fft.fft(pieces * window, axis=1)) ** 2, axis=0)
    power = np.convolve(np.fft.fftshift(power), np.ones(2), "same")
    mhz = np.fft.fftshift(np.fft.fftfreq(size, 1 / rate_mhz))
    dbr = 10 * np.log10(power / power.max())
    side = (np.abs(mhz) > SIDE_MHZ) & (np.abs(mhz) <= FAR_MHZ)
    far = np.abs(mhz) > FAR_MHZ + RESOLUTION_MHZ
    return Spectrum(
        mhz,
        dbr,
        float(SIDE_DBR - dbr[side].max()) if side.any() else None,
        float(FAR_DBR - dbr[far].max()) if far.any() else None,
    )
