# SPDX-License-Identifier: GPL-2.0-or-later
"""How good the DSSS modem is: frame errors beside theory, carrier sense, echoes, levels, the transmitter's spectrum.

Measured on the model in C++ (perhop.modem), which equals perhop.phy and the gateware number by number; to show that it
does so here, too, RTL and model get the same frames of 1024 octets at the limit, and are compared symbol by symbol
(--no-rtl leaves that out). SIFS at the antenna is what bench-antenna has measured, which `make bench-phy` does first.

Bounds, exit status 1 where one does not hold: at the worst offsets of carrier and clock the Es/N0 for 8 % frame errors
is at most 1.0 dB (1 Mb/s) and 1.5 dB (2 Mb/s) above theory's; from 10 dB on every signal is found within 15 us, and
noise never is one; 15 us after each signal's end that had no good header the medium is free, from 10 to 50 dB; DC of up
to 20 dB above the signal loses no frame in a hundred more; beside a channel 25 MHz away and 35 dB stronger at most 8 %
of the frames are lost behind an AD9361's filters, at 44 and 22 Msps, and with gain control 20 to 100 dB above the first
bound's level; the spectrum is below the mask; the RTL does what
the model does.

Every point is kept in out/bench-phy/points under the modem's sources that it was measured with, so that a run that is
interrupted goes on where it was. --document also writes docs/phy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from perhop import files
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS
from perhop.report.result_line import print_result
from phy_bench import adjacent, carrier_sense, document, frame_errors, gain_control, spectrum
from phy_bench.document import Curve, Measured, percent
from phy_bench.frame_errors import PER_LIMIT, RATE_NAMES, Point

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out/bench-phy"
ANTENNA = ROOT / "out/bench-antenna/result.json"
DOCUMENT = ROOT / "docs/phy"
MODELS = [ROOT / "host/python/perhop/phy", ROOT / "host/phy", ROOT / "host/bindings"]
RTL_TESTS = "tests/gateware/dsss_receiver"
RTL_NAME = "frames_at_the_limit"

LOSS_DB = {RATE_1MBPS: 1.0, RATE_2MBPS: 1.5}
"""What the receiver may lose against theory at the worst offsets: its filter, its timing, six bits."""
OFFSETS_DB = (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0)
SENSED_FROM_DB = 10.0
SENSE_DB = (0, 2, 4, 5, 6, 7, 8, 10, 12, 15, 20)
ECHO_DB = (-6.0, -3.0)
ECHO_US = (0.045, 0.091, 0.182, 0.364, 0.727)
ECHO_ES_N0_DB = 20.0
FREE_DB = (10, 12, 15, 20, 25, 30, 40, 50)
DC_DB = (None, 0.0, 14.0, 20.0)
DC_LOSS = 0.01
IMBALANCES = ((0.5, 3.0), (1.0, 5.0), (2.0, 10.0))
NEIGHBOUR_DB = (25.0, adjacent.REJECTION_DB, 45.0)
FRONT_ENDS = (
    adjacent.FrontEnd(44, None),
    adjacent.FrontEnd(44, 40.0),
    adjacent.FrontEnd(44, 20.0),
    adjacent.FrontEnd(22, 20.0),
)
RANGE_STEP = 16
RANGE_NOISE = 2 * RANGE_STEP
"""Of the receiver's noise, where the gain stands: two steps of a converter of 12 bits."""
RANGE_DB = (0.0, 20.0, 40.0, 50.0, 60.0, 70.0, 80.0)
CONTROLLED_DB = (20.0, 60.0, 80.0, 100.0)
CONTROL_RANGE_STEPS = 5
CONTROL_FRAMES = 20
LEVELS = {"-30 dB": 1000 * 10**-1.5, "-10 dB": 1000 * 10**-0.5, "nominal": 1000.0, "+10 dB": 1000 * 10**0.5}


def identity(work: object) -> str:
    """Of a piece of work and of the sources that do it."""
    folders = [*MODELS, ROOT / "sim/bench/phy_bench"]
    every = (path for folder in folders for path in folder.rglob("*.*"))
    sources = sorted(path for path in every if path.suffix in (".py", ".cpp", ".hpp"))
    parts = [repr(work).encode(), *(path.read_bytes() for path in sources)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:20]


