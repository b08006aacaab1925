# SPDX-License-Identifier: GPL-2.0-or-later
"""What a module calls a setting is as wide as the registers that hold it, and every setting is read somewhere."""

import re
from pathlib import Path

import pytest
from perhop.registers.spec_generated import REGISTERS

RTL = Path(__file__).resolve().parents[3] / "gateware/rtl"
SOURCES = sorted(path for folder in ("mac", "datapath", "top") for path in (RTL / folder).glob("*.sv"))
# A wire, array or port of a module that carries a setting, under the setting's name.
DECLARED = re.compile(r"^\s*(?:input\s+)?(?:wire\s+)?logic\s+(?:\[(\d+):0\]\s*)?cfg_(\w+)", re.MULTILINE)
READ = re.compile(r"\bsettings\.(\w+)")
# Not of a register by itself: what enabling the MAC gives, a part of one, and registers of mac_registers alone.
NO_SETTING = {"seed_load", "whole", "kinds"}


def bits_of(port: str, width_bits: int) -> tuple[str, int]:
    """Name of a field's setting, and the width that it must have at least: a field may be a part of it."""
    name, high = re.fullmatch(r"cfg_(\w+?)(?:\[(\d+):\d+\])?", port).groups()
    return name, width_bits if high is None else int(high) + 1


@pytest.fixture(scope="module")
def settings() -> dict[str, int]:
    """Width of every setting that the registers hold; of an array, that of its entries."""
    widths: dict[str, int] = {}
    for register in REGISTERS.values():
        for field in register.fields.values():
            if field.port.startswith("cfg_"):
                name, bits = bits_of(field.port, field.width_bits)
                widths[name] = max(bits, widths.get(name, 0))
    assert len(widths) > 35
    return widths


def declared(source: Path) -> dict[str, int]:
    text = source.read_text()
    found = {}
    for line in DECLARED.finditer(text):
        if line[2] not in NO_SETTING:
            found[line[2]] = int(line[1] or 0) + 1
    return found


def test_what_modules_call_a_setting_is_as_wide_as_its_registers(settings):
    found = {(source.stem, name): bits for source in SOURCES for name, bits in declared(source).items()}
    of_the_radio = {"radio_registers", "radio_top"}
    found = {key: bits for key, bits in found.items() if key[0] not in of_the_radio}
    assert len(found) > 35
    wrong = {key: bits for key, bits in found.items() if settings.get(key[1]) != bits}
    assert not wrong


def test_every_setting_is_read_by_a_module(settings):
    read = {name for source in SOURCES for name in READ.findall(source.read_text())}
    assert not settings.keys() - read
