# SPDX-License-Identifier: GPL-2.0-or-later
"""Drives mac_core: applies inputs at their time, lets time pass by the rules of the time warp, collects outputs."""

import random
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Protocol

from cocotb.triggers import Timer

from perhop.registers.spec_generated import FrameKind

from .exchange import Completion, Delivery, Output, Packet, TickInputs, Transmission
from .settings import MacSettings, apply_settings

# How much of the time that may pass at once does pass.
Split = Callable[[int], int]
NO_TIMER = 0xFFFF_FFFF
MAX_TICKS = 0xFF_FFFF
# A MAC that needs more clocks at one microsecond than this never settles.
MAX_SETTLE_CLOCKS = 64
# ... after a reset, when memories are cleared.
MAX_START_CLOCKS = 1024


def warp(ticks: int) -> int:
    """Jumps as far as allowed."""
    return ticks


def every_tick(ticks: int) -> int:
    """One microsecond at a time, as hardware does."""
    return min(ticks, 1)


def random_split(source: random.Random) -> Split:
    """Jumps of any length up to the longest allowed."""
    return lambda ticks: source.choice((ticks, source.randint(1, ticks), min(ticks, source.randint(1, 30))))


class Surroundings(Protocol):
    """The world around a MAC: says what reaches it and when, and hears what it sends."""

    def next_us(self) -> int | None:
        """When something reaches the MAC next; None: never again."""

    def take(self) -> TickInputs:
        """What reaches it then; called once."""

    def on_output(self, output: Output) -> None:
        """The MAC did something; what follows from it must be later than now."""


class Recorded:
    """Surroundings that do not listen: a fixed list of inputs in order of time."""

    def __init__(self, inputs: Iterable[TickInputs]) -> None:
        self._inputs = list(inputs)
        self._next = 0

    def next_us(self) -> int | None:
        return self._inputs[self._next].at_us if self._next < len(self._inputs) else None

    def take(self) -> TickInputs:
        self._next += 1
        return self._inputs[self._next - 1]

    def on_output(self, output: Output) -> None:
        """A recording does not react."""


