# SPDX-License-Identifier: GPL-2.0-or-later
"""Frame and bit errors of the DSSS modem's model, which equals the gateware, beside theory.

Frames of 1024 octets at +-122 kHz and +-50 ppm, whose signs and whose delay are drawn. For each rate a curve around the
point where the theory of differential detection says 8 % frame errors. Exits with 1 when LOSS_DB above that point
more are lost.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from perhop.phy import transmitter
from perhop.phy.channel import received
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS, Frame
from perhop.phy.receiver import Receiver
from perhop.result_line import print_result

OCTETS = 1024
PER_LIMIT = 0.08
LOSS_DB = 1.5
"""What the receiver may lose against theory: its filter, its timing, six bits."""

CARRIER_HZ, CLOCK_PPM = 122e3, 50
RATE_NAMES = {RATE_1MBPS: "1 Mb/s", RATE_2MBPS: "2 Mb/s"}


def symbol_errors(rate: int, es_n0_db: float) -> float:
    """Probability of a wrong symbol with differential detection (R. F. Pawula, 1982), 2 or 4 phases."""
    ratio = 10 ** (es_n0_db / 10)
    phases = 2 << rate
    angle = np.linspace(-np.pi / 2, np.pi / 2, 20001)
    part = 1 - np.cos(np.pi / phases) * np.cos(angle)
    return float(np.sin(np.pi / phases) / (2 * np.pi) * np.trapezoid(np.exp(-ratio * part) / part, angle))


def theory_per(rate: int, es_n0_db: float) -> float:
    """Probability that any symbol of a frame is wrong."""
    return 1 - (1 - symbol_errors(rate, es_n0_db)) ** (8 * OCTETS >> rate)


def theory_point_db(rate: int) -> float:
    """Es/N0 at which theory says PER_LIMIT."""
    low_db, high_db = 0.0, 30.0
    for _ in range(40):
        middle_db = (low_db + high_db) / 2
        low_db, high_db = (middle_db, high_db) if theory_per(rate, middle_db) > PER_LIMIT else (low_db, middle_db)
    return high_db


def measured(rate: int, es_n0_db: float, frames: int) -> tuple[float, float]:
    """Frame errors, and bit errors in the frames whose header was good."""
    lost = wrong_bits = bits = 0
    for seed in range(frames):
        random = np.random.default_rng([seed, rate])
        psdu = random.bytes(OCTETS)
        wave = transmitter.transmitted(Frame(psdu, rate), 4) @ np.array([1, 1j])
        samples = received(
            wave,
            4,
            es_n0_db=es_n0_db,
            random=random,
            carrier_hz=CARRIER_HZ * random.choice((-1, 1)),
            clock_ppm=CLOCK_PPM * random.choice((-1, 1)),
            delay_samples=random.uniform(),
        )
        heard = [reception.psdu for reception in Receiver().run(samples) if len(reception.psdu) == OCTETS]
        lost += psdu not in heard
        for each in heard[:1]:
            difference = np.frombuffer(each, np.uint8) ^ np.frombuffer(psdu, np.uint8)
            wrong_bits += int(np.unpackbits(difference).sum())
            bits += 8 * OCTETS
    return lost / frames, wrong_bits / bits if bits else 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=200, help="a point")
    parser.add_argument(
        "--offsets-db", type=float, nargs="+", default=[-1, 0, 0.5, 1, LOSS_DB, 2], help="from theory's"
    )
    options = parser.parse_args()
    start_s = time.monotonic()
    curves, wrong = {}, []
    for rate, name in RATE_NAMES.items():
        point_db = theory_point_db(rate)
        print(f"{name}: theory has {PER_LIMIT:.0%} frame errors at {point_db:.1f} dB")
        curves[name] = {"theory_db": round(point_db, 2), "points": []}
        for offset_db in options.offsets_db:
            es_n0_db = point_db + offset_db
            per, ber = measured(rate, es_n0_db, options.frames)
            theory = theory_per(rate, es_n0_db)
            print(
                f"  Es/N0 {es_n0_db:5.1f} dB  frame errors {per:6.3f} (theory {theory:6.3f})  bit errors {ber:.2e}",
                flush=True,
            )
            row = {"es_n0_db": round(es_n0_db, 2), "per": per, "theory_per": round(theory, 5), "ber": ber}
            curves[name]["points"].append(row)
            if offset_db == LOSS_DB and per > PER_LIMIT:
                wrong.append(
                    f"{name}: {per:.1%} frame errors {LOSS_DB} dB above theory's point, the bound is {PER_LIMIT:.0%}"
                )
    for line in wrong:
        print(f"bench-phy: {line}")
    result = {"target": "bench-phy", "frames": options.frames, "curves": curves, "ok": not wrong}
    result["seconds"] = round(time.monotonic() - start_s, 1)
    print_result("bench-phy", result)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
