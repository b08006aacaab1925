# SPDX-License-Identifier: GPL-2.0-or-later
"""Which values registers may have: what the hardware would refuse is found here first, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perhop.registers.lookup import RegisterError, find_register
from perhop.registers.spec_generated import REGISTERS, Register, RegisterField

# What the PHY's delays must fit, and the clocks of them that the MAC needs itself.
DELAYED = ("phy_delay", "response_timeout", "sifs")
SPARE_CLOCKS = 4
DEFAULT_CLOCK = {"per_us": 64, "delay_per_us": 48}

# Registers whose values bound each other's.
ORDERED = tuple(
    sorted(
        {
            name
            for register in REGISTERS.values()
            for field in register.fields.values()
            for reference in (field.at_least, field.above)
            if reference and not reference.startswith(f"{register.name}.")
            for name in (register.name, reference.partition(".")[0])
        }
        | set(DELAYED)
    )
)


@dataclass(frozen=True)
class Broken:
    """A rule of a field that a value breaks."""

    field: str  # register.field
    problem: str
    remedy: str

    def error(self) -> RegisterError:
        return RegisterError(f"{self.field}: {self.problem}", self.remedy)


def _told(value: int, field: RegisterField) -> str:
    return f"{value} {field.unit}".rstrip()


def _broken_alone(register: Register, field: RegisterField, value: int) -> Broken | None:
    name = f"{register.name}.{field.name}"
    least = -(1 << field.width_bits - 1) if field.signed else 0
    if not least <= value < least + (1 << field.width_bits):
        problem = f"{_told(value, field)} does not fit the field's {field.width_bits} bits"
        return Broken(name, problem, f"use {field.min} to {field.max}")
    if field.enum is not None and value not in list(field.enum):
        members = ", ".join(f"{member.value} {member.name.lower()}" for member in field.enum)
        return Broken(name, f"{value} is no {field.enum.__name__}", f"use one of: {members}")
    if value < field.min:
        return Broken(name, f"{_told(value, field)} is too small", f"use at least {_told(field.min, field)}")
    if value > field.max:
        return Broken(name, f"{_told(value, field)} is too large", f"use at most {_told(field.max, field)}")
    if field.all_ones and value & (value + 1):
        below = (1 << (value.bit_length() - 1)) - 1
        remedy = f"use a power of two less one, such as {max(below, field.min)} or {2 * below + 1}"
        return Broken(name, f"{_told(value, field)} is not a power of two less one", remedy)
    return None


class Rules:
    """Which values registers may have, given those that they hold.

    `values` maps (register, index) to what it holds, in fields; `clock` is what that register says; `registers` is the
    map.
    """

    def __init__(
        self,
        values: Mapping[tuple[str, int], Mapping[str, int]],
        clock: Mapping[str, int] = DEFAULT_CLOCK,
        registers: Mapping[str, Register] = REGISTERS,
    ) -> None:
        self._values = values
        self._clock = clock
        self._registers = registers

    def broken_by(self, register: Register, index: int, written: Mapping[str, int]) -> Broken | None:
        """The first rule that is broken if these fields, which are all of it that can be written, are written."""
        for name, value in written.items():
            if (broken := _broken_alone(register, register.fields[name], value)) is not None:
                return broken
        for owner in self._registers.values():
            for field in owner.fields.values():
                for reference, strict in ((field.at_least, False), (field.above, True)):
                    if reference:
                        broken = self._out_of_order(register, index, written, owner, field, reference, strict)
                        if broken is not None:
                            return broken
        if register.name in DELAYED and (broken := self._delays_that_do_not_fit(register, written)) is not None:
            return broken
        for name, value in written.items():
            needs = register.fields[name].needs.partition(".")[2]
            if needs and value != 0 and written[needs] == 0:
                problem = f"is {_told(value, register.fields[name])}, but {needs} is 0 and the series ends there"
                return Broken(f"{register.name}.{name}", problem, f"set {needs} too, or make this 0")
        return None

    def _out_of_order(
        self,
        register: Register,
        index: int,
        written: Mapping[str, int],
        owner: Register,
        field: RegisterField,
        reference: str,
        strict: bool,
    ) -> Broken | None:
        other_name, _, other_field = reference.partition(".")
        if register.name not in (owner.name, other_name):
            return None
        upper_index = index if owner is register else 0
        lower_index = index if other_name == register.name else 0
        upper = written if owner is register else self._values[owner.name, upper_index]
        lower = written if other_name == register.name else self._values[other_name, lower_index]
        high, low = upper[field.name], lower[other_field]
        if high > low or (high == low and not strict):
            return None
        what = "above" if strict else "at least"
        high_name = f"{owner.name}.{field.name}"
        if owner is register:
            problem = f"{_told(high, field)} is too small: it must be {what} {reference}, which is {_told(low, field)}"
            return Broken(high_name, problem, f"raise it, or lower {reference} first")
        problem = f"{_told(low, field)} is too large: {high_name} must be {what} it and is {_told(high, field)}"
        return Broken(reference, problem, f"lower it, or raise {high_name} first")

    def _delays_that_do_not_fit(self, register: Register, written: Mapping[str, int]) -> Broken | None:
        """What the PHY delays must leave time to respond, and for a response (phy_delay_rule.sv)."""
        now = {name: written if name == register.name else self._values[name, 0] for name in DELAYED}
        delay_clocks = now["phy_delay"]["tx_clocks"] + now["phy_delay"]["rx_clocks"]
        sifs_us, timeout_us = now["sifs"]["value_us"], now["response_timeout"]["value_us"]
        room_clocks = sifs_us * self._clock["delay_per_us"] - SPARE_CLOCKS
        if delay_clocks > room_clocks:
            problem = (
                f"the PHY's delays are {delay_clocks} clocks together; SIFS of {sifs_us} us has room for {room_clocks}"
            )
            return Broken(register.name, problem, "give it shorter delays or a longer SIFS, the longer SIFS first")
        if delay_clocks >= (timeout_us - sifs_us) * self._clock["per_us"]:
            problem = (
                f"response_timeout of {timeout_us} us is not above SIFS of {sifs_us} us "
                f"and the PHY's delays of {delay_clocks} clocks"
            )
            return Broken(register.name, problem, "raise response_timeout by the delays first")
        return None


def planned(
    held: Mapping[tuple[str, int], Mapping[str, int]],
    values: Mapping[tuple[str, int], Mapping[str, int]],
    clock: Mapping[str, int] = DEFAULT_CLOCK,
) -> list[tuple[str, int]]:
    """An order of writing `values` in which each is legal when it comes; RegisterError if there is none.

    `held` has what the registers of ORDERED hold now.
    """
    now = dict(held)
    order: list[tuple[str, int]] = []
    left = list(values)
    while left:
        broken = None
        for key in left:
            name, index = key
            broken = Rules(now, clock).broken_by(find_register(name), index, values[key])
            if broken is None:
                break
        else:
            assert broken is not None
            raise broken.error()
        now[key] = values[key]
        order.append(key)
        left.remove(key)
    return order
