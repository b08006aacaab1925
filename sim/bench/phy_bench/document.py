# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/phy: the page of what was measured, and its figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from perhop import files, paths
from perhop.report.figures import COLOURS, MARKERS, drawing

from phy_bench import adjacent, carrier_sense, frame_errors, gain_control, spectrum
from phy_bench.frame_errors import PER_LIMIT, RATE_NAMES


@dataclass
class Curve:
    """Frame errors over Es/N0 of one rate, with the worst offsets or without any."""

    rate: int
    offsets: bool
    points: list[tuple[float, float, float]]
    """Es/N0 in dB, frame error rate, bit error rate."""
    limit_db: float | None

    @property
    def loss_db(self) -> float | None:
        """Above theory's Es/N0."""
        return None if self.limit_db is None else self.limit_db - frame_errors.theory_point_db(self.rate)

    @property
    def name(self) -> str:
        return f"{RATE_NAMES[self.rate]}, {'worst offsets' if self.offsets else 'no offsets'}"


@dataclass
class Measured:
    """All that `make bench-phy` has found."""

    frames: int
    """A point of the curves."""
    curves: list[Curve]
    loss_bound_db: dict[int, float]
    sensed: dict[float, list[float | None]]
    """By Es/N0 in dB: microseconds to the lock, None where there was none."""
    freed: dict[tuple[float, str], list[float | None]]
    """By Es/N0 in dB and where signals ended: microseconds from there to a free medium, None where it stayed busy."""
    false_alarms: int
    noise_s: float
    echo_es_n0_db: float
    echoes: dict[tuple[int, float, float], float]
    """Frame error rate by rate, power of the echo in dB, its delay in microseconds."""
    echo_frames: int
    levels: dict[tuple[int, str], float]
    """Frame error rate by rate and level."""
    shape: spectrum.Spectrum
    analogue: dict[tuple[int, float | None, tuple[float, float] | None], float]
    """Frame error rate by rate, DC in dB against the signal, imbalance of I and Q in dB and degrees."""
    ranged: dict[tuple[int, float], float]
    """Frame error rate by rate and decibels above the bound's level, at one gain of a converter of 12 bits."""
    by_control: dict[tuple[int, int, int], dict[str, int]]
    """What gain_control.count says, by rate, range of the gain in steps and decibels above the bound's level."""
    beside: dict[tuple[int, str, float], float]
    """Frame error rate by rate, front end, and by how many decibels the next channel is the stronger."""
    beside_frames: int
    rtl_agreed: int
    rtl_compared: int


def percent(values: Sequence[float | None], limit_us: float) -> float:
    return 100 * sum(value is not None and value <= limit_us for value in values) / len(values)


def control_cell(heard: dict[str, int]) -> str:
    """Frames lost, and the gain."""
    lost = heard["frames"] - heard["delivered"]
    below = f" (-{heard['most_below_db']} dB)" if heard["most_below_db"] else ""
    return f"{lost} of {heard['frames']}{below}"


def median_text(times_us: Sequence[float | None]) -> str:
    """The median of times of which None is longer than any; "-" where that is the median."""
    median_us = float(np.median([math.inf if time_us is None else time_us for time_us in times_us]))
    return "-" if math.isinf(median_us) else f"{median_us:.1f}"


def latest_text(times_us: Sequence[float | None]) -> str:
    """The longest; "never" where one is None."""
    known = [time_us for time_us in times_us if time_us is not None]
    return f"{max(known):.1f}" if len(known) == len(times_us) else "never"


