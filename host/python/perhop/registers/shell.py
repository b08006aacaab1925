# SPDX-License-Identifier: GPL-2.0-or-later
"""The registers of a shell: what stands between a radio's MAC and modem and a board's converter and host.

mac, radio, shell = MacRegisters(bus), RadioRegisters(bus), ShellRegisters(bus)
mac.disable()
shell.load_profile(mac, radio, "dsss_short", samples_per_us=22, front_end_us=2.1)
shell.write("route", own_converter=1)
mac.enable()
"""

from __future__ import annotations

from perhop.registers.mac import MacRegisters
from perhop.registers.mapped import Bus, MappedRegisters
from perhop.registers.radio import RadioRegisters
from perhop.registers.spec_generated import SHELL_ID, SHELL_REGISTERS, SHELL_VERSION_MAJOR

COUNTERS = tuple(name for name in SHELL_REGISTERS if name.startswith("stat_"))


class ShellRegisters(MappedRegisters):
    """The registers of one shell, which stand behind its radio's. It refuses nothing by itself."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus, SHELL_REGISTERS, "shell", SHELL_ID, SHELL_VERSION_MAJOR)

    def raise_if_refused(self) -> None:
        """A shell has no guard."""

    def read_counters(self) -> dict[str, int]:
        """Every counter; they wrap at 2^32."""
        return {name: self.read(name)["count"] for name in COUNTERS}

    def read_device_time(self) -> tuple[int, int] | None:
        """The device's time in ticks and the TSF timer of the same clock; None: nobody tells this shell a time."""
        if not self.read("build")["timed"]:
            return None
        ticks = self.read("device_time")["ticks"]
        return ticks, self.read("device_time_tsf")["value_us"]

    def load_profile(
        self, mac: MacRegisters, radio: RadioRegisters, name: str, samples_per_us: float, front_end_us: float = 0.0
    ) -> None:
        """Loads a timing profile into the MAC, with the delays of modem, shell and front end; the MAC must not run.

        `front_end_us` is what converter, filters and cables take from what the shell sends to what it hears of that: a
        calibration measures it. RegisterError if all of it is too long for SIFS.
        """
        clocks_per_us = mac.read("clock")["per_us"]
        loop_us = self.read("build")["loop_samples"] / samples_per_us
        radio.load_profile(
            mac, name, samples_per_us, (round(loop_us * clocks_per_us), round(front_end_us * clocks_per_us))
        )
