# SPDX-License-Identifier: GPL-2.0-or-later
"""UHD finds a virtual device of each image core of an E3xx, and sees in it what the image core says."""

import json
import re
import subprocess

import pytest

from .devices import E3XX, MODULE, args, opened_graph, plain_environment

pytestmark = [pytest.mark.long, pytest.mark.uhd]

UHD_NAMES = {"radio0": "0/Radio#0", "perhop0": "0/perhop#0"}


def edges_of(core: dict) -> set[str]:
    """What an image core connects, in UHD's words: endpoints and blocks, without what goes to the device."""
    ports = {"packets": 0, "frames": 0}

    def place(name: str, port: str) -> str:
        number = ports[port] if port in ports else re.search(r"\d+$", port).group()
        return f"0/SEP#{name.removeprefix('ep')}:{number}" if name.startswith("ep") else f"{UHD_NAMES[name]}:{number}"

    return {
        f"{place(link['srcblk'], link['srcport'])}==>{place(link['dstblk'], link['dstport'])}"
        for link in core["connections"]
        if any(name.startswith("ep") for name in (link["srcblk"], link["dstblk"]))
    }


@pytest.mark.parametrize("name", E3XX)
def test_uhd_finds_and_probes_the_device_of_each_image_core(start, name):
    device, core = start(name), E3XX[name]
    found = subprocess.run(
        ["uhd_find_devices", "--args", f"type=e3xx,addr={device.address}"], capture_output=True, text=True, timeout=20
    )
    assert found.returncode == 0 and f"product: {core['device']}" in found.stdout, found.stdout + found.stderr
    probed = subprocess.run(
        ["uhd_usrp_probe", "--args", args(device, name)], capture_output=True, text=True, timeout=60,
        env=plain_environment() | {"UHD_MODULE_PATH": str(MODULE)},
    )  # fmt: skip
    assert probed.returncode == 0, probed.stdout + probed.stderr
    assert set(re.findall(r"\* (0/\w+#\d)$", probed.stdout, re.MULTILINE)) == set(UHD_NAMES.values())
    assert set(re.findall(r"\* (\S+==>\S+)", probed.stdout)) == edges_of(core)
    assert not device.events("lost")


@pytest.mark.parametrize("name", E3XX)
def test_the_radio_block_has_two_channels_and_ours_its_noc_id(start, name):
    device = start(name)
    with opened_graph(args(device, name), module=True) as client:
        told = client.told()
    assert told["blocks"] == {"0/Radio#0": 0x12AD1000, "0/perhop#0": 0x88B50001}


def test_two_devices_on_two_addresses_do_not_disturb_each_other(start):
    one, other = start("e320_perhop_22"), start("e310_perhop_22", 2)
    with opened_graph(args(one), "0", "0") as first, opened_graph(args(other), "0", "0") as second:
        for client in (first, second):
            assert (client.told()["step"], client.told()["step"]) == ("open", "committed")
        assert (one.codec().chains, other.codec().chains) == ("T F T F", "F T F T")


def test_every_call_of_uhd_has_an_answer(start):
    device = start("e320_perhop_22")
    with opened_graph(args(device), "01", "01") as client:
        client.told(), client.told()
    wrong = [event for event in device.events("call") if event["error"]]
    assert not wrong, json.dumps(wrong, indent=1)
    methods = [event["method"] for event in device.events("call")]
    assert methods.index("claim") < methods.index("init") < methods.index("db_0_set_active_chains")