def draw_errors(curves: Sequence[Curve], file: Path) -> None:
    with drawing(file, columns=2) as (_, axes):
        for axis, rate in zip(axes, RATE_NAMES, strict=True):
            point_db = frame_errors.theory_point_db(rate)
            fine = np.linspace(point_db - 1.5, point_db + 2.5, 80)
            theory = [frame_errors.theory_per(rate, value) for value in fine]
            axis.plot(fine, theory, color="#7F7F7F", label="theory: differential detection")
            for number, curve in enumerate(each for each in curves if each.rate == rate):
                shown = [(es_n0_db, per) for es_n0_db, per, _ in curve.points if per]
                style = {"color": COLOURS[number], "marker": MARKERS[number], "linewidth": 1.8}
                axis.plot(*zip(*shown, strict=True), label=curve.name.partition(", ")[2], **style)
            axis.axhline(PER_LIMIT, color="#5B6673", linewidth=0.8, linestyle="--")
            axis.text(fine[0], PER_LIMIT * 1.08, "8 %", color="#5B6673", fontsize=9)
            axis.set_yscale("log")
            axis.set_ylim(1e-3, 1)
            axis.set_title(f"{RATE_NAMES[rate]}, frames of {frame_errors.OCTETS} octets", loc="left")
            axis.set_xlabel("Es/N0 (dB)")
            axis.set_ylabel("frame error rate")
            axis.legend(loc="lower left")


def draw_sense(sensed: dict[float, list[float | None]], file: Path) -> None:
    with drawing(file, columns=2) as (_, (left, right)):
        levels = list(sensed)
        shares = [percent(times, carrier_sense.CCA_TIME_US) for times in sensed.values()]
        left.plot(levels, shares, color=COLOURS[0], marker="o", linewidth=1.8)
        left.set_title("Signals found within 15 us", loc="left")
        left.set_xlabel("Es/N0 (dB)")
        left.set_ylabel("% of the preambles")
        left.set_ylim(0, 104)
        for number, level_db in enumerate(value for value in (6, 10, 20) if value in sensed):
            times = sorted(time_us for time_us in sensed[level_db] if time_us is not None)
            share = [100 * (place + 1) / len(sensed[level_db]) for place in range(len(times))]
            right.step(times, share, where="post", color=COLOURS[number], label=f"{level_db} dB")
        right.axvline(carrier_sense.CCA_TIME_US, color="#5B6673", linewidth=0.8, linestyle="--")
        right.set_xlim(0, 30)
        right.set_title("From a signal's first sample to its lock", loc="left")
        right.set_xlabel("us")
        right.set_ylabel("% of the preambles, at most so late")
        right.legend(loc="lower right")


def draw_spectrum(found: spectrum.Spectrum, file: Path) -> None:
    with drawing(file) as (_, (axis,)):
        axis.plot(found.mhz, found.dbr, color=COLOURS[0], linewidth=1.2, label="44 Msps, in 0.1 MHz")
        edges = np.linspace(-22, 22, 4401)
        axis.plot(edges, spectrum.mask_dbr(edges), color=COLOURS[1], linewidth=1.8, label="mask")
        axis.set_title(f"The transmitter's spectrum: {found.side_margin_db:.0f} dB below the mask", loc="left")
        axis.set_xlabel("MHz from the carrier")
        axis.set_ylabel("dB against the strongest")
        axis.set_ylim(-80, 5)
        axis.legend(loc="upper right")


