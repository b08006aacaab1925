# SPDX-License-Identifier: GPL-2.0-or-later
"""A node's file with a radio: what the daemon is told, and what is refused before a radio is touched."""

import json
from pathlib import Path

import pytest
from perhop.errors import PerhopError
from perhop.node import drivers
from perhop.node.configuration import daemon_json, load_file

RADIO = """
driver:
  kind: rfnoc
  args: addr=192.168.10.2,master_clock_rate=22e6
  mac: 02:00:00:00:00:01
  frequency_hz: 2.412e+9
  tx_delay_clocks: 138
  rx_delay_clocks: 102
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "node.yaml"
    file.write_text(text)
    return file


def test_the_daemon_is_told_what_its_reader_knows(tmp_path):
    told = daemon_json(load_file(written(tmp_path, RADIO)), tmp_path)["driver"]
    assert (told["kind"], told["frequency_hz"], told["tx_delay_clocks"], told["rx_delay_clocks"]) == (
        "rfnoc",
        2.412e9,
        138,
        102,
    )
    (radio,) = (driver for driver in json.loads(drivers.LIST.read_text())["drivers"] if driver["kind"] == "rfnoc")
    assert set(told) - {"kind"} <= {field["name"] for field in radio["fields"]}


@pytest.mark.parametrize(
    ("line", "wrong", "field"),
    [
        ("  frequency_hz: 2.412e+9\n", "", "frequency_hz"),
        ("  tx_delay_clocks: 138\n", "", "tx_delay_clocks"),
        ("  args: addr=192.168.10.2,master_clock_rate=22e6\n", "", "args"),
        ("  rx_delay_clocks: 102\n", "  rx_delay_clocks: 102\n  profile: ofdm_20mhz\n", "profile"),
        ("  rx_delay_clocks: 102\n", "  rx_delay_clocks: 102\n  rssi_base_dbm: -300\n", "rssi_base_dbm"),
    ],
)
def test_what_is_missing_or_cannot_be_is_named(tmp_path, line, wrong, field):
    assert line in RADIO
    with pytest.raises(PerhopError, match=field):
        load_file(written(tmp_path, RADIO.replace(line, wrong)))
