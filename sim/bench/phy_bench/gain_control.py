# SPDX-License-Identifier: GPL-2.0-or-later
"""The receiver's dynamic range with and without gain control, on the gateware: a radio_top hears another one behind an
antenna's noise, a gain that it controls itself and a converter of 12 bits (sim/bench/radio_top/bench_gain.cpp).
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perhop.registers.spec_generated import REGISTERS

from phy_bench import frame_errors
from phy_bench.frame_errors import CARRIER_HZ
from phy_bench.station import ADDRESSES, ERRORS, SAMPLES_PER_US, TRANSMITTED_RMS, settings

PROGRAM = Path("out/build/sim/bench/radio_top/perhop-bench-gain")
CLOCKS_PER_US = 44
OCTETS = 200
"""Of a packet: shorter than elsewhere, since gateware is slow."""
STEP = 16
NOISE = 2 * STEP
"""Two steps of a converter whose 12 bits are the upper ones of 16."""
DELAY_SAMPLES = 8
"""From what is said to the front end to the first sample with that gain: two pulses of an AD936x's pin."""
SETTLE_LOOKS = 1
SEED = 1


@dataclass(frozen=True)
class Heard:
    """Frames at one rate and level, behind a gain of that range, in steps of 12 dB."""

    rate: int
    range_steps: int
    es_n0_db: float
    frames: int


def count(points: Sequence[Heard], root: Path) -> list[dict[str, int]]:
    """Of each point, how many frames were delivered, of how many, and how far below its most the gain was at the most.

    Raises RuntimeError where the program fails.
    """
    found = {}
    for range_steps in dict.fromkeys(point.range_steps for point in points):
        of_range = [point for point in points if point.range_steps == range_steps]
        gain = {"range_steps": range_steps, "settle_looks": SETTLE_LOOKS}
        plan = {
            "clocks_per_sample": CLOCKS_PER_US // SAMPLES_PER_US,
            "samples_per_us": SAMPLES_PER_US,
            "writes": [settings(CLOCKS_PER_US, "dsss_long", address, SEED, **gain) for address in ADDRESSES],
            "errors": ERRORS,
            "seed": SEED,
            "bytes": OCTETS,
            "noise": NOISE,
            "step": STEP,
            "delay_samples": DELAY_SAMPLES,
            "turn": 2 * math.pi * CARRIER_HZ / (SAMPLES_PER_US * 1e6),
            "delivered_address": REGISTERS["stat_rx_delivered"].address,
            "cases": [
                {
                    "rate": point.rate,
                    "frames": point.frames,
                    "scale": frame_errors.level_over(NOISE, point.es_n0_db) / TRANSMITTED_RMS,
                }
                for point in of_range
            ],
        }
        done = subprocess.run([root / PROGRAM], input=json.dumps(plan), capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{PROGRAM.name} ended with {done.returncode}: {done.stderr.strip()}")
        found |= dict(zip(of_range, json.loads(done.stdout)["cases"], strict=True))
    return [found[point] for point in points]
