# SPDX-License-Identifier: GPL-2.0-or-later
"""The medium between stations in a simulation, in whole frames and in clocks: who hears what, from when until when.

Everybody hears everybody, at once. Of frames that overlap at a receiver the first is spoilt from the moment on at which
the second begins, and of the second only the carrier is heard. Whoever sends receives nothing. A test may keep frames
from a receiver (`hears`) and change their bytes (`byte_at`).

A clock is known by the number of its rising edge. All that happens at a clock happens at the falling edge before it,
where nothing in a design changes: what is driven there the rising edge sees, and what is read there it sees as well, in
every simulator. A MAC takes CLOCKS_PER_US clocks for a microsecond, whatever their period.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import cocotb
from cocotb.triggers import FallingEdge, Timer
from cocotb.utils import get_sim_time

from . import mpdu
from .spec import PROFILES, airtime_us


class Station(Protocol):
    """Who is on the air."""

    name: str

    async def hear(self, reception: "Reception") -> None:
        """A frame of another station begins on the air now."""


@dataclass
class AirFrame:
    """A frame on the air. Its bytes are those that its sender has given so far; all of them when it ends."""

    sender: str
    begin: int  # clock of its first bit
    end: int  # clock behind its last bit
    rate: int
    size_bytes: int
    data: bytearray = field(default_factory=bytearray)

    @property
    def reading(self) -> mpdu.Reading:
        """What the frame says."""
        return mpdu.read(bytes(self.data), self.size_bytes)


@dataclass
class Reception:
    """A frame as one station gets it."""

    frame: AirFrame
    carrier_only: bool  # the station sends, or receives another frame
    spoilt_at: int | None = None  # the clock from which on nothing of it can be read


class Air:
    """The medium. `log` has every frame in the order of their begins.

    Args:
        clk: the clock of the MACs; half of its period it is low.
        period: of that clock, in `unit`.
        clocks_per_us: the parameter CLOCKS_PER_US of the MACs.
        profile: the timing profile of gateware/spec/protocol.yaml that all stations use.

    Raises:
        ValueError: there is no such profile.
    """

    def __init__(self, clk, period: int, unit: str, clocks_per_us: int, profile: str) -> None:
        if profile not in PROFILES:
            raise ValueError(f"there is no profile {profile!r}; profiles are {', '.join(PROFILES)}")
        self.clk = clk
        self.period, self.unit = period, unit
        self.clocks_per_us = clocks_per_us
        self.timing = PROFILES[profile]
        self.profile = profile
        self.log: list[AirFrame] = []
        # Whether a station hears anything of a frame; and what it gets in place of a byte.
        self.hears: Callable[[AirFrame, Station], bool] = lambda frame, station: True
        self.byte_at: Callable[[AirFrame, Station, int], int] = lambda frame, station, index: frame.data[index]
        self._stations: dict[str, Station] = {}
        self._sends_until: dict[str, int] = {}
        self._receives: dict[str, Reception] = {}
        self._begin: float | None = None  # time of the falling edge before clock 0

    def join(self, station: Station) -> None:
        """From now on the station hears the others.

        Raises:
            ValueError: one of that name is there already.
        """
        if station.name in self._stations:
            raise ValueError(f"two stations are called {station.name!r}")
        self._stations[station.name] = station

    # ---- Time

    @property
    def now(self) -> int:
        """The clock that comes next."""
        if self._begin is None:
            return 0
        return round((get_sim_time(self.unit) - self._begin) / self.period)

    async def clock(self) -> None:
        """The next clock."""
        await FallingEdge(self.clk)
        if self._begin is None:
            self._begin = get_sim_time(self.unit)

    async def until(self, clock: int) -> None:
        """Waits for a clock; returns at once if it is that one already, or a later one."""
        if self._begin is None:
            await self.clock()
        if clock <= self.now:
            return
        # A quarter of a period early, then to the edge: one wait for many clocks.
        rest = self._begin + (clock - 0.25) * self.period - get_sim_time(self.unit)
        await Timer(rest, self.unit, round_mode="round")
        await FallingEdge(self.clk)

    def us(self, clocks: int) -> float:
        """Clocks in microseconds of the MAC."""
        return clocks / self.clocks_per_us

    def clocks(self, us: int) -> int:
        """Microseconds of the MAC in clocks."""
        return us * self.clocks_per_us

    # ---- Frames

    def send(self, sender: str, begin: int, rate: int, size_bytes: int, data: bytes = b"") -> AirFrame:
        """A frame goes on the air at clock `begin`, which is now or to come. Its bytes may follow in its `data`."""
        end = begin + self.clocks(airtime_us(self.timing, rate, size_bytes))
        frame = AirFrame(sender, begin, end, rate, size_bytes, bytearray(data))
        cocotb.start_soon(self._spread(frame))
        return frame

    def due(self, frame: AirFrame, index: int) -> int:
        """The clock at which a byte of a frame has been on the air: they come evenly behind the preamble."""
        head = self.head(frame)
        return head + (index + 1) * (frame.end - head) // (frame.size_bytes + 1)

    def head(self, frame: AirFrame) -> int:
        """The clock at which the preamble and the PLCP header of a frame are over."""
        return frame.begin + self.clocks(self.timing.rates[frame.rate].preamble_us)

    def busy_until(self) -> int:
        """The clock from which on nothing that has begun is on the air."""
        return max(self._sends_until.values(), default=0)

    async def _spread(self, frame: AirFrame) -> None:
        await self.until(frame.begin)
        self.log.append(frame)
        self._sends_until[frame.sender] = frame.end
        self._spoil(frame.sender, frame.begin)
        for name, station in self._stations.items():
            if name != frame.sender and self.hears(frame, station):
                cocotb.start_soon(self._give(frame, station))

    async def _give(self, frame: AirFrame, station: Station) -> None:
        receives = station.name in self._receives
        reception = Reception(frame, receives or self._sends_until.get(station.name, 0) > frame.begin)
        if receives:
            self._spoil(station.name, frame.begin)
        if not reception.carrier_only:
            self._receives[station.name] = reception
        cocotb.start_soon(station.hear(reception))
        await self.until(frame.end)
        if not reception.carrier_only:
            del self._receives[station.name]

    def _spoil(self, station: str, at: int) -> None:
        if station in self._receives and self._receives[station].spoilt_at is None:
            self._receives[station].spoilt_at = at
