# SPDX-License-Identifier: GPL-2.0-or-later
"""What echoes, the signal's level, DC and an imbalance of I and Q cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from phy_bench.frame_errors import RATE_NAMES, Point
from phy_bench.points import Bench
from phy_bench.sections.section import Section, bound_db, table

ECHO_DB = (-6.0, -3.0)
ECHO_US = (0.045, 0.091, 0.182, 0.364, 0.727)
ECHO_ES_N0_DB = 20.0
LEVELS = {"-30 dB": 1000 * 10**-1.5, "-10 dB": 1000 * 10**-0.5, "nominal": 1000.0, "+10 dB": 1000 * 10**0.5}
DC_DB = (0.0, 14.0, 20.0)
DC_LOSS = 0.01
IMBALANCES = ((0.5, 3.0), (1.0, 5.0), (2.0, 10.0))


class Echoes(Section):
    """A second ray behind the first."""

    title = "Echoes"

    def __init__(self, frames: int) -> None:
        self._frames = frames
        self._per: dict[tuple[int, float, float], float] = {}
        """Frame error rate by rate, power of the echo in dB, its delay in microseconds."""

    def measure(self, bench: Bench) -> None:
        self._per = bench.per(
            {
                (rate, echo_db, echo_us): Point(rate, ECHO_ES_N0_DB, self._frames, True, echo_us, echo_db)
                for rate in RATE_NAMES
                for echo_db in ECHO_DB
                for echo_us in ECHO_US
            }
        )

    def lines(self) -> list[str]:
        return [
            f"{RATE_NAMES[rate]}, an echo of {echo_db:g} dB, {1000 * echo_us:.0f} ns later: frame errors {per:.3f}"
            for (rate, echo_db, echo_us), per in self._per.items()
        ]

    def page(self, folder: Path) -> str:
        rows = [
            (name, f"{echo_db:g}", *(f"{self._per[rate, echo_db, echo_us]:.0%}" for echo_us in ECHO_US))
            for rate, name in RATE_NAMES.items()
            for echo_db in ECHO_DB
        ]
        return f"""Frame errors with a second ray behind the first, its phase drawn, at the worst offsets and an
Es/N0 of {ECHO_ES_N0_DB:.0f} dB of the sum; {self._frames} frames each. There is no equaliser.

{table(("rate", "echo (dB)", *(f"{1000 * echo_us:.0f} ns" for echo_us in ECHO_US)), rows)}"""

    def result(self) -> dict[str, Any]:
        return {
            "echo_per": {
                f"{RATE_NAMES[rate]} {echo_db:g} dB {echo_us:g} us": per
                for (rate, echo_db, echo_us), per in self._per.items()
            }
        }


class Levels(Section):
    """A signal that the radio's gain has not brought to the nominal level."""

    title = "Levels"

    def __init__(self, frames: int) -> None:
        self._frames = frames
        self._per: dict[tuple[int, str], float] = {}

    def measure(self, bench: Bench) -> None:
        self._per = bench.per(
            {
                (rate, name): Point(rate, bound_db(rate), self._frames, level=level)
                for rate in RATE_NAMES
                for name, level in LEVELS.items()
            }
        )

    def lines(self) -> list[str]:
        return [f"{RATE_NAMES[rate]}, level {name}: frame errors {per:.3f}" for (rate, name), per in self._per.items()]

    def page(self, folder: Path) -> str:
        rows = [(name, *(f"{self._per[rate, level]:.1%}" for level in LEVELS)) for rate, name in RATE_NAMES.items()]
        return f"""Frame errors at the bound's Es/N0 when the radio's gain is off, so that the signal at the 16-bit
converter is weaker or stronger than 1000 steps (root mean square):

{table(("rate", *LEVELS), rows)}"""

    def result(self) -> dict[str, Any]:
        return {"level_per": {f"{RATE_NAMES[rate]} {name}": per for (rate, name), per in self._per.items()}}


class DcAndImbalance(Section):
    """DC loses no frame in a hundred more."""

    title = "DC, and imbalance of I and Q"

    def __init__(self, frames: int) -> None:
        self._frames = frames
        self.clean: dict[int, float] = {}
        self.dc: dict[tuple[int, float], float] = {}
        """Frame error rate by rate and DC in dB against the signal."""
        self.imbalanced: dict[tuple[int, tuple[float, float]], float] = {}
        """By rate, and decibels and degrees of I against Q."""

    def measure(self, bench: Bench) -> None:
        clean = {rate: Point(rate, bound_db(rate), self._frames) for rate in RATE_NAMES}
        self.clean = bench.per(clean)
        self.dc = bench.per(
            {(rate, dc_db): Point(rate, bound_db(rate), self._frames, dc_db=dc_db) for rate in clean for dc_db in DC_DB}
        )
        self.imbalanced = bench.per(
            {
                (rate, imbalance): Point(rate, bound_db(rate), self._frames, imbalance=imbalance)
                for rate in clean
                for imbalance in IMBALANCES
            }
        )

    def lines(self) -> list[str]:
        return [
            *(f"{RATE_NAMES[rate]}, no DC: frame errors {per:.3f}" for rate, per in self.clean.items()),
            *(
                f"{RATE_NAMES[rate]}, DC of {dc_db:+g} dB: frame errors {per:.3f}"
                for (rate, dc_db), per in self.dc.items()
            ),
            *(
                f"{RATE_NAMES[rate]}, I and Q off by {db:g} dB and {degrees:g} degrees: frame errors {per:.3f}"
                for (rate, (db, degrees)), per in self.imbalanced.items()
            ),
        ]

    def wrong(self) -> list[str]:
        return [
            f"{RATE_NAMES[rate]}: DC of {dc_db:g} dB loses {per:.1%} of the frames, without it {self.clean[rate]:.1%}"
            for (rate, dc_db), per in self.dc.items()
            if per > self.clean[rate] + DC_LOSS
        ]

    def page(self, folder: Path) -> str:
        head = (
            "rate",
            "neither",
            *(f"DC {dc_db:+g} dB" for dc_db in DC_DB),
            *(f"I/Q {db:g} dB, {degrees:g} degrees" for db, degrees in IMBALANCES),
        )
        rows = [
            (
                name,
                f"{self.clean[rate]:.1%}",
                *(f"{self.dc[rate, dc_db]:.1%}" for dc_db in DC_DB),
                *(f"{self.imbalanced[rate, imbalance]:.1%}" for imbalance in IMBALANCES),
            )
            for rate, name in RATE_NAMES.items()
        ]
        return f"""Frame errors at the bound's Es/N0 with a constant on I and Q of so many decibels against the signal,
its phase drawn, or with I stronger than Q and the two not at right angles. The receiver removes DC; it does nothing
about an imbalance.

{table(head, rows)}"""

    def result(self) -> dict[str, Any]:
        return {
            "dc_per": {
                **{f"{RATE_NAMES[rate]} none": per for rate, per in self.clean.items()},
                **{f"{RATE_NAMES[rate]} {dc_db:g} dB": per for (rate, dc_db), per in self.dc.items()},
            },
            "iq_per": {
                f"{RATE_NAMES[rate]} {db:g} dB {degrees:g} deg": per
                for (rate, (db, degrees)), per in self.imbalanced.items()
            },
        }
