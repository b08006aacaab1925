# SPDX-License-Identifier: GPL-2.0-or-later
"""The ports of mac_core, mac_bytes and mac_registers are as wide as the specification's records and registers."""

import re
from pathlib import Path

import pytest
from perhop.registers.spec_generated import COMPLETION_FIELDS, DESCRIPTOR_FIELDS, GROUP_SLOTS, REGISTERS

RTL = Path(__file__).resolve().parents[3] / "gateware/rtl"
MAC_CORE = RTL / "mac/mac_core.sv"
MAC_BYTES = RTL / "top/mac_bytes.sv"
MAC_REGISTERS = RTL / "top/mac_registers.sv"
PORT = re.compile(r"^\s*(?:input|output)\s+wire\s+logic\s+(?:\[([\w-]+):0\]\s*)?(\w+)", re.MULTILINE)
PARAMETERS = {"GROUPS-1": GROUP_SLOTS - 1}

# Handshakes, what enabling the MAC gives, and a record's words in turn.
NO_FIELD = {"desc_valid", "desc_ready", "done_valid", "done_word", "cfg_seed_load"}
# Registers that tell of mac_bytes' ports, which mac_registers has under other names.
OTHER_NAMES = {"phy_cca_busy", "s_desc_ready"}


def ports(module: Path) -> dict[str, int]:
    """Width of every port of a module; of an array, that of its elements."""
    widths = {}
    for high, name in PORT.findall(module.read_text()):
        if not high or high.isdigit() or high in PARAMETERS:
            widths[name] = (PARAMETERS[high] if high in PARAMETERS else int(high or 0)) + 1
    assert len(widths) > 80
    return widths


@pytest.fixture(scope="module")
def port_widths() -> dict[str, int]:
    return ports(MAC_CORE)


@pytest.fixture(scope="module")
def register_ports() -> dict[str, int]:
    return ports(MAC_REGISTERS)


@pytest.mark.parametrize(("prefix", "fields"), [("done", COMPLETION_FIELDS), ("desc", DESCRIPTOR_FIELDS)])
def test_ports_carry_the_records(port_widths, prefix, fields):
    stated = {f"{prefix}_{field.name}": field.width_bits for field in fields}
    found = {name: bits for name, bits in port_widths.items() if name.startswith(f"{prefix}_") and name not in NO_FIELD}
    assert found == stated


def bits_of(port: str, width_bits: int) -> tuple[str, int]:
    """Name of a field's port, and the width that it must have at least: a field may be a part of it."""
    name, high = re.fullmatch(r"(\w+)(?:\[(\d+):\d+\])?", port).groups()
    return name, width_bits if high is None else int(high) + 1


def test_registers_are_as_wide_as_their_ports(register_ports):
    """A field's port is mac_registers', and mac_bytes has the same, or it is the rate series'."""
    wanted: dict[str, int] = {}
    for register in REGISTERS.values():
        for field in register.fields.values():
            name, bits = bits_of(field.port, field.width_bits) if field.port else ("", 0)
            if name and not name.startswith("series_") and name not in OTHER_NAMES:
                wanted[name] = max(bits, wanted.get(name, 0))
    assert len(wanted) > 40
    assert {name: register_ports.get(name) for name in wanted} == wanted


@pytest.mark.parametrize("module", [MAC_CORE, MAC_BYTES], ids=lambda module: module.stem)
def test_every_setting_has_a_register(register_ports, module):
    """mac_registers drives every setting that the MAC has, with the same width."""
    settings = {name: bits for name, bits in ports(module).items() if name.startswith("cfg_")}
    assert len(settings) > 25
    assert {name: register_ports.get(name) for name in settings} == settings
