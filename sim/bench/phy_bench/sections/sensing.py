# SPDX-License-Identifier: GPL-2.0-or-later
"""How soon a signal is found, and how soon the medium is free behind one that was no frame."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from perhop.report.figures import COLOURS, drawing

from phy_bench import carrier_sense
from phy_bench.carrier_sense import CCA_TIME_US, ENDS_US
from phy_bench.points import Bench
from phy_bench.sections.section import Section, table

SENSED_FROM_DB = 10
SENSE_DB = (0, 2, 4, 5, 6, 7, 8, 10, 12, 15, 20)
FREE_DB = (10, 12, 15, 20, 25, 30, 40, 50)


def percent(times_us: Sequence[float | None]) -> float:
    """Of times, None where there is none, how many the standard's CCA time allows."""
    return 100 * sum(time_us is not None and time_us <= CCA_TIME_US for time_us in times_us) / len(times_us)


def median_us(times_us: Sequence[float | None]) -> float | None:
    """None is longer than any, and what it is where too many are."""
    found_us = float(np.median([math.inf if time_us is None else time_us for time_us in times_us]))
    return None if math.isinf(found_us) else round(found_us, 2)


def median_text(times_us: Sequence[float | None]) -> str:
    """ "-" where there is none."""
    found_us = median_us(times_us)
    return "-" if found_us is None else f"{found_us:.1f}"


def latest_text(times_us: Sequence[float | None]) -> str:
    """The longest; "never" where one is None."""
    known = [time_us for time_us in times_us if time_us is not None]
    return f"{max(known):.1f}" if len(known) == len(times_us) else "never"


class CarrierSense(Section):
    """From SENSED_FROM_DB on each signal is found in time, and noise never is one."""

    title = "Carrier sense"

    def __init__(self, preambles: int, noise_s: float) -> None:
        self._preambles = preambles
        pieces = max(1, round(noise_s / carrier_sense.Noise(0).seconds))
        self._noises = [carrier_sense.Noise(seed) for seed in range(pieces)]
        self.noise_s = sum(noise.seconds for noise in self._noises)
        self.sensed: dict[int, list[float | None]] = {}
        """By Es/N0 in dB: microseconds to the lock, None where there was none."""
        self.alarms = 0

    def measure(self, bench: Bench) -> None:
        self.sensed = bench.by_name(
            {level_db: carrier_sense.Detection(float(level_db), self._preambles) for level_db in SENSE_DB}
        )
        self.alarms = sum(bench.all(self._noises))

    def lines(self) -> list[str]:
        return [
            *(
                f"a signal of {level_db:2} dB is found within {CCA_TIME_US} us: {percent(times):5.1f} %"
                for level_db, times in self.sensed.items()
            ),
            f"locks in {self.noise_s:.1f} s of noise: {self.alarms}",
        ]

    def wrong(self) -> list[str]:
        late = [
            f"{100 - percent(times):.1f} % of the signals of {level_db} dB are not found within {CCA_TIME_US} us"
            for level_db, times in self.sensed.items()
            if level_db >= SENSED_FROM_DB and percent(times) < 100
        ]
        return late + [f"{self.alarms} locks in {self.noise_s:.1f} s of noise; the bound is none"] * bool(self.alarms)

    def page(self, folder: Path) -> str:
        draw(self.sensed, folder / "carrier_sense.svg")
        rows = [(str(level_db), f"{percent(times):.1f}", median_text(times)) for level_db, times in self.sensed.items()]
        return f"""From a signal's first sample to the lock, at the worst offsets, {self._preambles} preambles each:

{table(("Es/N0 (dB)", f"found within {CCA_TIME_US} us (%)", "median (us)"), rows)}

Locks in {self.noise_s:.1f} s of noise: {self.alarms}.

![Carrier sense](carrier_sense.svg)"""

    def result(self) -> dict[str, Any]:
        return {
            "cs_15us_at_10db": percent(self.sensed[SENSED_FROM_DB]) / 100,
            "false_alarms_per_s": round(self.alarms / self.noise_s, 2),
            "found_in_15_us_percent": {str(level_db): percent(times) for level_db, times in self.sensed.items()},
            "false_alarms": {"locks": self.alarms, "seconds": round(self.noise_s, 1)},
        }


class FreeAgain(Section):
    """A signal without a good header leaves the medium free in the time of carrier sense."""

    title = "Free again"

    def __init__(self, signals: int) -> None:
        self._signals = signals
        self.freed: dict[tuple[int, str], list[float | None]] = {}
        """By Es/N0 in dB and where signals ended: microseconds to a free medium, None where it stayed busy."""

    def measure(self, bench: Bench) -> None:
        self.freed = bench.by_name(
            {
                (level_db, end): carrier_sense.Release(float(level_db), end, self._signals)
                for level_db in FREE_DB
                for end in ENDS_US
            }
        )

    def lines(self) -> list[str]:
        return [
            f"free after a signal of {level_db} dB that ends in {end}: at most {latest_text(times)} us"
            for (level_db, end), times in self.freed.items()
        ]

    def wrong(self) -> list[str]:
        return [
            f"after a signal of {level_db} dB that ends in {end} the medium is free {latest_text(times)} us later"
            for (level_db, end), times in self.freed.items()
            if percent(times) < 100
        ]

    def page(self, folder: Path) -> str:
        head = ["Es/N0 (dB)"]
        for end in ENDS_US:
            head += [f"{end}: median", "most"]
        rows = [[str(level_db)] for level_db in FREE_DB]
        for row, level_db in zip(rows, FREE_DB, strict=True):
            for end in ENDS_US:
                row += [median_text(self.freed[level_db, end]), latest_text(self.freed[level_db, end])]
            row.append(str(CCA_TIME_US))
        return f"""From the end of a signal that had no good header to a medium that is free, in us, at the worst
offsets; {self._signals} signals each. They end in the preamble, in the header, or after a header with a wrong bit.

{table([*head, "bound"], rows)}"""

    def result(self) -> dict[str, Any]:
        return {
            "free_us": {
                f"{level_db} dB {end}": {
                    "median": median_us(times),
                    "max": None if None in times else round(max(filter(None, times), default=0.0), 2),
                }
                for (level_db, end), times in self.freed.items()
            }
        }


def draw(sensed: dict[int, list[float | None]], file: Path) -> None:
    """How many are found in time by level, and when, at three levels."""
    with drawing(file, columns=2) as (_, (left, right)):
        left.plot(
            list(sensed), [percent(times) for times in sensed.values()], color=COLOURS[0], marker="o", linewidth=1.8
        )
        left.set_title(f"Signals found within {CCA_TIME_US} us", loc="left")
        left.set_xlabel("Es/N0 (dB)")
        left.set_ylabel("% of the preambles")
        left.set_ylim(0, 104)
        for number, level_db in enumerate(value for value in (6, 10, 20) if value in sensed):
            times = sorted(time_us for time_us in sensed[level_db] if time_us is not None)
            share = [100 * (place + 1) / len(sensed[level_db]) for place in range(len(times))]
            right.step(times, share, where="post", color=COLOURS[number], label=f"{level_db} dB")
        right.axvline(CCA_TIME_US, color="#5B6673", linewidth=0.8, linestyle="--")
        right.set_xlim(0, 30)
        right.set_title("From a signal's first sample to its lock", loc="left")
        right.set_xlabel("us")
        right.set_ylabel("% of the preambles, at most so late")
        right.legend(loc="lower right")
