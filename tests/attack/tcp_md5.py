# SPDX-License-Identifier: GPL-2.0-or-later
"""A TCP connection with MD5 signatures (RFC 2385) under every policy: all of its content arrives as it was.

Whoever changes a window, an option or a number in a signed segment makes the other end throw it away.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench import Bench, NotSo, Outcome

POLICIES = (
    "none",
    "hop",
    "delay",
    "delay floor",
    "pipeline",
    "fixed 4",
    "delay + dca",
    "fixed 6 + dca 3",
    "fixed 6 + dca by airtime",
    "fixed 6 + daa",
    "fixed 4 + paced",
    "fixed 4 + paced path",
    "fixed 4 + tcp-ap",
    "combined",
)
PROGRAM = Path(__file__).with_name("signed_transfer.py")
KILOBYTES = 60
# At the least tenth of what the chain carries; a connection that is stuck never ends.
MOST_S = 12


def run(bench: Bench, outcome: Outcome) -> None:
    bench.up(hops=2)
    if bench.run(0, sys.executable, str(PROGRAM), "possible").returncode != 0:
        raise NotSo("NOT CHECKED: this kernel has no TCP_MD5SIG (CONFIG_TCP_MD5SIG)")
    intact = 0
    for number, policy in enumerate(POLICIES):
        done = bench.perhop("live", "policy", policy, "--name", "attack")
        if done.returncode != 0:
            raise NotSo(f"live policy {policy!r}: {done.stderr.strip()}")
        family = 6 if number % 2 else 4
        problem = _transfer(bench, family, 5400 + number)
        outcome.check(problem is None, f"{policy}: {problem}")
        intact += problem is None
    outcome.figures |= {"policies": len(POLICIES), "intact": intact}


def _transfer(bench: Bench, family: int, port: int) -> str | None:
    """What is wrong with it."""
    source, sink = bench.address(0, family), bench.address(2, family)
    words = [sys.executable, str(PROGRAM)]
    more = [source, sink, str(port), str(KILOBYTES)]
    receiving = bench.start(bench.inside(2, *words, "receive", *more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert receiving.stdout is not None
    if "listening" not in receiving.stdout.readline():
        return "the receiver does not listen"
    sending = bench.start(bench.inside(0, *words, "send", *more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        sent, _ = sending.communicate(timeout=MOST_S)
        received, _ = receiving.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        sending.kill()
        receiving.kill()
        return f"not over after {MOST_S} s"
    if sending.returncode or receiving.returncode:
        return (sent + received).strip().splitlines()[-1][:200]
    return None if sent == received else "what arrived is not what was sent"