class MacCoreDriver:
    """One mac_core in a cocotb simulation.

    Inputs of a microsecond come in the clock whose ticks end there, as the simulator and the hardware give them.
    """

    def __init__(self, dut) -> None:
        self.dut = dut
        self.now_us = 0
        self.clocks = 0
        self.outputs: list[Output] = []
        self.offered: list[TickInputs] = []  # all that was tried, for another run to repeat
        self.given: list[TickInputs] = []  # without the packets that found the queue full, for a model to replay
        self.refused: list[Packet] = []  # packets that found the queue full
        self.leaves_out_starts = False  # PHY-RXSTART is given only while want_rx_start asks for it
        self._cca_busy = False
        self._listener: Callable[[Output], None] = lambda output: None
        self._done = {
            field.name: getattr(dut, f"done_{field.name}") for field in fields(Completion) if field.name != "at_us"
        }
        # Asked at each clock; to look a handle up takes as long as to read it.
        self._clk, self._tick_n = dut.clk, dut.tick_n
        self._phy_tx_start, self._done_valid = dut.phy_tx_start, dut.done_valid
        self._rx_deliver, self._rx_duplicate = dut.rx_deliver, dut.rx_duplicate
        self._quiescent, self._next_timer = dut.quiescent, dut.next_timer
        self._phase = Timer(1, "ns")

    async def _clock(self) -> None:
        """One clock; outputs are read after its rising edge."""
        self._clk.value = 0
        await self._phase
        self._clk.value = 1
        await self._phase
        self.clocks += 1
        if self._phy_tx_start.value:
            dut = self.dut
            kind = int(dut.phy_tx_kind.value)
            self._emit(
                Transmission(
                    at_us=self.now_us,
                    kind=kind,
                    rate=int(dut.phy_tx_rate.value),
                    bytes=int(dut.phy_tx_bytes.value),
                    airtime_us=int(dut.phy_tx_airtime_us.value),
                    duration_us=int(dut.phy_tx_duration_us.value),
                    ra=int(dut.phy_tx_ra.value),
                    sequence=int(dut.phy_tx_sequence.value) if kind == FrameKind.DATA else None,
                    retry=dut.phy_tx_retry.value == 1,
                    tag=int(dut.phy_tx_tag.value),
                    queue=int(dut.phy_tx_queue.value),
                )
            )
        if self._done_valid.value:
            self._emit(Completion(at_us=self.now_us, **{name: int(port.value) for name, port in self._done.items()}))
        if self._rx_deliver.value:
            self._emit(Delivery(self.now_us, duplicate=False))
        if self._rx_duplicate.value:
            self._emit(Delivery(self.now_us, duplicate=True))

    def _emit(self, output: Output) -> None:
        self.outputs.append(output)
        self._listener(output)

    async def reset(self, settings: MacSettings) -> None:
        """Reset, settings, seed; time starts at zero and nothing is remembered."""
        dut = self.dut
        apply_settings(dut, settings)
        for name in ("tick_n", "phy_cca_busy", "phy_rx_start", "phy_rx_end", "desc_valid", "nbr_take", "cfg_seed_load"):
            getattr(dut, name).value = 0
        # Everything is told at its time.
        for handle in dut:
            if handle._name.startswith("summary_"):
                handle.value = 0
        dut.rst.value = 1
        self.now_us = 0
        await self._clock()
        await self._clock()
        dut.rst.value = 0
        dut.cfg_seed_load.value = 1
        await self._clock()
        dut.cfg_seed_load.value = 0
        self.outputs, self.offered, self.given, self.refused = [], [], [], []
        self._cca_busy = False
        await self._settle(MAX_START_CLOCKS)

    async def _settle(self, limit: int = MAX_SETTLE_CLOCKS) -> None:
        for _ in range(limit):
            if self._quiescent.value:
                return
            await self._clock()
        raise AssertionError(f"not quiescent {limit} clocks after {self.now_us} us")

    async def _give(self, ticks: int, inputs: TickInputs | None) -> None:
        """One clock with ticks and inputs, then clocks until nothing is left to do at this microsecond."""
        dut = self.dut
        # What is given for one clock; the others are 0.
        of_this_clock = []
        if ticks:
            self._tick_n.value = ticks
            of_this_clock.append(self._tick_n)
            self.now_us += ticks
        packets = list(inputs.packets) if inputs else []
        accepted: list[Packet] = []
        if inputs:
            if inputs.cca_busy is not None:
                self._cca_busy = inputs.cca_busy
                dut.phy_cca_busy.value = inputs.cca_busy
            if inputs.rx_start and (not self.leaves_out_starts or dut.want_rx_start.value == 1):
                dut.phy_rx_start.value = 1
                of_this_clock.append(dut.phy_rx_start)
            if inputs.rx_end:
                frame = inputs.rx_end
                dut.phy_rx_end.value = 1
                of_this_clock.append(dut.phy_rx_end)
                dut.phy_rx_ok.value = frame.ok
                dut.phy_rx_kind.value = frame.kind
                dut.phy_rx_rate.value = frame.rate
                dut.phy_rx_duration_us.value = frame.duration_us
                dut.phy_rx_ra.value = frame.ra
                dut.phy_rx_ta.value = frame.ta
                dut.phy_rx_sequence.value = frame.sequence
                dut.phy_rx_retry.value = frame.retry
            self.offered.append(inputs)
            # Before its clock, so that a listener finds it when the outputs come.
            self.given.append(TickInputs(self.now_us, inputs.cca_busy, inputs.rx_start, inputs.rx_end, accepted))
        while True:
            offered = packets.pop(0) if packets else None
            if offered:
                dut.desc_valid.value = 1
                of_this_clock.append(dut.desc_valid)
                dut.desc_ra.value = offered.ra
                dut.desc_peer.value = offered.peer
                dut.desc_bytes.value = offered.bytes
                dut.desc_rate.value = offered.rate
                dut.desc_airtime_us.value = offered.airtime_us
                dut.desc_use_rts.value = offered.use_rts
                attempts, rates, airtimes = offered.series_words()
                dut.desc_series_attempts.value = attempts
                dut.desc_series_rate.value = rates
                dut.desc_series_airtime_us.value = airtimes
                dut.desc_queue.value = offered.queue
                dut.desc_tag.value = offered.tag
                (accepted if dut.desc_ready[offered.queue].value == 1 else self.refused).append(offered)
            await self._clock()
            for port in of_this_clock:
                port.value = 0
            of_this_clock.clear()
            if not packets:
                break
        await self._settle()

    async def run(self, surroundings: Surroundings, until_us: int, split: Split = warp) -> None:
        """Lets time pass to until_us, everything that happens at that microsecond included."""
        self._listener = surroundings.on_output
        while True:
            next_us = surroundings.next_us()
            if next_us is not None and next_us < self.now_us:
                raise AssertionError(f"an input at {next_us} us is in the past at {self.now_us} us")
            if next_us == self.now_us:
                await self._give(0, surroundings.take())
                continue
            if self.now_us >= until_us:
                break
            limit_us = until_us if next_us is None else min(next_us, until_us)
            timer = int(self._next_timer.value)
            allowed = min(limit_us - self.now_us, timer if timer != NO_TIMER else MAX_TICKS, MAX_TICKS)
            if allowed == 0:
                raise AssertionError(f"quiescent at {self.now_us} us, but next_timer is 0")
            ticks = split(allowed)
            reached = next_us is not None and self.now_us + ticks == next_us
            await self._give(ticks, surroundings.take() if reached else None)

    async def neighbour(self, peer: int, histogram_bin: int = 0) -> dict[str, int]:
        """A snapshot of a neighbour's entries, by the names of the nbr_ outputs."""
        self.dut.nbr_take.value = 1
        self.dut.nbr_index.value = peer
        self.dut.nbr_bin.value = histogram_bin
        await self._clock()
        self.dut.nbr_take.value = 0
        while self.dut.nbr_busy.value == 1:
            await self._clock()
        names = ("avg_contention_us16", "avg_overhead_us16", "avg_data_attempts_256", "packets", "drops")
        return {name: int(getattr(self.dut, f"nbr_{name}").value) for name in (*names, "service_us", "histogram")}
