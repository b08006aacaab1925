# SPDX-License-Identifier: GPL-2.0-or-later
"""The register map is sound, and its C header says what it says in C11 and in C++20."""

import subprocess
from pathlib import Path

import pytest
from perhop.registers import ORDERED, Rules, reset_value, split
from perhop.registers.spec_generated import (
    CTS_BYTES,
    PROFILES,
    REGISTER_SPACE_BYTES,
    REGISTERS,
    RTS_BYTES,
    AccessMode,
    EventKind,
    FrameKind,
    TxResult,
    airtime_coefficients,
    airtime_us,
)

HEADER_FOLDER = Path(__file__).resolve().parents[3] / "host/core/wire/generated"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def reset(register: str, field: str = "value_us") -> int:
    return REGISTERS[register].fields[field].reset


def test_reset_values_are_one_profile():
    """What the core does after reset is dsss_long, in every register; every rate has the airtime of the lowest."""
    profile = PROFILES["dsss_long"]
    for name in ("slot", "sifs", "difs", "eifs", "response_timeout", "nav_reset", "phy_rx_start_delay"):
        assert reset(name) == getattr(profile, f"{name}_us"), name
    assert (reset("contention_window", "cw_min"), reset("contention_window", "cw_max")) == (31, 1023)
    assert reset("rts", "rate") == profile.control_rate_index
    assert reset("rts", "airtime_us") == airtime_us(profile, profile.control_rate_index, RTS_BYTES)
    for rate in profile.rates:
        # One reset value serves all eight entries because every rate has the same answer.
        assert reset("response", "rate") == rate.control_rate_index
        assert reset("response", "airtime_us") == airtime_us(profile, rate.control_rate_index, CTS_BYTES)
    lowest = airtime_coefficients(profile, 0)
    assert {name: reset("airtime", name) for name in REGISTERS["airtime"].fields} == vars(lowest)


def test_reset_values_obey_the_rules():
    held = {(name, 0): split(REGISTERS[name], reset_value(REGISTERS[name])) for name in ORDERED}
    for register in REGISTERS.values():
        if all(field.access == "rw" for field in register.fields.values()):
            broken = Rules(held).broken_by(register, 0, split(register, reset_value(register)))
            assert broken is None, broken


def test_registers_are_aligned_and_apart():
    taken: dict[int, str] = {}
    for register in REGISTERS.values():
        size_bytes = register.width_bits // 8
        for entry in range(register.count):
            address = register.address + entry * register.stride_bytes
            assert address % size_bytes == 0, register.name
            for word in range(address, address + size_bytes, 4):
                assert word not in taken, (register.name, taken.get(word))
                assert word < REGISTER_SPACE_BYTES
                taken[word] = register.name


def test_the_access_modes_of_the_map_are_those_of_the_protocol():
    assert REGISTERS["access_mode"].fields["mode"].enum is AccessMode


def c_program() -> str:
    """Exits with the number of the first statement that does not hold."""
    lines = ["#include <perhop_registers.h>", "int main(void) {"]
    checks = [("PERHOP_REGISTER_SPACE_BYTES", REGISTER_SPACE_BYTES)]
    for enum in (FrameKind, TxResult, AccessMode, EventKind):
        name = "".join(f"_{letter}" if letter.isupper() else letter.upper() for letter in enum.__name__)
        checks += [(f"PERHOP{name}_{member.name}", member.value) for member in enum]
    for register in REGISTERS.values():
        prefix = f"PERHOP_{register.name.upper()}"
        checks.append((f"{prefix}_ADDRESS", register.address))
        if register.is_array:
            last = register.address + (register.count - 1) * register.stride_bytes
            checks += [(f"{prefix}_COUNT", register.count), (f"{prefix}_ADDRESS_OF({prefix}_COUNT - 1u)", last)]
        for field in register.fields.values():
            name = f"{prefix}_{field.name.upper()}"
            short = name.removeprefix("PERHOP_")
            word = field.mask >> 32 * (field.low_bit // 32) & 0xFFFF_FFFF
            value = 0xA5A5_5A5A & (1 << field.width_bits) - 1
            checks += [
                (f"{name}_MASK", word),
                (f"{name}_SHIFT", field.low_bit % 32),
                (f"{name}_WORD_OFFSET", 4 * (field.low_bit // 32)),
            ]
            if field.width_bits <= 32:
                checks.append((f"PERHOP_GET({short}, PERHOP_PUT({short}, 0xFFFFFFFFu, {value:#x}u))", value))
                checks.append((f"PERHOP_PUT({short}, 0xFFFFFFFFu, 0u)", 0xFFFF_FFFF & ~word))
            if field.reset is not None:
                checks.append((f"{name}_RESET", field.reset))
            if field.access != "r" and field.width_bits <= 32:
                checks += [(f"{name}_MIN", field.min), (f"{name}_MAX", field.max)]
    lines += [f"  if ((uint32_t)({said}) != {value}u) return {i % 250 + 1};" for i, (said, value) in enumerate(checks)]
    assert len(checks) > 500
    return "\n".join([*lines, "  return 0;", "}", ""])


@pytest.mark.parametrize(("compiler", "standard", "suffix"), [("gcc", "c11", "c"), ("g++", "c++20", "cpp")])
def test_the_c_header_says_what_the_map_says(tmp_path, compiler, standard, suffix):
    source, binary = tmp_path / f"registers.{suffix}", tmp_path / "registers"
    source.write_text(c_program())
    command = [compiler, f"-std={standard}", *WARNINGS, "-I", HEADER_FOLDER, source, "-o", binary]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[:2000]
    assert subprocess.run([binary]).returncode == 0
