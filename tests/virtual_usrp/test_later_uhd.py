# SPDX-License-Identifier: GPL-2.0-or-later
"""The UHD of Debian 13, 4.8, opens a virtual device that is one for it: blocks, connections, chains of the AD9361.

Our block controller and driver are built for Debian 12's; for this one perhop's block has no controller.
"""

import re
import shutil
import subprocess

import pytest

from .devices import CLIENT, E3XX, Held, args
from .later_uhd import SYSTEM, missing
from .test_chains import CHAIN_OF_CHANNEL_0, TABLE, of_e310
from .test_graph import edges_of

why = missing()
pytestmark = [pytest.mark.long, pytest.mark.uhd, pytest.mark.skipif(bool(why), reason=f"no later UHD here: {why}")]

VERSION = "4.8"


def of_that_uhd(*command: object) -> list[str]:
    return ["chroot", str(SYSTEM), *map(str, command)]


@pytest.fixture
def client():
    """The program that opens a graph, where that system has it."""
    shutil.copy(CLIENT, SYSTEM / "tmp" / CLIENT.name)
    return f"/tmp/{CLIENT.name}"


def probe(device, name: str) -> subprocess.CompletedProcess[str]:
    command = of_that_uhd("uhd_usrp_probe", "--args", args(device, name))
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", E3XX)
def test_it_finds_and_probes_the_device_of_each_image_core(start, name):
    device, core = start(name, 1, "--uhd", VERSION), E3XX[name]
    find = of_that_uhd("uhd_find_devices", "--args", f"type=e3xx,addr={device.address}")
    found = subprocess.run(find, capture_output=True, text=True, timeout=20)
    assert found.returncode == 0 and f"product: {core['device']}" in found.stdout, found.stdout + found.stderr
    probed = probe(device, name)
    assert probed.returncode == 0, probed.stdout + probed.stderr
    assert f"UHD_{VERSION}" in probed.stdout + probed.stderr
    edges = {edge.replace("0/perhop#0", "0/Block#0") for edge in edges_of(core)}
    assert set(re.findall(r"\* (\S+==>\S+)", probed.stdout)) == edges
    wrong = [event for event in device.events("call") if event["error"]]
    assert not wrong, wrong
    assert not device.events("lost")


@pytest.mark.parametrize("device", CHAIN_OF_CHANNEL_0)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"rx{row.rx}-tx{row.tx}")
def test_connected_ports_decide_what_runs_as_with_the_usual_one(start, client, device, row):
    wanted = row if device == "e320" else of_e310(row)
    radio = start(f"{device}_perhop_22", 1, "--uhd", VERSION)
    with Held(of_that_uhd("python3", client, args(radio), f"rx={row.rx}", f"tx={row.tx}")) as held:
        assert (held.told()["step"], held.told()["step"]) == ("open", "committed")
        assert (radio.codec().chains, radio.codec().channel_mode) == (wanted.chains, wanted.mode)
        held.go_on()
        assert held.told()["step"] == "released"
        assert radio.codec().chains == "T F T F"


def test_it_refuses_a_device_that_is_one_for_the_usual_uhd(start):
    probed = probe(start("e320_perhop_22"), "e320_perhop_22")
    assert probed.returncode != 0
    assert "MPM major compat number mismatch. Expected: 5.3 Actual: 4.2" in probed.stdout + probed.stderr
