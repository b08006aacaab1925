# SPDX-License-Identifier: GPL-2.0-or-later
"""A channel between transmitter and receiver: carrier offset, clock offset, delay, noise, the receiver's converter."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

CHIPS_PER_US = 11
HALF = 8
PHASES = 1 << 14


def resampled(wave: NDArray[np.complex128], step: float, first: float, samples: int) -> NDArray[np.complex128]:
    """The wave at first, first + step, ...: windowed sinc of 16 samples, band of the coarser rate.

    The sinc is tabulated at PHASES places between two samples and the nearest is taken: 80 dB below the wave and more.
    """
    times = first + step * np.arange(samples)
    places = np.rint(times * PHASES).astype(np.int64)
    whole, phase = places // PHASES, places % PHASES
    padded = np.concatenate([np.zeros(HALF + 1), wave, np.zeros(HALF + 1)])
    kernel = _kernel(1.0 / max(step, 1.0))
    out = np.zeros(samples, dtype=np.complex128)
    for tap, offset in enumerate(range(-HALF + 1, HALF + 1)):
        index = np.clip(whole + offset + HALF + 1, 0, len(padded) - 1)
        out += padded[index] * kernel[tap][phase]
    return out


@lru_cache(maxsize=8)
def _kernel(band: float) -> NDArray[np.float64]:
    """One row a tap, one column a phase: the windowed sinc of a band (1: the wave's own)."""
    distance = np.arange(PHASES) / PHASES - np.arange(-HALF + 1, HALF + 1)[:, None]
    return band * np.sinc(distance * band) * np.cos(np.clip(distance / HALF, -1, 1) * np.pi / 2) ** 2


def received(
    wave: NDArray[np.complex128],
    samples_per_chip: int,
    *,
    es_n0_db: float | None,
    random: np.random.Generator,
    carrier_hz: float = 0.0,
    clock_ppm: float = 0.0,
    delay_samples: float = 0.0,
    before: int = 400,
    after: int = 200,
    level: float = 1000.0,
    echo: tuple[float, complex] | None = None,
    dc: complex = 0.0,
    imbalance: tuple[float, float] | None = None,
) -> NDArray[np.int64]:
    """What a converter of 16 bits gives at two samples a chip, I and Q in two columns.

    `level` is the root mean square of the signal without noise, in steps of the converter; the noise fills the whole
    band of the samples. Es is the energy of a symbol of 22 samples. An `echo` is a second ray: microseconds behind the
    first, and its amplitude against it; level and Es/N0 are those of the sum. `dc` is what the converter has without
    any signal, in its steps; the `imbalance` of I and Q is how many decibels I is the stronger, and by how many degrees
    Q is not at right angles to it.
    """
    ratio = samples_per_chip / 2
    samples = int(len(wave) / ratio) + after
    step = ratio * (1 + clock_ppm * 1e-6)
    rays = resampled(wave, step, -delay_samples * ratio, samples)
    if echo is not None:
        delay_us, amplitude = echo
        later = delay_samples + 2 * CHIPS_PER_US * delay_us
        rays = rays + amplitude * resampled(wave, step, -later * ratio, samples)
    out = np.concatenate([np.zeros(before), rays])
    times_us = np.arange(len(out)) / (2 * CHIPS_PER_US)
    out *= np.exp(2j * np.pi * (carrier_hz * 1e-6 * times_us + random.uniform()))
    middle = out[before + 200 : before + int(len(wave) / ratio) - 200]
    out *= level / np.sqrt(np.mean(np.abs(middle) ** 2))
    if es_n0_db is not None:
        sigma = level * np.sqrt(22 / 10 ** (es_n0_db / 10) / 2)
        out += sigma * (random.standard_normal(len(out)) + 1j * random.standard_normal(len(out)))
    if imbalance is not None:
        gain, angle = 10 ** (imbalance[0] / 40), np.deg2rad(imbalance[1])
        out = gain * out.real + 1j * (out.imag * np.cos(angle) + out.real * np.sin(angle)) / gain
    out += dc
    return np.clip(np.round(np.stack([out.real, out.imag], axis=1)), -32768, 32767).astype(np.int64)