def do(work: Any) -> Any:
    """One piece of work, as plain values."""
    if isinstance(work, Point):
        return asdict(frame_errors.count(work))
    if isinstance(work, adjacent.Beside):
        return asdict(adjacent.count(work))
    if isinstance(work, carrier_sense.Detection):
        return carrier_sense.detect(work)
    if isinstance(work, carrier_sense.Release):
        return carrier_sense.free_again(work)
    return carrier_sense.false_alarms(work)


def controlled() -> list[tuple[gain_control.Heard, dict[str, int]]]:
    """What the gateware hears by level, with a gain that stands and with one that it controls; kept as the rest is."""
    points = [
        gain_control.Heard(
            rate, range_steps, frame_errors.theory_point_db(rate) + LOSS_DB[rate] + above_db, CONTROL_FRAMES
        )
        for rate in RATE_NAMES
        for range_steps in (0, CONTROL_RANGE_STEPS)
        for above_db in CONTROLLED_DB
    ]
    program = hashlib.sha256((ROOT / gain_control.PROGRAM).read_bytes()).hexdigest()
    kept = OUT / "points" / f"{identity((points, program))}.json"
    if not kept.exists():
        files.write_text(kept, json.dumps(gain_control.count(points, ROOT)))
    return list(zip(points, json.loads(kept.read_text()), strict=True))


