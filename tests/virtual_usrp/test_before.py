# SPDX-License-Identifier: GPL-2.0-or-later
"""The image cores and steps as they were before UHD was asked: each fails where the bench would have."""

import subprocess

import pytest

from .devices import BEFORE, BENCH_PYTHON, ROOT, args, opened_graph, plain_environment

pytestmark = [pytest.mark.long, pytest.mark.uhd]


@pytest.mark.parametrize("name", BEFORE)
def test_no_recorder_on_channel_1(start, name):
    with opened_graph(args(start(BEFORE[name])), "01", "01") as graph:
        assert graph.told()["step"] == "open"
        assert "Cannot connect block 0/Radio#0, port is unconnected in the FPGA!" in graph.told()["error"]


@pytest.mark.parametrize("name", BEFORE)
def test_a_recorder_on_channel_0_alone_switches_perhops_transmitter_off(start, name):
    device, chain = start(BEFORE[name]), 2 if name.startswith("e310") else 1
    with opened_graph(args(device), "0", "") as graph:
        assert (graph.told()["step"], graph.told()["step"]) == ("open", "committed")
        assert (device.codec().sends(chain), device.codec().hears(chain)) == (False, True)


def test_without_streams_of_the_radio_block_an_e310_neither_sends_nor_hears(start):
    device = start(BEFORE["e310_perhop_22"])
    with opened_graph(args(device)) as graph:
        assert (graph.told()["step"], graph.told()["step"]) == ("open", "committed")
        codec = device.codec()
        assert (codec.chains, codec.channel_mode) == ("T F T F", "SISO_TX0")
        assert not codec.sends(2) and not codec.hears(2)
        assert codec.gain_db["TX1"] == codec.gain_db["RX1"] == 0


def test_without_our_module_uhd_knows_no_perhop(start):
    device = start(BEFORE["e320_perhop_22"])
    with opened_graph(args(device)) as graph:
        told = graph.told()
    assert set(told["blocks"]) == {"0/Radio#0", "0/Block#0"}
    assert told["blocks"]["0/Block#0"] == 0x88B50001
    probed = subprocess.run(
        ["uhd_usrp_probe", "--args", args(device)], capture_output=True, text=True, env=plain_environment()
    )
    assert probed.returncode == 0 and "perhop" not in probed.stdout


def test_uhd_listens_at_another_port_than_it_sends_by(start):
    """So a station on the bench was deaf, whose cable is at TX/RX, until it was told its antenna."""
    with opened_graph(args(start(BEFORE["e320_perhop_22"]))) as graph:
        assert graph.told()["rx_antenna"] == "RX2"


def test_the_bench_names_the_image_that_lacks_the_recorder(start):
    program = "from uhd_radio import Place, UhdRadio\nUhdRadio(Place(sys.argv[2], recorder_channel=1))"
    path = "import sys; sys.path[:0] = [sys.argv[1] + '/hw/bringup', sys.argv[1] + '/host/python']\n"
    done = subprocess.run(
        [BENCH_PYTHON, "-c", path + program, ROOT, args(start(BEFORE["e320_perhop_22"]))],
        capture_output=True, text=True, env=plain_environment(),
    )  # fmt: skip
    assert done.returncode == 1 and "--recorder-channel 0" in done.stderr
