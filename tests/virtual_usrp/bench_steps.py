# SPDX-License-Identifier: GPL-2.0-or-later
"""The bench guide's steps, run as a person at the bench runs them, on virtual devices."""

from __future__ import annotations

import subprocess

from .devices import BENCH_PYTHON, BRINGUP, plain_environment

DELAYS_22, DELAYS_44 = (67, 30), (52, 50)
TX_DELAY_CLOCKS, RX_DELAY_CLOCKS = DELAYS_22
DELAYS = ["--tx-delay-clocks", TX_DELAY_CLOCKS, "--rx-delay-clocks", RX_DELAY_CLOCKS]
# The guide's levels. 20 frames and their pauses take a fortieth of a second, 45 exchanges (the guide's packets a
# second, three responses each) less than what is recorded.
ON_AIR = ["--frequency", "2.412e9", "--tx-gain", "40"]
SHORT = ["--seconds", "0.15", "--slow-down", "100"]
LONGEST_STEP_S = 900


def step_command(step: str, *options: object) -> list[str]:
    return list(map(str, [BENCH_PYTHON, BRINGUP, step, *options]))


def done_step(step: str, *options: object) -> subprocess.CompletedProcess[str]:
    """A step of the guide, as a person at the bench runs it."""
    return subprocess.run(
        step_command(step, *options), capture_output=True, text=True, env=plain_environment(), timeout=LONGEST_STEP_S
    )
