# SPDX-License-Identifier: GPL-2.0-or-later
"""The registers of any map over any bus: read and written by name, refusals told as errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from perhop.registers.lookup import RegisterError, entry_address, find_field, find_register, register_at, split
from perhop.registers.rules import Rules
from perhop.registers.spec_generated import REGISTERS, Register

WORD = 0xFFFF_FFFF
ERROR_MEANINGS = {
    "not_writable": "nothing can be written there",
    "partial_write": "only whole words can be written",
    "not_idle": "it is a setting, and the MAC runs",
    "illegal_value": "the value is against a rule of the register",
}


class Bus(Protocol):
    """What carries accesses to the registers: a driver, a simulation, a model."""

    def read32(self, address: int) -> int:
        """The word at a byte address."""

    def write32(self, address: int, word: int) -> None:
        """Writes the word at a byte address."""


class MappedRegisters:
    """The registers of one map.

    Everything is read from the hardware: two programs may use one map as long as they do not write at once.
    """

    def __init__(
        self, bus: Bus, registers: Mapping[str, Register], what: str, core_id: int, version_major: int
    ) -> None:
        self._bus = bus
        self._registers = registers
        if (found := bus.read32(registers["id"].address)) != core_id:
            raise RegisterError(f"the registers say {found:#010x}; a {what} says {core_id:#010x}", "check the address")
        major = self.read("version")["version_major"]
        if major != version_major:
            raise RegisterError(
                f"the gateware's registers have version {major}; this software knows {version_major}",
                "use the software that came with the gateware",
            )

    def read(self, name: str, index: int = 0, /) -> dict[str, int]:
        """A register's fields, in the units of the reference."""
        register = find_register(name, self._registers)
        address = entry_address(register, index)
        value = sum(self._bus.read32(address + 4 * word) << 32 * word for word in range(register.words))
        return split(register, value)

    def write(self, name: str, index: int = 0, /, **fields: int) -> None:
        """Writes fields of a register; those not named keep their values. RegisterError if they are not legal."""
        register = find_register(name, self._registers)
        self._may_be_written(register, fields)
        self._write(register, index, fields)
        self.raise_if_refused()

    def raise_if_refused(self) -> None:
        """RegisterError if the hardware refused a write since the last call, with the reason and the address."""
        error = self.read("error")
        reasons = [name for name in ERROR_MEANINGS if error[name]]
        if not reasons:
            return
        register = self._registers["error"]
        self._bus.write32(register.address, sum(register.fields[name].mask for name in reasons))
        told = "; ".join(ERROR_MEANINGS[name] for name in reasons)
        # It counts from the first register of the map, which is its id.
        place = register_at(self._registers["id"].address + error["at_address"], self._registers)
        raise RegisterError(
            f"a write to {place} was refused: {told}",
            "see the register in gateware/spec/reference.md",
        )

    def read_statistics(self) -> dict[str, int]:
        """Every counter by name, without stat_; they wrap at 2^32, so differences are modulo that."""
        names = [name for name in self._registers if name.startswith("stat_")]
        return {name.removeprefix("stat_"): self.read(name)["count"] for name in names}

    def _may_be_written(self, register: Register, fields: Mapping[str, int]) -> None:
        for name in fields:
            if find_field(register, name).access == "r":
                raise RegisterError(f"{register.name}.{name} can only be read", "leave it out")
        if not register.writable:
            raise RegisterError(f"register {register.name} can only be read", "leave it out")
        if not register.live and self._running():
            problem = f"register {register.name} changes only while the MAC does not run"
            raise RegisterError(problem, "write control.enable = 0 first")

    def _write(self, register: Register, index: int, fields: Mapping[str, int]) -> None:
        """Writes one register, in words, none of which need be legal without the others but for its own fields."""
        address = entry_address(register, index)
        whole = {name for name, field in register.fields.items() if field.access == "rw"} <= set(fields)
        now = {} if whole else self.read(register.name, index)
        written = {
            name: int(fields.get(name, now.get(name, 0) if field.access == "rw" else 0))
            for name, field in register.fields.items()
            if field.access != "r"
        }
        if (broken := self._rules(register).broken_by(register, index, written)) is not None:
            raise broken.error()
        value = 0
        for name, content in written.items():
            value = register.fields[name].put(value, content)
        for word in range(register.words):
            self._bus.write32(address + 4 * word, value >> 32 * word & WORD)

    def _running(self) -> bool:
        """Whether the MAC runs, so that settings stand."""
        return bool(self._bus.read32(REGISTERS["control"].address) & REGISTERS["control"].fields["enable"].mask)

    def _rules(self, register: Register) -> Rules:
        """What a write to the register is held against."""
        return Rules({}, registers=self._registers)
