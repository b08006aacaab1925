# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong with devices while they run, as it is asked for: lines on the input of the command (--troubles).

lose NUMBER            the next packet of each of that device's streams to its host does not arrive
hold NUMBER            nothing of these streams arrives or is lost: it waits, in the FPGA as well
release NUMBER         and goes on
spoil NUMBER FAULT     the front end is another than it was told: reference, lo, clock, ...; pulse: none comes any more
mend NUMBER FAULT      and is as it was told
"""

from __future__ import annotations

import asyncio
import sys
from typing import Protocol

from perhop.errors import PerhopError

from .mpm import FAULTS

EXAMPLE = "lose 0, hold 0, release 0, spoil 0 reference, or mend 0 reference"


class Troubled(Protocol):
    """A device that they happen to."""

    def lose_packet(self) -> None: ...

    def hold_streams(self, held: bool) -> None: ...

    def spoil(self, fault: str, spoilt: bool) -> None: ...


def obey(line: str, devices: list[Troubled]) -> None:
    """Raises PerhopError for what there is not."""
    words = line.split()
    if not words:
        return
    what, number, fault = words[0], words[1:2], words[2:]
    if not number or not number[0].isdigit() or int(number[0]) >= len(devices):
        raise PerhopError(f"--troubles: '{line}' names no device", f"there are 0 to {len(devices) - 1}: {EXAMPLE}")
    device = devices[int(number[0])]
    if what == "lose" and not fault:
        device.lose_packet()
    elif what in ("hold", "release") and not fault:
        device.hold_streams(what == "hold")
    elif what in ("spoil", "mend") and len(fault) == 1 and fault[0] in FAULTS:
        device.spoil(fault[0], what == "spoil")
    else:
        raise PerhopError(f"--troubles: '{line}' is none", f"write {EXAMPLE}; a fault is one of {', '.join(FAULTS)}")


async def follow(devices: list[Troubled]) -> None:
    """Until the input ends; a line that says nothing known is told of and left out."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        try:
            obey(line.decode(errors="replace").strip(), devices)
        except PerhopError as error:
            print(f"virtual_usrp: {error}", file=sys.stderr, flush=True)
