# SPDX-License-Identifier: GPL-2.0-or-later
"""What blocks give and take: packets for the host, and samples of the converter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

SAMPLE_BYTES = 4
AT_A_TIME = 4096
ENDLESS = 1 << 60
"""More samples than anybody waits for: until they are stopped."""
SILENT_SAMPLES = 1 << 16

Deliver = Callable[[bytes], None]
"""Is told the next samples, I and Q of 16 bits each, until as many have come as were wanted."""

Taken = Callable[[], None]
"""Is told that samples, or a packet, are where they go: there is as much room for others again."""


class SendOut(Protocol):
    """Sends what leaves a block."""

    def __call__(
        self,
        port: int,
        payload: bytes,
        end_of_burst: bool = True,
        time_ticks: int | None = None,
        taken: Taken = lambda: None,
    ) -> None:
        """By an output; `time_ticks` of its first item, and `taken` when it has left the device."""


class Converter(Protocol):
    """Both directions of a radio's channels, as the radio block uses them."""

    def record(self, channel: int, count: int, deliver: Deliver) -> None:
        """`deliver` takes so many samples of a channel, now or later."""

    def stop_recording(self, channel: int) -> None:
        """What has not come yet is not wanted any more."""

    def transmit(self, channel: int, payload: bytes, end_of_burst: bool, taken: Taken) -> None:
        """Sends samples, behind those that were given before."""


def silence(count: int, deliver: Deliver) -> None:
    """As many zeros; without end, as many as nobody's pace has: some."""
    if count >= ENDLESS:
        count = SILENT_SAMPLES
    for first in range(0, count, AT_A_TIME):
        deliver(bytes(SAMPLE_BYTES * min(AT_A_TIME, count - first)))
