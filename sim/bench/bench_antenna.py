# SPDX-License-Identifier: GPL-2.0-or-later
"""SIFS at the antenna: from the end of a frame on the air to the begin of its response, in microseconds.

Two Verilated radio_tops exchange packets over a channel with a delay between samples, offsets of carrier and clock, and
noise (Es/N0 of 20 dB and more), all of them drawn anew for each packet, as are its length, rate, preamble's profile,
RTS and the pause before it. Their samples are all that is measured: a frame begins half a chip before the middle of its
first chip's pulse and ends half a chip behind the middle of its last one's, as it comes to the antenna that answers. So
from the middle of the last chip of DATA to the middle of the first chip of the response is SIFS and one chip, 91 ns.

Then a fault is planted in a copy of tick_generator (edges of the medium move no tick), and the measurement has to
notice. Writes out/bench-antenna: result.json, histogram.txt, histogram.svg.
"""

import argparse
import json
import math
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS, Frame
from perhop.phy.transmitter import transmitted
from perhop.registers.spec_generated import PROFILES
from perhop.report import result_line
from phy_bench.station import ADDRESSES, ERRORS, SAMPLES_PER_US, TRANSMITTED_RMS, settings

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "out/build/sim/bench/radio_top"
OUT = ROOT / "out/bench-antenna"
SEED = 1
TOLERANCE_US = 0.10
RESPONSE_WITHIN_US = 40
"""What comes later came after DIFS: it is no response."""
LEVEL = 900.0
"""Root mean square of the loudest signal, in steps of the converter."""
BIN_US = 0.01


def way(source: random.Random) -> dict[str, float]:
    """One direction of the channel."""
    level = LEVEL * 10 ** (-source.uniform(0, 20) / 20)
    es_n0_db = source.uniform(20, 35)
    return {
        "delay_samples": 12 + source.random(),
        "drift": source.uniform(-50, 50) * 1e-6,
        "turn": 2 * math.pi * source.uniform(-122e3, 122e3) / (SAMPLES_PER_US * 1e6),
        "gain": level / TRANSMITTED_RMS,
        "noise": level * math.sqrt(22 / 10 ** (es_n0_db / 10) / 2),
    }


def plan(clocks_per_us: int, profile: str, exchanges: int, seed: int) -> dict:
    """What the program is to do."""
    source = random.Random(f"{seed} {clocks_per_us} {profile}")
    rates = (RATE_2MBPS,) if profile == "dsss_short" else (RATE_1MBPS, RATE_2MBPS)
    short = profile == "dsss_short"
    beginnings = [transmitted(Frame(bytes(1), RATE_2MBPS, is_short), 2)[:64].tolist() for is_short in {False, short}]
    listed = []
    for _ in range(exchanges):
        sender, rate = source.randrange(2), source.choice(rates)
        size = source.choice((source.randint(1, 40), source.randint(1, 200)))
        listed.append(
            {
                "sender": sender,
                "ra": ADDRESSES[1 - sender],
                "rate": rate,
                "rts": source.random() < 0.4,
                "bytes": size,
                "paths": [way(source), way(source)],
                "gap_us": source.uniform(5, 120),
                "limit_us": 200_000,
            }
        )
    return {
        "clocks_per_us": clocks_per_us,
        "samples_per_us": SAMPLES_PER_US,
        "beginnings": beginnings,
        "writes": [settings(clocks_per_us, profile, address, seed + i) for i, address in enumerate(ADDRESSES)],
        "errors": ERRORS,
        "seed": seed,
        "response_within_us": RESPONSE_WITHIN_US,
        "exchanges": listed,
    }


