# SPDX-License-Identifier: GPL-2.0-or-later
"""The time of a device: a tick a sample of the converter, and pulses at which a host's time is taken over.

As UHD's timekeeper has it: a time that is set is the next tick's, or that of the next pulse; at each pulse it notes
what the time was. The pulses of the time sources `external` and `gpsdo` come to all devices at once; with `internal`
each has pulses of its own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

SOURCES = ("internal", "external", "gpsdo")
COMMON_SOURCES = ("external", "gpsdo")
PULSE_S = 1.0
WORD = (1 << 64) - 1
_EPOCH_S = time.time() - time.monotonic()


def utc_s() -> float:
    """The time of day, which does not jump while this process lives. Pulses come with its seconds, as GPS has them."""
    return time.monotonic() + _EPOCH_S


@dataclass(frozen=True)
class Pulses:
    """When pulses come."""

    every_s: float = PULSE_S
    own_phase: float = 0.37
    """When in each `every_s` those of the internal source do."""


class Timekeeper(Protocol):
    """What MPM's calls reach."""

    def ticks(self) -> int:
        """Now."""

    def last_pulse_ticks(self) -> int:
        """What the time was at the last pulse, or was made then."""

    def set_now(self, ticks: int) -> None: ...

    def set_at_next_pulse(self, ticks: int) -> None: ...

    def listen(self, source: str, comes: bool) -> None:
        """Which source's pulses are taken, and whether any come."""


class ClockTimekeeper:
    """By the clock of this host, of which each second has so many ticks. What has happened is found out when asked."""

    def __init__(self, now_s: Callable[[], float], rate_hz: Callable[[], float], pulses: Pulses | None = None) -> None:
        self._now_s, self._rate_hz, self._of = now_s, rate_hz, pulses or Pulses()
        self._base_s, self._base_ticks, self._rate = now_s(), 0, rate_hz()
        self._source, self._comes = SOURCES[0], True
        self._pulses, self._last, self._waiting = self._count(self._base_s), 0, None

    def ticks(self) -> int:
        return self._at(self._advance())

    def last_pulse_ticks(self) -> int:
        self._advance()
        return self._last

    def set_now(self, ticks: int) -> None:
        self._base_s, self._base_ticks = self._advance(), ticks

    def set_at_next_pulse(self, ticks: int) -> None:
        self._advance()
        self._waiting = ticks

    def listen(self, source: str, comes: bool) -> None:
        now_s = self._advance()
        self._source, self._comes = source, comes
        self._pulses = self._count(now_s)

    def _at(self, when_s: float) -> int:
        return self._base_ticks + int((when_s - self._base_s) * self._rate) & WORD

    @property
    def _phase_s(self) -> float:
        return 0.0 if self._source in COMMON_SOURCES else self._of.own_phase * self._of.every_s

    def _count(self, when_s: float) -> int:
        """Pulses of this source since the clock began."""
        return math.floor((when_s - self._phase_s) / self._of.every_s)

    def _advance(self) -> float:
        now_s = self._now_s()
        if self._rate != self._rate_hz():
            self._base_s, self._base_ticks, self._rate = now_s, self._at(now_s), self._rate_hz()
        pulses, before = self._count(now_s), self._pulses
        self._pulses = pulses
        if pulses == before or not self._comes:
            return now_s
        if self._waiting is not None:
            self._base_s = (before + 1) * self._of.every_s + self._phase_s
            self._base_ticks, self._waiting = self._waiting, None
        self._last = self._at(pulses * self._of.every_s + self._phase_s)
        return now_s


class SampleTimekeeper:
    """By samples that are simulated elsewhere: there a time is set to the sample; here is what was told of it last."""

    def __init__(self, samples: Callable[[], int], say: Callable[..., None]) -> None:
        """`samples`: how many have passed, by the last word of the simulation; `say` tells it what is wanted."""
        self._samples, self._say = samples, say
        self._base_sample, self._base_ticks, self._last = 0, 0, 0

    def ticks(self) -> int:
        return self._base_ticks + max(self._samples() - self._base_sample, 0) & WORD

    def last_pulse_ticks(self) -> int:
        return self._last

    def set_now(self, ticks: int) -> None:
        # Until the simulation tells the sample.
        self._base_sample, self._base_ticks = self._samples(), ticks
        self._say("k", ticks)

    def set_at_next_pulse(self, ticks: int) -> None:
        self._say("g", ticks)

    def listen(self, source: str, comes: bool) -> None:
        self._say("q", int(comes and source in COMMON_SOURCES))

    def was_set(self, ticks: int, sample: int) -> None:
        """The sample of that number had these ticks."""
        self._base_sample, self._base_ticks = sample, ticks

    def pulse(self, ticks: int) -> None:
        self._last = ticks
