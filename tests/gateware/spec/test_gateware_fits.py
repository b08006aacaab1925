# SPDX-License-Identifier: GPL-2.0-or-later
"""The ports of mac_core are as wide as the specification's records and registers."""

import re
from pathlib import Path

import pytest
from perhop.spec_generated import COMPLETION_FIELDS, DESCRIPTOR_FIELDS, REGISTERS

MAC_CORE = Path(__file__).resolve().parents[3] / "gateware/rtl/mac/mac_core.sv"
PORT = re.compile(r"^\s*(?:input|output)\s+wire\s+logic\s+(?:\[(\d+):0\]\s*)?(\w+)", re.MULTILINE)

# Handshakes, the strobe that writing the seed register gives, and a setting of two queues, whose registers are to come.
NO_FIELD = {"desc_valid", "desc_ready", "done_valid", "cfg_seed_load", "cfg_aifs_extra_slots"}


@pytest.fixture(scope="module")
def port_widths() -> dict[str, int]:
    """Width of every port of mac_core; of an array, that of its elements."""
    widths = {name: int(high or 0) + 1 for high, name in PORT.findall(MAC_CORE.read_text())}
    assert len(widths) > 80
    return widths


@pytest.mark.parametrize(("prefix", "fields"), [("done", COMPLETION_FIELDS), ("desc", DESCRIPTOR_FIELDS)])
def test_ports_carry_the_records(port_widths, prefix, fields):
    stated = {f"{prefix}_{field.name}": field.width_bits for field in fields}
    found = {name: bits for name, bits in port_widths.items() if name.startswith(f"{prefix}_") and name not in NO_FIELD}
    assert found == stated


def test_registers_are_as_wide_as_their_ports(port_widths):
    fields = [field for register in REGISTERS.values() for field in register.fields.values() if field.port]
    assert len(fields) > 25
    wrong = [(field.port, field.width_bits) for field in fields if port_widths.get(field.port) != field.width_bits]
    assert not wrong


def test_every_setting_has_a_register(port_widths):
    ports = {field.port for register in REGISTERS.values() for field in register.fields.values()}
    settings = {name for name in port_widths if name.startswith("cfg_")} - NO_FIELD
    assert settings <= ports, settings - ports