@dataclass(frozen=True)
class Measured:
    """The responses of one run."""

    sifs_us: np.ndarray
    exchanges: int
    failed: int
    expected: int
    """Responses that there are if no frame is lost."""

    @classmethod
    def run(cls, program: str, clocks_per_us: int, profile: str, exchanges: int, seed: int) -> "Measured":
        asked = plan(clocks_per_us, profile, exchanges, seed)
        done = subprocess.run([PROGRAMS / program], input=json.dumps(asked), capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{program} ended with {done.returncode}: {done.stderr.strip()}")
        found = json.loads(done.stdout)
        expected = sum(3 if each["rts"] else 1 for each in asked["exchanges"])
        return cls(np.array(found["sifs_us"]), exchanges, found["failed"], expected)

    def summary(self, sifs_us: int) -> dict:
        """In numbers; `exact`: all within the tolerance, and hardly any exchange without its responses."""
        off = self.sifs_us - sifs_us
        return {
            "exchanges": self.exchanges,
            "failed": self.failed,
            "n": len(self.sifs_us),
            "expected_n": self.expected,
            "mean_us": round(float(self.sifs_us.mean()), 4),
            "min_us": round(float(self.sifs_us.min()), 4),
            "max_us": round(float(self.sifs_us.max()), 4),
            "sigma_us": round(float(self.sifs_us.std()), 4),
            "within_tolerance": int(np.sum(np.abs(off) <= TOLERANCE_US)),
            "exact": bool(np.all(np.abs(off) <= TOLERANCE_US)) and len(self.sifs_us) >= 0.95 * self.expected,
        }


def histogram(measured: Measured) -> str:
    """A line a bin of 10 ns."""
    bins = np.round(measured.sifs_us / BIN_US).astype(int)
    lines = []
    for value in range(bins.min(), bins.max() + 1):
        count = int(np.sum(bins == value))
        lines.append(f"  {value * BIN_US:7.2f} us {count:6} {'#' * -(-60 * count // max(1, np.bincount(bins).max()))}")
    return "\n".join(lines)


def draw(results: dict[str, Measured], path: Path) -> None:
    """A histogram a run."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot
    from perhop.report.figures import write_figure

    figure, axes = pyplot.subplots(
        len(results), 1, figsize=(8, 2.2 * len(results)), squeeze=False, layout="constrained"
    )
    for axis, (name, measured) in zip(axes[:, 0], results.items(), strict=True):
        axis.hist(measured.sifs_us, bins=60, color="#2f6f9f")
        axis.set_title(f"{name}: {len(measured.sifs_us)} responses", fontsize=9)
    figure.supxlabel("us from the end of a frame at the antenna to the begin of its response", fontsize=9)
    write_figure(figure, path)


def main() -> int:
    """Return 0 when every response is within the tolerance and the planted fault is noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exchanges", type=int, default=1000, help="of the run at 44 MHz; half of it of each profile")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    if arguments.exchanges < 2:
        parser.error(f"--exchanges: {arguments.exchanges} are too few; use 2 or more")
    OUT.mkdir(parents=True, exist_ok=True)
    half, tenth = arguments.exchanges // 2, max(2, arguments.exchanges // 10)
    runs = {
        "44 MHz, dsss_long": ("perhop-bench-antenna", 44, "dsss_long", half),
        "44 MHz, dsss_short": ("perhop-bench-antenna", 44, "dsss_short", arguments.exchanges - half),
        "64 MHz, dsss_short": ("perhop-bench-antenna-64", 64, "dsss_short", tenth),
        "planted fault": ("perhop-bench-antenna-faulty", 44, "dsss_short", tenth),
    }
    print(f"seed {arguments.seed}", file=sys.stderr)
    results, told = {}, {}
    text = []
    for name, (program, clocks_per_us, profile, exchanges) in runs.items():
        results[name] = Measured.run(program, clocks_per_us, profile, exchanges, arguments.seed)
        told[name] = results[name].summary(PROFILES[profile].sifs_us)
        text += [f"{name}: {told[name]}", histogram(results[name])]
        print("\n".join(text[-2:]), flush=True)
    (OUT / "histogram.txt").write_text("\n".join(text) + "\n")
    draw(results, OUT / "histogram.svg")
    faulty = told.pop("planted fault")
    exact = all(each["exact"] for each in told.values())
    result_line.print_result(
        "bench-antenna",
        {
            "seed": arguments.seed,
            "sifs_us": 10,
            "tolerance_us": TOLERANCE_US,
            "runs": told,
            "exact": exact,
            "planted_fault_detected": not faulty["exact"],
            "planted_fault": faulty,
            "histogram": "out/bench-antenna/histogram.svg",
        },
    )
    return 0 if exact and not faulty["exact"] else 1


if __name__ == "__main__":
    sys.exit(main())
