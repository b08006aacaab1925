# SPDX-License-Identifier: GPL-2.0-or-later
"""The registers of MAC and radio by name, in their units, over any bus that reads and writes 32-bit words.

    mac = MacRegisters(bus)
    mac.load_profile("ofdm_20mhz")
    mac.write("address", low=0x0000_0001, high=0x0200)
    mac.write("control", enable=1)
    mac.read("retry_limits")["short_retry_limit"]

    radio = RadioRegisters(bus)             # of a radio_top
    radio.write("tx_gain", value_256=128)

A value that the hardware would refuse is refused here first, with a sentence that says what is wrong. The rules are
those of gateware/spec/registers.rdl and radio_registers.rdl, which the gateware's guards are generated from too.
"""

from perhop.registers.lookup import (
    RegisterError,
    entry_address,
    find_field,
    find_register,
    register_at,
    reset_value,
    split,
)
from perhop.registers.mac import (
    HISTOGRAM_BINS,
    Event,
    EventLog,
    MacRegisters,
    NeighbourSnapshot,
    mixed_seed,
    profile_values,
)
from perhop.registers.mapped import ERROR_MEANINGS, WORD, Bus, MappedRegisters
from perhop.registers.radio import LastFrame, RadioRegisters, modem_delays_clocks
from perhop.registers.rules import ORDERED, Broken, Rules, planned
from perhop.registers.shell import ShellRegisters

__all__ = [
    "ERROR_MEANINGS",
    "HISTOGRAM_BINS",
    "ORDERED",
    "WORD",
    "Broken",
    "Bus",
    "Event",
    "EventLog",
    "LastFrame",
    "MacRegisters",
    "MappedRegisters",
    "NeighbourSnapshot",
    "RadioRegisters",
    "RegisterError",
    "Rules",
    "ShellRegisters",
    "entry_address",
    "find_field",
    "find_register",
    "mixed_seed",
    "modem_delays_clocks",
    "planned",
    "profile_values",
    "register_at",
    "reset_value",
    "split",
]