def write(found: Measured, folder: Path) -> None:
    """The page and its figures."""
    draw_errors(found.curves, folder / "frame_errors.svg")
    draw_sense(found.sensed, folder / "carrier_sense.svg")
    draw_spectrum(found.shape, folder / "spectrum.svg")
    rows = []
    for curve in found.curves:
        limit = "-" if curve.limit_db is None else f"{curve.limit_db:.1f}"
        loss = "-" if curve.loss_db is None else f"{curve.loss_db:+.1f}"
        bound = f"{found.loss_bound_db[curve.rate]:.1f}" if curve.offsets else ""
        rows.append(f"| {curve.name} | {frame_errors.theory_point_db(curve.rate):.1f} | {limit} | {loss} | {bound} |")
    sensed = [
        f"| {level_db} | {percent(times, carrier_sense.CCA_TIME_US):.1f} | {median_text(times)} |"
        for level_db, times in found.sensed.items()
    ]
    free_rows = [
        f"| {es_n0_db:g} | "
        + " | ".join(
            f"{median_text(found.freed[es_n0_db, end])} | {latest_text(found.freed[es_n0_db, end])}"
            for end in carrier_sense.ENDS_US
        )
        + f" | {carrier_sense.CCA_TIME_US} |"
        for es_n0_db in dict.fromkeys(es_n0_db for es_n0_db, _ in found.freed)
    ]
    kinds = list(dict.fromkeys((dc_db, imbalance) for _, dc_db, imbalance in found.analogue))
    analogue_names = [
        f"DC {dc_db:+g} dB"
        if dc_db is not None
        else "neither"
        if imbalance is None
        else f"I/Q {imbalance[0]:g} dB, {imbalance[1]:g} degrees"
        for dc_db, imbalance in kinds
    ]
    analogue_rows = [
        f"| {RATE_NAMES[rate]} | " + " | ".join(f"{found.analogue[rate, *kind]:.1%}" for kind in kinds) + " |"
        for rate in RATE_NAMES
    ]
    echoes_db = sorted({echo_db for _, echo_db, _ in found.echoes})
    echoes_us = sorted({echo_us for _, _, echo_us in found.echoes})
    echo_rows = [
        f"| {RATE_NAMES[rate]} | {echo_db:g} | "
        + " | ".join(f"{found.echoes[rate, echo_db, echo_us]:.0%}" for echo_us in echoes_us)
        + " |"
        for rate in RATE_NAMES
        for echo_db in echoes_db
    ]
    above_db = sorted({db for _, db in found.ranged})
    range_rows = [
        f"| {RATE_NAMES[rate]} | " + " | ".join(f"{found.ranged[rate, db]:.0%}" for db in above_db) + " |"
        for rate in RATE_NAMES
    ]
    control_db = sorted({db for *_, db in found.by_control})
    control_rows = [
        f"| {RATE_NAMES[rate]} | {f'controlled, {12 * steps} dB' if steps else 'stands'} | "
        + " | ".join(control_cell(found.by_control[rate, steps, db]) for db in control_db)
        + " |"
        for rate, steps in dict.fromkeys((rate, steps) for rate, steps, _ in found.by_control)
    ]
    front_ends = list(dict.fromkeys(name for _, name, _ in found.beside))
    neighbours_db = sorted({db for _, _, db in found.beside})
    beside_rows = [
        f"| {RATE_NAMES[rate]} | {name} | "
        + " | ".join(f"{found.beside[rate, name, db]:.1%}" for db in neighbours_db)
        + " |"
        for rate in RATE_NAMES
        for name in front_ends
    ]
    names = list(dict.fromkeys(name for _, name in found.levels))
    level_rows = [
        f"| {RATE_NAMES[rate]} | " + " | ".join(f"{found.levels[rate, name]:.1%}" for name in names) + " |"
        for rate in RATE_NAMES
    ]
    checked = (
        f"RTL and model agreed symbol by symbol in {found.rtl_agreed} of {found.rtl_compared} frames at the limit."
        if found.rtl_compared
        else ""
    )
    text = f"""# How good the DSSS modem is

Written by `sim/bench/bench_phy.py --document`; `make bench-phy` measures the same. Version {paths.version()["git"]}.

Measured on the bit-true model in C++ (`perhop.modem`), which the [gateware](../../gateware/rtl/phy/README.md) equals
number by number.
{checked} Es is the energy of a symbol of 1 us; noise fills the band of 22 Msps.
Worst offsets: carrier +-{frame_errors.CARRIER_HZ / 1e3:.0f} kHz, clock +-{frame_errors.CLOCK_PPM} ppm, signs drawn.

## Frame errors

{found.frames} frames of {frame_errors.OCTETS} octets a point, long preamble. Theory is ideal differential detection of
every symbol (R. F. Pawula, 1982).

| | theory: 8 % at (dB) | measured (dB) | above theory (dB) | bound (dB) |
|---|---|---|---|---|
{chr(10).join(rows)}

![Frame errors over Es/N0](frame_errors.svg)

## Carrier sense

From a signal's first sample to the lock, at the worst offsets, {found.frames} preambles each:

| Es/N0 (dB) | found within {carrier_sense.CCA_TIME_US} us (%) | median (us) |
|---|---|---|
{chr(10).join(sensed)}

Locks in {found.noise_s:.1f} s of noise: {found.false_alarms}.

![Carrier sense](carrier_sense.svg)

## Free again

From the end of a signal that had no good header to a medium that is free, in us, at the worst offsets;
{found.frames} signals each. They end in the preamble, in the header, or after a header with a wrong bit.

| Es/N0 (dB) | {" | ".join(f"{end}: median | most" for end in carrier_sense.ENDS_US)} | bound |
|{"---|" * (2 + 2 * len(carrier_sense.ENDS_US))}
{chr(10).join(free_rows)}

## Echoes

Frame errors with a second ray behind the first, its phase drawn, at the worst offsets and an Es/N0 of
{found.echo_es_n0_db:.0f} dB of the sum; {found.echo_frames} frames each. There is no equaliser.

| rate | echo (dB) | {" | ".join(f"{1000 * echo_us:.0f} ns" for echo_us in echoes_us)} |
|{"---|" * (2 + len(echoes_us))}
{chr(10).join(echo_rows)}

## Levels

Frame errors at the bound's Es/N0 when the radio's gain is off, so that the signal at the 16-bit converter is weaker or
stronger than 1000 steps (root mean square):

| rate | {" | ".join(names)} |
|{"---|" * (1 + len(names))}
{chr(10).join(level_rows)}

## Dynamic range at one gain

Frame errors of a converter of 12 bits whose gain stands, so that the receiver's noise has two of its steps (root mean
square of I and of Q), by the signal's level above that of the bound's Es/N0; {found.echo_frames} frames each, at the
worst offsets. What is stronger than the converter is cut off, I and Q each by itself: their signs alone are left of a
carrier that turns through the borders between them.

| rate | {" | ".join(f"{db:+g} dB" for db in above_db)} |
|{"---|" * (1 + len(above_db))}
{chr(10).join(range_rows)}

## Dynamic range with gain control

The gateware, with the same converter behind a gain that it controls itself
([`gain_control`](../../gateware/rtl/phy/rx/gain_control.sv)) or that stands: how many frames of {gain_control.OCTETS}
octets were lost, and in brackets how far below its most the gain was. What is said to the front end takes
{gain_control.DELAY_SAMPLES} samples, as an AD936x's pins do.

| rate | gain | {" | ".join(f"{db:+d} dB" for db in control_db)} |
|---|---{"|---" * len(control_db)}|
{chr(10).join(control_rows)}

## DC, and imbalance of I and Q

Frame errors at the bound's Es/N0 with a constant on I and Q of so many decibels against the signal, its phase drawn, or
with I stronger than Q and the two not at right angles. The receiver removes DC; it does nothing about an imbalance.

| rate | {" | ".join(analogue_names)} |
|{"---|" * (1 + len(kinds))}
{chr(10).join(analogue_rows)}

## The next channel

Frame errors beside another 802.11b channel {adjacent.NEIGHBOUR_MHZ:g} MHz away, which sends without a pause and is
stronger by so many decibels; {found.beside_frames} frames each, at the worst offsets, {adjacent.MARGIN_DB:g} dB above
the bound's Es/N0. The standard asks for {adjacent.REJECTION_DB:g} dB at 8 % (16.4.8.4). The converter is an AD9361's,
with its low-pass at the bandwidth that is told (both sides) and its half-band filters; `bare` has neither, so that all
beyond 22 MHz folds back. At 44 Msps the modem's own half-band filter follows, at 22 Msps there is none but the
device's. The neighbour's spectrum is that of our own transmitter.

| rate | front end | {" | ".join(f"{db:+g} dB" for db in neighbours_db)} |
|---|---{"|---" * len(neighbours_db)}|
{chr(10).join(beside_rows)}

## Spectrum

From 11 to 22 MHz beside the carrier the transmitter's samples at 44 Msps are {found.shape.side_margin_db:.0f} dB below
the mask (-30 dBr). Beyond 22 MHz they have no power; the images of a converter there are for the radio's filter.

![Spectrum and mask](spectrum.svg)
"""
    files.write_text(folder / "README.md", text)
