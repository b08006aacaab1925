# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the samples come from that UHD's radio block receives."""

from __future__ import annotations

from collections.abc import Callable

SAMPLE_BYTES = 4
AT_A_TIME = 4096

Deliver = Callable[[bytes], None]
"""Is told the next samples, I and Q of 16 bits each, until as many have come as were wanted."""

SampleSource = Callable[[int, int, Deliver], None]
"""Is told channel, count, and what takes the samples, now or later."""


def silence(count: int, deliver: Deliver) -> None:
    """As many zeros."""
    for first in range(0, count, AT_A_TIME):
        deliver(bytes(SAMPLE_BYTES * min(AT_A_TIME, count - first)))
