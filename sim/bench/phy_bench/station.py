# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host of a Verilated radio_top writes to its registers before the benches of sim/bench/radio_top use it."""

from __future__ import annotations

from perhop.registers import WORD, MacRegisters, entry_address, reset_value
from perhop.registers.radio import RadioRegisters
from perhop.registers.spec_generated import RADIO_REGISTERS, REGISTERS

SAMPLES_PER_US = 22
ADDRESSES = (0x0200_0000_0001, 0x0200_0000_0002)
ERRORS = [REGISTERS["error"].address, RADIO_REGISTERS["error"].address]
TRANSMITTED_RMS = 1600.0
"""Of what a radio sends, in steps of its converter."""


class Recorder:
    """A bus that keeps what is written, and reads as registers would that refuse nothing."""

    def __init__(self, clocks_per_us: int) -> None:
        self.writes: list[tuple[int, int]] = []
        self._words = {
            entry_address(register, index) + 4 * word: reset_value(register) >> 32 * word & WORD
            for registers in (REGISTERS, RADIO_REGISTERS)
            for register in registers.values()
            for index in range(register.count)
            for word in range(register.words)
        }
        clock = REGISTERS["clock"]
        # SETTLE_CLOCKS of radio_top are 16.
        told = clock.fields["per_us"].put(0, clocks_per_us)
        self._words[clock.address] = clock.fields["delay_per_us"].put(told, clocks_per_us - 16)
        self._words[RADIO_REGISTERS["modem"].address] = 2

    def read32(self, address: int) -> int:
        return self._words[address]

    def write32(self, address: int, word: int) -> None:
        self._words[address] = word
        self.writes.append((address, word))


def settings(clocks_per_us: int, profile: str, address: int, seed: int, **gain_control: int) -> list[tuple[int, int]]:
    """What the host of a station writes to its registers; `gain_control` are fields of that one."""
    bus = Recorder(clocks_per_us)
    mac, radio = MacRegisters(bus), RadioRegisters(bus)
    mac.disable()
    radio.load_profile(mac, profile, SAMPLES_PER_US)
    mac.set_station(address, seed)
    mac.write("rts_threshold", value_bytes=4095)
    # The noise of some packets is stronger than the signal of others: carriers alone say that the medium is busy.
    radio.write("clear_channel", energy_detect=0)
    if gain_control:
        radio.write("gain_control", **gain_control)
    mac.enable()
    return bus.writes
