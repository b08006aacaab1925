# SPDX-License-Identifier: GPL-2.0-or-later
"""Registers and their fields by name, entries by index, what stands at an address."""

from __future__ import annotations

from collections.abc import Mapping

from perhop.errors import PerhopError, choose_from
from perhop.registers.spec_generated import REGISTERS, Register, RegisterField


class RegisterError(PerhopError):
    """A register cannot have that value, now or ever, or the hardware refused it."""


def entry_address(register: Register, index: int = 0) -> int:
    """Byte address of a register, or of an entry of an array of them."""
    if not 0 <= index < register.count:
        raise RegisterError(f"{register.name}[{index}] does not exist", f"use an index from 0 to {register.count - 1}")
    return register.address + index * register.stride_bytes


def find_register(name: str, registers: Mapping[str, Register] = REGISTERS) -> Register:
    """The register of that name; RegisterError with near misses if there is none."""
    if name not in registers:
        raise RegisterError(f"there is no register {name!r}", choose_from(name, registers))
    return registers[name]


def find_field(register: Register, name: str) -> RegisterField:
    """The field of that name; RegisterError with near misses if there is none."""
    if name not in register.fields:
        raise RegisterError(f"register {register.name} has no field {name!r}", choose_from(name, register.fields))
    return register.fields[name]


def split(register: Register, value: int) -> dict[str, int]:
    """A register's value as fields."""
    return {name: field.get(value) for name, field in register.fields.items()}


def reset_value(register: Register) -> int:
    """What the register holds after reset; 0 where it follows the hardware."""
    return sum((field.reset or 0) << field.low_bit for field in register.fields.values())


def register_at(address: int, registers: Mapping[str, Register] = REGISTERS) -> str:
    """What stands at a byte address, to be told to a user."""
    for register in registers.values():
        for index in range(register.count):
            if 0 <= address - entry_address(register, index) < 4 * register.words:
                place = f"[{index}]" if register.is_array else ""
                return f"{register.name}{place} ({address:#05x})"
    return f"{address:#05x}, where no register is"
