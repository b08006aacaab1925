# SPDX-License-Identifier: GPL-2.0-or-later
"""What the daemon's link says of devices that are not as they should be: one sentence each, in bounded time."""

import re
import time

import pytest

from .devices import args, opened_link, own_address

pytestmark = [pytest.mark.long, pytest.mark.uhd]


def error_of(radio_args: str, within_s: float, time_source: str = "internal") -> str:
    """What a link says that cannot be opened."""
    began_s = time.monotonic()
    with opened_link(radio_args, time_source=time_source) as link:
        told = link.told()
    assert time.monotonic() - began_s < within_s
    lines = told["error"].splitlines()
    (line,) = [line for line in lines if line.startswith("perhop_uhd_open")]
    # UHD's log tells more, where its exception tells less.
    more = [line for line in lines if line.startswith("[ERROR]")]
    return " ".join([re.sub(r"^perhop_uhd_open: after [\d.]+ s: ", "", line), *more])


def test_no_device():
    error = error_of(f"addr={own_address(9)},master_clock_rate=22e6", 10)
    assert error.startswith("the radio 'addr=") and "No devices found" in error


def test_a_device_that_somebody_else_has_claimed(start):
    device = start("e320_perhop_22")
    with opened_link(args(device)) as link:
        assert link.told()["id"] == 0x50657248
        assert "claim" in error_of(args(device), 10)
        assert device.codec().chains == "T F T F"
    with opened_link(args(device)) as link:
        assert link.told()["id"] == 0x50657248, "it is free again"


def test_an_mpm_of_another_version(start):
    error = error_of(args(start("e320_perhop_22", 1, "--mpm-compat", "9.0")), 10)
    assert "compat" in error.lower() and "9.0" in error


def test_answers_that_come_later_than_uhd_waits(start):
    """UHD gives management packets 100 ms: 30 ms are no matter, 150 ms are."""
    assert "management transaction" in error_of(args(start("e320_perhop_22", 1, "--late-s", "0.15")), 20)


def test_another_master_clock_rate_than_the_device_can_have(start):
    device = start("e320_perhop_22")
    assert "init" in error_of(f"addr={device.address},master_clock_rate=1e9", 10)
    (refused,) = [event["error"] for event in device.events("call") if event["method"] == "init"]
    assert "master_clock_rate 1e+09 is not between" in refused


def test_a_device_that_goes_away_under_an_open_link(start):
    device = start("e320_perhop_22")
    with opened_link(args(device)) as link:
        assert link.told()["id"] == 0x50657248
        link.go_on()
        assert link.told()["id"] == 0x50657248
        device.stop()
        began_s = time.monotonic()
        link.go_on()
        error = link.told()["error"]
        # The access fails after a second; then UHD waits for the end of everything that it had open.
        assert time.monotonic() - began_s < 60
    assert "reading a register of the radio" in error and "timed out" in error
