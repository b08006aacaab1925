# SPDX-License-Identifier: GPL-2.0-or-later
"""Stands in for perhop's block where no gateware runs: registers with their reset values, and packets that come back.

No rule of the registers is here, and no MAC: it is for tests of what reaches a block and what comes back from it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from perhop.registers.spec_generated import RADIO_REGISTERS, REGISTERS, SHELL_REGISTERS

from .image_core import Block
from .registers import RegisterFile
from .sample_source import Deliver, SendOut, Taken, silence

MAPS = (REGISTERS, RADIO_REGISTERS, SHELL_REGISTERS)
CLOCKS_PER_US = 60
PARAMETERS = {"SAMPLES_PER_CHIP": 2, "RATE_IN": 0, "RATE_22": 0, "DECIMATION": 1}
SAMPLES_AT = SHELL_REGISTERS["stat_samples"].address
TIME_AT, TSF_AT = (SHELL_REGISTERS[name].address for name in ("device_time", "device_time_tsf"))
WRITE_CLEARS = (REGISTERS["error"].address, RADIO_REGISTERS["error"].address)


class PerhopStandIn(RegisterFile):
    """Whatever comes as a packet goes back as a frame, with the device's time of that moment."""

    timekeeper = None

    def __init__(
        self, block: Block, send: SendOut, ticks: Callable[[], int], now_s: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._send, self._ticks, self._now_s, self._began_s = send, ticks, now_s, now_s()
        self._packets, self._frames = block.inputs.index("packets"), block.outputs.index("frames")
        self._fixed = set()
        for registers in MAPS:
            for register in registers.values():
                for field in register.fields.values():
                    if field.reset is not None and field.width_bits <= 32:
                        address = register.address + field.low_bit // 32 * 4
                        self.memory[address] = self.read(address) | field.reset << field.low_bit % 32
            self._fixed |= {registers[name].address for name in ("id", "version")}
        self.memory[REGISTERS["clock"].address] = CLOCKS_PER_US
        build = SHELL_REGISTERS["build"]
        self.memory[build.address] = self.read(build.address) | 1 << build.fields["timed"].low_bit
        # As the image core has its block, or the block's own values.
        said = {name: int(block.parameters.get(name, value)) for name, value in PARAMETERS.items()}
        modem = RADIO_REGISTERS["modem"]
        for register, name, parameter in (
            (modem, "samples_per_chip", "SAMPLES_PER_CHIP"),
            (modem, "rate_in", "RATE_IN"),
            (modem, "rate_22", "RATE_22"),
            (build, "decimation", "DECIMATION"),
        ):
            self.memory[register.address] = (
                self.read(register.address) | said[parameter] << register.fields[name].low_bit
            )

    def read(self, address: int) -> int:
        if address == SAMPLES_AT:
            # Its converter runs, as whoever looks again sees.
            self.memory[address] = super().read(address) + 1
        if address == TIME_AT:
            # Both of one moment, as the registers have it.
            tsf_us = int((self._now_s() - self._began_s) * 1e6)
            for place, value in ((TIME_AT, self._ticks()), (TSF_AT, tsf_us)):
                self.memory[place], self.memory[place + 4] = value & 0xFFFF_FFFF, value >> 32
        return super().read(address)

    def write(self, address: int, word: int) -> None:
        if address in WRITE_CLEARS:
            self.memory[address] = self.read(address) & ~word
        elif address not in self._fixed:
            super().write(address, word)

    def record(self, _channel: int, count: int, deliver: Deliver) -> None:
        """Nobody sends."""
        silence(count, deliver)

    def stop_recording(self, _channel: int) -> None:
        """What was asked for has come."""

    def front_end_changed(self) -> None:
        """It has no front end."""

    def transmit(self, _channel: int, _payload: bytes, _end_of_burst: bool, taken: Taken) -> None:
        """Nobody hears."""
        taken()

    def packet(self, port: int, payload: bytes, end_of_burst: bool, taken: Taken) -> None:
        if port == self._packets:
            self._send(self._frames, payload, end_of_burst, self._ticks() if end_of_burst else None)
        taken()
