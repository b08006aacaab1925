# SPDX-License-Identifier: GPL-2.0-or-later
"""How much stronger than the weakest a signal may be, at one gain and with gain control."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from phy_bench import frame_errors, gain_control
from phy_bench.frame_errors import PER_LIMIT, RATE_NAMES, Point
from phy_bench.gain_control import Heard
from phy_bench.points import Bench
from phy_bench.sections.section import Section, bound_db, table

STEP = 16
NOISE = 2 * STEP
"""Of the receiver's noise, where the gain stands: two steps of a converter of 12 bits."""
ABOVE_DB = (0.0, 20.0, 40.0, 50.0, 60.0, 70.0, 80.0)
CONTROLLED_DB = (20, 60, 80, 100)
CONTROL_RANGE_STEPS = 5
GAIN_STEP_DB = 12
CONTROL_FRAMES = 20


class OneGain(Section):
    """A converter of 12 bits whose gain stands."""

    title = "Dynamic range at one gain"

    def __init__(self, frames: int) -> None:
        self._frames = frames
        self._per: dict[tuple[int, float], float] = {}
        """Frame error rate by rate and decibels above the bound's level."""

    def measure(self, bench: Bench) -> None:
        works = {}
        for rate in RATE_NAMES:
            for above_db in ABOVE_DB:
                es_n0_db = bound_db(rate) + above_db
                level = frame_errors.level_over(NOISE, es_n0_db)
                works[rate, above_db] = Point(rate, es_n0_db, self._frames, level=level, step=STEP)
        self._per = bench.per(works)

    def lines(self) -> list[str]:
        return [
            f"{RATE_NAMES[rate]}, one gain of 12 bits, {above_db:g} dB above the bound: frame errors {per:.3f}"
            for (rate, above_db), per in self._per.items()
        ]

    def page(self, folder: Path) -> str:
        rows = [(name, *(f"{self._per[rate, db]:.0%}" for db in ABOVE_DB)) for rate, name in RATE_NAMES.items()]
        return f"""Frame errors of a converter of 12 bits whose gain stands, so that the receiver's noise has two of
its steps (root mean square of I and of Q), by the signal's level above that of the bound's Es/N0;
{self._frames} frames each, at the worst offsets.
What is stronger than the converter is cut off, I and Q each by itself: their signs alone are left of a
carrier that turns through the borders between them.

{table(("rate", *(f"{db:+g} dB" for db in ABOVE_DB)), rows)}"""

    def result(self) -> dict[str, Any]:
        return {"range_per": {f"{RATE_NAMES[rate]} {db:+g} dB": per for (rate, db), per in self._per.items()}}


class GainControl(Section):
    """With it at most PER_LIMIT of the frames are lost at any of CONTROLLED_DB; measured on the gateware."""

    title = "Dynamic range with gain control"

    def __init__(self) -> None:
        self.heard: dict[tuple[int, int, int], dict[str, int]] = {}
        """What gain_control.count says, by rate, range of the gain in steps and decibels above the bound's level."""

    def measure(self, bench: Bench) -> None:
        points = {
            (rate, range_steps, above_db): Heard(rate, range_steps, bound_db(rate) + above_db, CONTROL_FRAMES)
            for rate in RATE_NAMES
            for range_steps in (0, CONTROL_RANGE_STEPS)
            for above_db in CONTROLLED_DB
        }
        self.heard = dict(zip(points, bench.heard(list(points.values())), strict=True))

    def lines(self) -> list[str]:
        return [
            f"{RATE_NAMES[rate]}, gain control of {range_steps} steps, {above_db} dB above the bound: "
            f"frame errors {lost(heard):.3f}, gain at most {heard['most_below_db']} dB below its most"
            for (rate, range_steps, above_db), heard in self.heard.items()
        ]

    def wrong(self) -> list[str]:
        return [
            f"{RATE_NAMES[rate]}: {lost(heard):.0%} lost {above_db} dB above the bound, with gain control"
            for (rate, range_steps, above_db), heard in self.heard.items()
            if range_steps and lost(heard) > PER_LIMIT
        ]

    def page(self, folder: Path) -> str:
        rows = [
            (
                RATE_NAMES[rate],
                f"controlled, {GAIN_STEP_DB * steps} dB" if steps else "stands",
                *(cell(self.heard[rate, steps, db]) for db in CONTROLLED_DB),
            )
            for rate, steps in dict.fromkeys((rate, steps) for rate, steps, _ in self.heard)
        ]
        return f"""The gateware, with the same converter behind a gain that it controls itself
([`gain_control`](../../gateware/rtl/phy/rx/gain_control.sv)) or that stands: how many frames of {gain_control.OCTETS}
octets were lost, and in brackets how far below its most the gain was. What is said to the front end takes
{gain_control.DELAY_SAMPLES} samples, as an AD936x's pins do.

{table(("rate", "gain", *(f"{db:+d} dB" for db in CONTROLLED_DB)), rows)}"""

    def result(self) -> dict[str, Any]:
        return {
            "gain_control": {
                f"{RATE_NAMES[rate]} {GAIN_STEP_DB * steps} dB {db:+d} dB": {**heard, "per": lost(heard)}
                for (rate, steps, db), heard in self.heard.items()
            }
        }


def lost(heard: dict[str, int]) -> float:
    """The share of the frames."""
    return 1 - heard["delivered"] / heard["frames"]


def cell(heard: dict[str, int]) -> str:
    """Frames lost, and the gain."""
    below = f" (-{heard['most_below_db']} dB)" if heard["most_below_db"] else ""
    return f"{heard['frames'] - heard['delivered']} of {heard['frames']}{below}"
