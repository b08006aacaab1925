# SPDX-License-Identifier: GPL-2.0-or-later
"""A radio_top with its host and its antenna: frames on the air, sample by sample, against the model of the modem."""

from dataclasses import dataclass

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.perhop.mac_host import ADDRESS, MacHost
from numpy.typing import NDArray
from perhop.phy.channel import received
from perhop.phy.plcp import SIGNALS, Frame
from perhop.phy.receiver import Receiver
from perhop.phy.transmitter import transmitted
from perhop.registers import MacRegisters
from perhop.registers.radio import RadioRegisters

from testbench.antenna import Antenna

SEED = 1
SIFS_US = 10
SAMPLES_PER_US = 22
CLOCKS_PER_US = 44
HALF_CHIP = 1.0
LONGEST_WAIT_US = 3000
# From a frame's first sample to the middle of its first chip's pulse, which has 12 or 24 taps.
HALF_PULSE_2, HALF_PULSE_4 = 11 / 2, 23 / 4


@dataclass(frozen=True)
class OnAir:
    """A frame on the air. It begins half a chip before the middle of its first chip's pulse, and ends half a chip after
    that of its last one; times in samples."""

    psdu: bytes
    rate: int
    short: bool
    begin: float
    airtime_us: int

    @property
    def end(self) -> float:
        return self.begin + SAMPLES_PER_US * self.airtime_us


class Station:
    """A radio_top with its host and its antenna."""

    def __init__(self, dut, clocks_per_sample: int) -> None:
        dut._log.info("seed %d", SEED)
        self.dut = dut
        self.clocks_per_sample = clocks_per_sample
        self.random = np.random.default_rng(SEED)
        self.mac = MacHost(dut)
        self.mac.name = "a"
        self.antenna = Antenna(dut, self.random, clocks_per_sample)

    @classmethod
    async def start(cls, dut, profile: str = "dsss_long", clocks_per_sample: int = 2, **more) -> "Station":
        Clock(dut.clk, 10, "ns").start()
        dut.rst.value = 1
        for name in ("four_address", "a3", "a4", "series_attempts", "series_rate"):
            getattr(dut, f"s_desc_{name}").value = 0
        station = cls(dut, clocks_per_sample)
        await ClockCycles(dut.clk, 4)
        dut.rst.value = 0
        await RisingEdge(dut.clk)
        cocotb.start_soon(station.antenna.run())
        await station.set_up(profile, **more)
        return station

    async def set_up(self, profile: str, **more) -> None:
        """Disables, loads a profile, writes registers of the radio, enables."""

        def program(registers: tuple[MacRegisters, RadioRegisters]) -> None:
            mac, radio = registers
            mac.disable()
            radio.load_profile(mac, profile, CLOCKS_PER_US / self.clocks_per_sample)
            mac.set_station(ADDRESS["a"], SEED)
            mac.write("rts_threshold", value_bytes=4095)
            for name, fields in more.items():
                radio.write(name, **fields)
            mac.enable()

        await self.mac.host(program, lambda bus: (MacRegisters(bus), RadioRegisters(bus)))

    async def radio(self, program):
        """Runs a function of the radio's registers."""
        return await self.mac.host(program, RadioRegisters)

    def hear(self, psdu: bytes, rate: int, short: bool = False, **channel) -> OnAir:
        """Puts a frame on the air, behind what waits there."""
        frame = Frame(psdu, rate, short)
        wave = transmitted(frame, 4) @ np.array([1, 1j])
        settings = {"es_n0_db": 24, "before": 220, "after": 20, "level": 1000} | channel
        first, _ = self.antenna.put(received(wave, 4, random=self.random, **settings))
        return OnAir(psdu, rate, short, first + settings["before"] + HALF_PULSE_4 - HALF_CHIP, frame.airtime_us())

    def answer(self, heard: OnAir, psdu: bytes, rate: int, short: bool = False, **channel) -> OnAir:
        """Puts a frame on the air SIFS after another, to the sample."""
        begin = heard.end + SIFS_US * SAMPLES_PER_US + HALF_CHIP - HALF_PULSE_4
        before = round(begin - self.antenna.at - self.antenna.waiting)
        assert before > 0, "too late to answer"
        return self.hear(psdu, rate, short, before=before, **channel)

    async def next_sent(self, gain: int = 256) -> OnAir:
        """The next frame that the radio sends, when it is over. Every sample of it is the model's."""
        for _ in range(LONGEST_WAIT_US):
            if self.antenna.sent:
                break
            await ClockCycles(self.dut.clk, 44)
        assert self.antenna.sent, "the radio sent nothing"
        return self.read_sent(*self.antenna.sent.pop(0), gain)

    def read_sent(self, first: int, samples: NDArray[np.int64], gain: int = 256) -> OnAir:
        """The frame in what was sent from sample `first` on. Every sample of it is the model's."""
        noise = np.round(self.random.standard_normal((400, 2)) * 20).astype(np.int64)
        (reception,) = Receiver().run(np.vstack([noise, samples * 8, noise]))
        rate = SIGNALS.index(reception.signal)
        frame = Frame(reception.psdu, rate, reception.short_preamble)
        expected = transmitted(frame, 2, gain)
        (at,) = [at for at in range(len(samples)) if np.array_equal(samples[at : at + len(expected)], expected)]
        return OnAir(
            reception.psdu, rate, frame.short_preamble, first + at + HALF_PULSE_2 - HALF_CHIP, frame.airtime_us()
        )
