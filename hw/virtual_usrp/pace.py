# SPDX-License-Identifier: GPL-2.0-or-later
"""How many times slower than radios the gateware of several devices runs: what a machine keeps, and what to state."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

from perhop.errors import PerhopError

MARGIN = 1.3
"""What is stated leaves this much for the machine's other work."""
CORE_OF_HOST = 1 / 8
"""That the host of each device takes while it waits: a thread of UHD 4.3 looks for answers 4,000 times a second."""
STEP = 50
MOST = 600
"""That inventories take."""
BEHIND_TOLD_S = 0.05
"""Of the air's time: what is behind for a while is made up for."""
MEASURED_WORDS = 4


def to_state(kept: float, devices: int) -> int:
    """The slow-down to state where a machine that does nothing else keeps `kept` with so many devices.

    Raises PerhopError where that is more than can be stated.
    """
    stated = STEP * math.ceil(MARGIN * (1 + devices * CORE_OF_HOST) * kept / STEP)
    if stated > MOST:
        raise PerhopError(
            f"so many devices run {kept:.0f} times slower than radios here, and at most {MOST} can be stated",
            "take fewer, or a machine that is faster or has less other work",
        )
    return stated


def kept(program: Path, devices: int) -> float:
    """The slow-down that this machine keeps now, with so many devices that hear nothing; takes some seconds.

    Raises PerhopError where the program does not run.
    """
    try:
        with subprocess.Popen(
            [program, str(devices), "0", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as running:
            assert running.stdout
            told = (line.split() for line in running.stdout if line.startswith("t "))
            words = [next(told, None) for _ in range(MEASURED_WORDS)]
            running.terminate()
    except OSError as error:
        raise PerhopError(f"--shell {program}: {error.strerror}", "`make virtual-usrp` builds it") from error
    first, last = words[0], words[-1]
    if first is None or last is None:
        raise PerhopError(f"--shell {program} ends at once", f"see what `{program} {devices} 0 1` says")
    # The first second has the reset, too.
    return (float(last[3]) - float(first[3])) / (float(last[2]) - float(first[2]))


class PaceWatch:
    """Tells once that devices do not keep the pace that was stated; 0: none was."""

    def __init__(self, slow_down: float) -> None:
        self._slow_down = slow_down
        self._told = slow_down == 0

    def word(self, air_s: float, seconds: float) -> str | None:
        """So much of the air's time has passed in so many seconds; the warning, where there is one."""
        if self._told or seconds / self._slow_down - air_s < BEHIND_TOLD_S:
            return None
        self._told = True
        behind_ms = 1e3 * (seconds / self._slow_down - air_s)
        return (
            f"the radios are {behind_ms:.0f} ms of their own time behind the stated pace of 1/{self._slow_down:g}: "
            "for them the host's programs are too fast\n"
            "  remedy: state a greater --slow-down here and in the inventory; --pace measures which"
        )