class Bench:
    """Does pieces of work side by side, and each once."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._done = 0

    def all(self, works: Sequence[Any], show: Callable[[str], None]) -> list[Any]:
        kept = [OUT / "points" / f"{identity(work)}.json" for work in works]
        missing = [number for number, path in enumerate(kept) if not path.exists()]
        show(f"{len(works)} measurements, {len(works) - len(missing)} of them from an earlier run")
        with ProcessPoolExecutor(self._jobs) as pool:
            pending = {number: pool.submit(do, works[number]) for number in missing}
            for count, (number, future) in enumerate(pending.items(), 1):
                files.write_text(kept[number], json.dumps(future.result()))
                if count % 10 == 0 or count == len(pending):
                    show(f"  {count} of {len(pending)}")
        return [json.loads(path.read_text()) for path in kept]


def rtl_check() -> tuple[int, int]:
    """Frames at the limit in which RTL and model agree, and which were compared."""
    junit = OUT / "rtl.xml"
    junit.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", RTL_TESTS, "-m", "long", "-k", RTL_NAME, f"--junitxml={junit}"]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, env=os.environ, check=False)
    cases = list(ET.parse(junit).getroot().iter("testcase")) if junit.exists() else []
    good = [case for case in cases if case.find("failure") is None and case.find("error") is None]
    return len(good), len(cases)


def sifs_us() -> dict[str, float]:
    """Mean, least and most of the last bench-antenna at 44 MHz, over both preambles.

    Raises SystemExit when there was none.
    """
    if not ANTENNA.exists():
        raise SystemExit(
            f"bench-phy: {ANTENNA.relative_to(ROOT)} is missing; run `make bench-antenna`, or give --no-rtl"
        )
    runs = [run for name, run in json.loads(ANTENNA.read_text())["runs"].items() if name.startswith("44 MHz")]
    return {
        "mean": round(sum(run["mean_us"] * run["n"] for run in runs) / sum(run["n"] for run in runs), 4),
        "min": min(run["min_us"] for run in runs),
        "max": max(run["max_us"] for run in runs),
    }


def main() -> int:
    """Return 0 when every bound holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=300, help="a point of the curves")
    parser.add_argument("--noise-s", type=float, default=2.0, help="seconds of noise without a signal")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--no-rtl", action="store_true", help="do not compare with the gateware")
    parser.add_argument("--document", action="store_true", help="also write docs/phy")
    options = parser.parse_args()
    # Before the long work: it needs a file that may be missing.
    sifs = None if options.no_rtl else sifs_us()
    start_s = time.monotonic()
    bench = Bench(options.jobs)

    def show(line: str) -> None:
        print(line, flush=True)

    show("frame errors")
    kinds = [(rate, offsets) for rate in RATE_NAMES for offsets in (True, False)]
    works = {
        kind: [
            Point(kind[0], frame_errors.theory_point_db(kind[0]) + away, options.frames, kind[1]) for away in OFFSETS_DB
        ]
        for kind in kinds
    }
    counted = iter(bench.all([work for each in works.values() for work in each], show))
    curves = []
    for (rate, offsets), points in works.items():
        rows = [(point.es_n0_db, found["per"], found["ber"]) for point, found in zip(points, counted, strict=False)]
        limit_db = frame_errors.limit_db([(es_n0_db, per) for es_n0_db, per, _ in rows], options.frames)
        curves.append(Curve(rate, offsets, rows, limit_db))

    show("carrier sense")
    trials = [carrier_sense.Detection(float(level_db), options.frames) for level_db in SENSE_DB]
    sensed = dict(zip(SENSE_DB, bench.all(trials, show), strict=True))
    releases = [
        carrier_sense.Release(float(es), end, options.frames) for es in FREE_DB for end in carrier_sense.ENDS_US
    ]
    freed = {
        (release.es_n0_db, release.end): times
        for release, times in zip(releases, bench.all(releases, show), strict=True)
    }
    noises = [
        carrier_sense.Noise(seed) for seed in range(max(1, round(options.noise_s / carrier_sense.Noise(0).seconds)))
    ]
    alarms, noise_s = sum(bench.all(noises, show)), sum(noise.seconds for noise in noises)

    show("echoes, levels, DC and imbalance")
    fewer = max(options.frames // 3, 1)
    echo_works = {
        (rate, echo_db, echo_us): Point(rate, ECHO_ES_N0_DB, fewer, True, echo_us, echo_db)
        for rate in RATE_NAMES
        for echo_db in ECHO_DB
        for echo_us in ECHO_US
    }
    echoes = dict(zip(echo_works, bench.all(list(echo_works.values()), show), strict=True))
    level_works = {
        (rate, name): Point(rate, frame_errors.theory_point_db(rate) + LOSS_DB[rate], options.frames, True, level=level)
        for rate in RATE_NAMES
        for name, level in LEVELS.items()
    }
    levels = dict(zip(level_works, bench.all(list(level_works.values()), show), strict=True))

    range_works = {
        (rate, above_db): Point(
            rate,
            es_n0_db := frame_errors.theory_point_db(rate) + LOSS_DB[rate] + above_db,
            fewer,
            level=frame_errors.level_over(RANGE_NOISE, es_n0_db),
            step=RANGE_STEP,
        )
        for rate in RATE_NAMES
        for above_db in RANGE_DB
    }
    ranged = dict(zip(range_works, bench.all(list(range_works.values()), show), strict=True))

    by_control = {}
    if not options.no_rtl:
        show("levels with gain control, on the gateware")
        for point, heard in controlled():
            above_db = point.es_n0_db - frame_errors.theory_point_db(point.rate) - LOSS_DB[point.rate]
            by_control[point.rate, point.range_steps, round(above_db)] = heard

    analogue_works = {
        (rate, dc_db, imbalance): Point(
            rate,
            frame_errors.theory_point_db(rate) + LOSS_DB[rate],
            options.frames,
            dc_db=dc_db,
            imbalance=imbalance,
        )
        for rate in RATE_NAMES
        for dc_db, imbalance in [*((dc_db, None) for dc_db in DC_DB), *((None, each) for each in IMBALANCES)]
    }
    analogue = dict(zip(analogue_works, bench.all(list(analogue_works.values()), show), strict=True))

    show("the next channel")
    beside_frames = max(options.frames // 10, 1)
    beside_works = {
        (rate, front_end.name, db): adjacent.Beside(rate, front_end, db, beside_frames, LOSS_DB[rate])
        for rate in RATE_NAMES
        for front_end in FRONT_ENDS
        for db in NEIGHBOUR_DB
    }
    beside = dict(zip(beside_works, bench.all(list(beside_works.values()), show), strict=True))

    shape = spectrum.of_transmitter(4)
    agreed, compared = (0, 0) if options.no_rtl else rtl_check()

    wrong = []
    for curve in curves:
        theory_db = frame_errors.theory_point_db(curve.rate)
        limit = "never" if curve.limit_db is None else f"{curve.limit_db:.2f} dB ({curve.loss_db:+.2f})"
        show(f"{curve.name}: {PER_LIMIT:.0%} frame errors at {limit}; theory {theory_db:.2f} dB")
        for es_n0_db, per, ber in curve.points:
            theory = frame_errors.theory_per(curve.rate, es_n0_db)
            show(f"  Es/N0 {es_n0_db:5.1f} dB  frame errors {per:6.3f} (theory {theory:6.3f})  bit errors {ber:.1e}")
        if curve.offsets and (curve.loss_db is None or curve.loss_db > LOSS_DB[curve.rate]):
            wrong.append(f"{curve.name}: {limit}, the bound is theory + {LOSS_DB[curve.rate]} dB")
    for level_db, times in sensed.items():
        share = percent(times, carrier_sense.CCA_TIME_US)
        show(f"a signal of {level_db:2} dB is found within 15 us: {share:5.1f} %")
        if level_db >= SENSED_FROM_DB and share < 100:
            wrong.append(f"{100 - share:.1f} % of the signals of {level_db} dB are not found within 15 us")
    for (es_n0_db, end), times in freed.items():
        still = times.count(None)
        latest_us = max((time_us for time_us in times if time_us is not None), default=0.0)
        show(f"free after a signal of {es_n0_db:g} dB that ends in {end}: at most {latest_us:.1f} us, never {still}")
        if still or latest_us > carrier_sense.CCA_TIME_US:
            wrong.append(
                f"after a signal of {es_n0_db:g} dB that ends in {end} the medium is free {latest_us:.1f} us later"
            )
    for (rate, dc_db, imbalance), found in analogue.items():
        show(f"{RATE_NAMES[rate]}, DC {dc_db} dB, imbalance {imbalance}: frame errors {found['per']:.3f}")
        if dc_db is not None and found["per"] > analogue[rate, None, None]["per"] + DC_LOSS:
            wrong.append(f"{RATE_NAMES[rate]}: DC of {dc_db:g} dB loses {found['per']:.1%} of the frames")
    for (rate, above_db), found in ranged.items():
        show(
            f"{RATE_NAMES[rate]}, one gain of 12 bits, {above_db:g} dB above the bound: frame errors {found['per']:.3f}"
        )
    for (rate, range_steps, above_db), heard in by_control.items():
        lost = 1 - heard["delivered"] / heard["frames"]
        show(
            f"{RATE_NAMES[rate]}, gain control of {range_steps} steps, {above_db} dB above the bound: "
            f"frame errors {lost:.3f}, gain at most {heard['most_below_db']} dB below its most"
        )
        if range_steps and lost > PER_LIMIT:
            wrong.append(f"{RATE_NAMES[rate]}: {lost:.0%} lost {above_db} dB above the bound, with gain control")
    for (rate, front_end, db), found in beside.items():
        show(f"{RATE_NAMES[rate]}, {front_end}, the next channel {db:g} dB stronger: frame errors {found['per']:.3f}")
        bare = beside_works[rate, front_end, db].front_end.bandwidth_mhz is None
        if not bare and db <= adjacent.REJECTION_DB and found["per"] > PER_LIMIT:
            wrong.append(
                f"{RATE_NAMES[rate]}, {front_end}: {found['per']:.1%} lost beside a channel {db:g} dB stronger"
            )
    show(f"locks in {noise_s:.1f} s of noise: {alarms}")
    if alarms:
        wrong.append(f"{alarms} locks in {noise_s:.1f} s of noise; the bound is none")
    show(f"the spectrum is {shape.side_margin_db:.1f} dB below the mask from 11 to 22 MHz")
    if shape.side_margin_db is None or shape.side_margin_db < 0:
        wrong.append("the spectrum is above the mask")
    if not options.no_rtl:
        show(f"RTL and model agree symbol by symbol in {agreed} of {compared} frames at the limit")
        if agreed != compared or not compared:
            wrong.append(f"the RTL does what the model does in {agreed} of {compared} frames only")
    for line in wrong:
        show(f"bench-phy: {line}")

    if options.document:
        document.write(
            Measured(
                frames=options.frames,
                curves=curves,
                loss_bound_db=LOSS_DB,
                sensed=sensed,
                freed=freed,
                false_alarms=alarms,
                noise_s=noise_s,
                echo_es_n0_db=ECHO_ES_N0_DB,
                echoes={key: each["per"] for key, each in echoes.items()},
                echo_frames=fewer,
                levels={key: each["per"] for key, each in levels.items()},
                analogue={key: each["per"] for key, each in analogue.items()},
                ranged={key: each["per"] for key, each in ranged.items()},
                by_control=by_control,
                beside={key: each["per"] for key, each in beside.items()},
                beside_frames=beside_frames,
                shape=shape,
                rtl_agreed=agreed,
                rtl_compared=compared,
            ),
            DOCUMENT,
        )
    print_result(
        "bench-phy",
        {
            "frames": options.frames,
            "per": {
                str(curve.rate + 1): {
                    f"{'worst' if each.offsets else 'clean'}_db": None
                    if each.limit_db is None
                    else round(each.limit_db, 2)
                    for each in curves
                    if each.rate == curve.rate
                }
                for curve in curves
            },
            "cs_15us_at_10db": percent(sensed[10], carrier_sense.CCA_TIME_US) / 100,
            "false_alarms_per_s": round(alarms / noise_s, 2),
            "sifs_us": sifs,
            "curves": {
                curve.name: {
                    "theory_db": round(frame_errors.theory_point_db(curve.rate), 2),
                    "limit_db": None if curve.limit_db is None else round(curve.limit_db, 2),
                    "loss_db": None if curve.loss_db is None else round(curve.loss_db, 2),
                    "points": [[round(es_n0_db, 2), per, ber] for es_n0_db, per, ber in curve.points],
                }
                for curve in curves
            },
            "found_in_15_us_percent": {str(level_db): percent(times, 15) for level_db, times in sensed.items()},
            "free_us": {
                f"{es_n0_db:g} dB {end}": {
                    "median": round(
                        float(np.median([math.inf if time_us is None else time_us for time_us in times])), 2
                    ),
                    "max": None if None in times else round(max(times), 2),
                }
                for (es_n0_db, end), times in freed.items()
            },
            "dc_per": {
                f"{RATE_NAMES[rate]} {'none' if dc_db is None else f'{dc_db:g} dB'}": found["per"]
                for (rate, dc_db, imbalance), found in analogue.items()
                if imbalance is None
            },
            "iq_per": {
                f"{RATE_NAMES[rate]} {imbalance[0]:g} dB {imbalance[1]:g} deg": found["per"]
                for (rate, _, imbalance), found in analogue.items()
                if imbalance is not None
            },
            "false_alarms": {"locks": alarms, "seconds": round(noise_s, 1)},
            "echo_per": {f"{RATE_NAMES[r]} {db:g} dB {us:g} us": found["per"] for (r, db, us), found in echoes.items()},
            "level_per": {f"{RATE_NAMES[rate]} {name}": found["per"] for (rate, name), found in levels.items()},
            "range_per": {f"{RATE_NAMES[rate]} {db:+g} dB": found["per"] for (rate, db), found in ranged.items()},
            "adjacent_per": {
                f"{RATE_NAMES[r]} {name} {db:g} dB": found["per"] for (r, name, db), found in beside.items()
            },
            "mask_margin_db": round(shape.side_margin_db or 0.0, 1),
            "rtl_frames": {"agree": agreed, "compared": compared},
            "ok": not wrong,
            "seconds": round(time.monotonic() - start_s, 1),
        },
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
