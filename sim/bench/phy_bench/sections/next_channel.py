# SPDX-License-Identifier: GPL-2.0-or-later
"""What a stronger neighbour 25 MHz away costs, behind each front end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from phy_bench import adjacent
from phy_bench.adjacent import Beside, FrontEnd
from phy_bench.frame_errors import PER_LIMIT, RATE_NAMES
from phy_bench.points import Bench
from phy_bench.sections.section import LOSS_DB, Section, table

NEIGHBOUR_DB = (25.0, adjacent.REJECTION_DB, 45.0)
FRONT_ENDS = (FrontEnd(44, None), FrontEnd(44, 40.0), FrontEnd(44, 20.0), FrontEnd(22, 20.0))


class NextChannel(Section):
    """Behind filters at most PER_LIMIT of the frames are lost beside a neighbour as strong as the standard says."""

    title = "The next channel"

    def __init__(self, frames: int) -> None:
        self._frames = frames
        self.per: dict[tuple[int, FrontEnd, float], float] = {}
        """Frame error rate by rate, front end, and by how many decibels the next channel is the stronger."""

    def measure(self, bench: Bench) -> None:
        self.per = bench.per(
            {
                (rate, front_end, db): Beside(rate, front_end, db, self._frames, LOSS_DB[rate])
                for rate in RATE_NAMES
                for front_end in FRONT_ENDS
                for db in NEIGHBOUR_DB
            }
        )

    def lines(self) -> list[str]:
        return [
            f"{RATE_NAMES[rate]}, {front_end.name}, the next channel {db:g} dB stronger: frame errors {per:.3f}"
            for (rate, front_end, db), per in self.per.items()
        ]

    def wrong(self) -> list[str]:
        return [
            f"{RATE_NAMES[rate]}, {front_end.name}: {per:.1%} lost beside a channel {db:g} dB stronger"
            for (rate, front_end, db), per in self.per.items()
            if front_end.bandwidth_mhz is not None and db <= adjacent.REJECTION_DB and per > PER_LIMIT
        ]

    def page(self, folder: Path) -> str:
        rows = [
            (name, front_end.name, *(f"{self.per[rate, front_end, db]:.1%}" for db in NEIGHBOUR_DB))
            for rate, name in RATE_NAMES.items()
            for front_end in FRONT_ENDS
        ]
        return f"""Frame errors beside another 802.11b channel {adjacent.NEIGHBOUR_MHZ:g} MHz away, which sends
without a pause and is stronger by so many decibels; {self._frames} frames each, at the worst offsets,
{adjacent.MARGIN_DB:g} dB above the bound's Es/N0.
The standard asks for {adjacent.REJECTION_DB:g} dB at 8 % (16.4.8.4). The converter is an AD9361's,
with its low-pass at the bandwidth that is told (both sides) and its half-band filters; `bare` has neither, so that all
beyond 22 MHz folds back. At 44 Msps the modem's own half-band filter follows, at 22 Msps there is none but the
device's. The neighbour's spectrum is that of our own transmitter.

{table(("rate", "front end", *(f"{db:+g} dB" for db in NEIGHBOUR_DB)), rows)}"""

    def result(self) -> dict[str, Any]:
        return {
            "adjacent_per": {
                f"{RATE_NAMES[rate]} {front_end.name} {db:g} dB": per for (rate, front_end, db), per in self.per.items()
            }
        }
