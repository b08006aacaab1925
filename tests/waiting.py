# SPDX-License-Identifier: GPL-2.0-or-later
"""How a test waits: for a condition, never for a time by which it will have come."""

import re
import subprocess
import time
from collections.abc import Callable
from typing import Any

POLL_S = 0.02


def wait_until(
    holds: Callable[[], Any], timeout_s: float = 60, what: str = "what is waited for", poll_s: float = POLL_S
) -> float:
    """How long it took, in seconds. Raises AssertionError where the condition does not come.

    `poll_s` is for conditions that take long to look at.
    """
    start_s = time.monotonic()
    while not holds():
        assert time.monotonic() - start_s < timeout_s, f"{what}: still not so after {timeout_s:g} s"
        time.sleep(poll_s)
    return time.monotonic() - start_s


def acknowledged_bytes(address: str, *enter: str) -> int:
    """Of the TCP connection that has sent most to an address; `enter` are the words that run a program there."""
    command = [*enter, "ss", "-Htin", "state", "established", "dst", address]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return max((int(count) for count in re.findall(r"bytes_acked:(\d+)", said)), default=0)
