# SPDX-License-Identifier: GPL-2.0-or-later
"""Who hears whom, how strong and how late, from positions: what the bounds need to know of the medium.

Written from the documents (README of sim/run and of sim/air, ns-2.35's tworayground.cc), and sharing nothing with
sim/air, whose runs are judged by it. Watts, metres and microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perhop.registers import spec_generated as spec

Matrix = npt.NDArray[np.float64]

# Distances are square roots of decimal fractions: a node at exactly the range is in range.
TOLERANCE = 1e-9
SPEED_OF_LIGHT_M_PER_US = 299.8
LEAST_DISTANCE_M = 1.0
# The rule sinr leaves out what is 20 dB below the noise.
INTERFERENCE_FLOOR = 0.01

# sim/run/README.md: the smallest SINR of each rate.
DSSS_THRESHOLD_DB = (4.0, 7.0, 11.0, 16.0)
OFDM_THRESHOLD_DB = (5.0, 6.0, 8.0, 10.0, 13.0, 17.0, 21.0, 22.0)

# ns-2.35's two-ray ground: 914 MHz, antennas 1.5 m high with unit gain.
_WAVELENGTH_M = 3.0e8 / 914.0e6
_ANTENNA_HEIGHT_M = 1.5
_CROSSOVER_M = 4 * math.pi * _ANTENNA_HEIGHT_M**2 / _WAVELENGTH_M
# Free space over 1 m at 2.4 GHz.
_LOSS_AT_1_M_DB = 40.05


@dataclass(frozen=True)
class Hearing:
    """Matrices by transmitter and receiver; 0 W where nothing arrives. `noise_w` and thresholds count under sinr."""

    reception: str  # ns2 or sinr
    power_w: Matrix
    delay_us: Matrix
    sensitivity_w: float
    carrier_sense_w: float
    capture_ratio: float
    noise_w: float
    threshold_ratio: tuple[float, ...]  # of each rate

    @property
    def most_delay_us(self) -> float:
        """The longest way of a frame to anybody who hears it."""
        return float(np.max(self.delay_us[self.power_w > 0], initial=0.0))


def ratio_from_db(decibels: float) -> float:
    return 10 ** (decibels / 10)


def received_power_w(medium: Mapping[str, Any], distance_m: float) -> float:
    """Power at a distance, by the medium's loss model."""
    power_w = ratio_from_db(medium.get("tx_power_dbm", 24.5) - 30)
    away_m = max(distance_m, LEAST_DISTANCE_M)
    match medium["loss"]:
        case "range":
            reach_m = max(medium["tx_range_m"], medium["cs_range_m"])
            return 0.0 if distance_m > reach_m * (1 + TOLERANCE) else power_w / away_m**4
        case "two_ray":
            if away_m <= _CROSSOVER_M:
                return power_w * (_WAVELENGTH_M / (4 * math.pi * away_m)) ** 2
            return power_w * (_ANTENNA_HEIGHT_M**2 / away_m**2) ** 2
        case "log_distance":
            return power_w * ratio_from_db(-_LOSS_AT_1_M_DB) * away_m ** -medium.get("loss_exponent", 3.0)
    raise ValueError(f"medium.loss is {medium['loss']!r}")


def hearing(
    medium: Mapping[str, Any],
    positions: Sequence[tuple[float, float]],
    profile: str = "dsss_long",
    cut_off: Iterable[tuple[int, int]] = (),
) -> Hearing:
    """The medium of a run.json, its nodes' positions, and pairs between which nothing passes."""
    timing = spec.PROFILES[profile]
    default_db = DSSS_THRESHOLD_DB if timing.symbol_us == 0 else OFDM_THRESHOLD_DB
    threshold_db = tuple(medium.get("sinr_threshold_db") or default_db)
    sensitivity_w = received_power_w(medium, medium["tx_range_m"]) * (1 - TOLERANCE)
    carrier_sense_w = received_power_w(medium, medium["cs_range_m"]) * (1 - TOLERANCE)
    noise_w, floor_w = 0.0, carrier_sense_w
    if medium["reception"] == "sinr":
        noise_dbm = medium.get("noise_dbm")
        hardest = ratio_from_db(max(threshold_db))
        noise_w = sensitivity_w / hardest if noise_dbm is None else ratio_from_db(noise_dbm - 30)
        floor_w = min(floor_w, noise_w * INTERFERENCE_FLOOR)
    count = len(positions)
    cut = {frozenset(pair) for pair in cut_off}
    power_w, delay_us = np.zeros((count, count)), np.zeros((count, count))
    propagation = medium.get("propagation_us", "auto")
    for one in range(count):
        for other in range(count):
            if one == other:
                continue
            away_m = math.dist(positions[one], positions[other])
            if propagation == "auto":
                delay_us[one, other] = max(1.0, math.floor(away_m / SPEED_OF_LIGHT_M_PER_US + 0.5))
            else:
                delay_us[one, other] = propagation
            arrives_w = received_power_w(medium, away_m)
            if arrives_w >= floor_w and frozenset((one, other)) not in cut:
                power_w[one, other] = arrives_w
    return Hearing(
        medium["reception"],
        power_w,
        delay_us,
        sensitivity_w,
        carrier_sense_w,
        ratio_from_db(medium.get("capture_ratio_db", 10)),
        noise_w,
        tuple(ratio_from_db(value) for value in threshold_db),
    )
