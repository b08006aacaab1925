# SPDX-License-Identifier: GPL-2.0-or-later
"""The bench guide's steps for one radio, on virtual devices with the gateware behind them: Verilated shells, real UHD.

They run some hundred times slower than radios, which changes nothing of what is measured in samples and clocks.
"""

from __future__ import annotations

import pytest

from .bench_steps import DELAYS_22, DELAYS_44, ON_AIR, SHORT, done_step
from .devices import args

pytestmark = [pytest.mark.long, pytest.mark.uhd]

# Of a radio that keeps its pace beside other work: on a core of its own it could be six times as fast.
SLOW_DOWN = 500


@pytest.mark.parametrize(("name", "delays"), [("e320_perhop_22", DELAYS_22), ("e310_perhop_44", DELAYS_44)])
def test_the_first_delays_are_those_of_modem_and_shell(start_gateware, name, delays):
    (radio,) = start_gateware([name])
    done = done_step("delays", "--args", args(radio, name), "--msps", name.split("_")[2])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tx {}, rx {} clocks".format(*delays) in done.stdout


def test_the_selftest_finds_nothing_wrong_with_a_radio_of_an_even_pace(start_gateware):
    (radio,) = start_gateware(["e320_perhop_22"], None, "--slow-down", SLOW_DOWN)
    done = done_step("selftest", "--args", args(radio), "--slow-down", SLOW_DOWN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("  ok   ") == 8


def test_levels_hears_the_receivers_noise(start_gateware):
    (radio,) = start_gateware(["e320_perhop_22"])
    done = done_step("levels", "--args", args(radio), "--frequency", "2.412e9", "--rx-gain", "40")
    assert "ok   noise" in done.stdout, done.stdout + done.stderr
    # Nobody has set the threshold yet: the step says which one.
    assert done.returncode == 1 and "DIFF energy threshold: -70 dBm" in done.stdout


@pytest.mark.parametrize(("name", "recorder_channel"), [("e320_perhop_22", 1), ("e310_perhop_44", 0)])
def test_loopback_records_every_frame_that_is_sent(start_gateware, name, recorder_channel):
    (radio,) = start_gateware([name])
    of_image = ["--msps", name.split("_")[2], "--recorder-channel", recorder_channel]
    done = done_step("loopback", "--args", args(radio, name), *ON_AIR, *of_image, *SHORT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok   frames of the recording that are those sent: 20" in done.stdout
