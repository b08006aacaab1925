# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon's link reads the front end back, and refuses one that is not as it was set: one sentence each."""

import pytest

from .devices import args, opened_link
from .test_faults import error_of

pytestmark = [pytest.mark.long, pytest.mark.uhd]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("frequency", "transmit frequency reads back as 2413000000 Hz, not 2412000000 Hz"),
        ("bandwidth", "transmit bandwidth reads back as 10000000 Hz, not 20000000 Hz"),
        ("lo", "transmit oscillator does not lock"),
        ("reference", "reference clock does not lock: is the source 'internal' connected?"),
        ("clock", "clock source reads back as 'external', not 'internal': it has internal, external, gpsdo"),
        ("time", "time source reads back as 'external', not 'internal'"),
    ],
)
def test_a_front_end_that_is_not_as_it_was_set_is_refused(start, fault, said):
    error = error_of(args(start("e320_perhop_22", 1, "--fault", fault)), 20)
    assert said in error


def test_another_rate_than_the_images_is_refused_before_anything_is_sent(start):
    device = start("e320_perhop_22")
    error = error_of(f"addr={device.address},master_clock_rate=20e6", 20)
    assert "sample rate reads back as 20000000 samples a second, not 22000000" in error
    assert "master_clock_rate in `args`" in error


def test_a_front_end_that_is_as_it_was_set_is_taken(start):
    device = start("e320_perhop_22")
    with opened_link(args(device)) as link:
        assert link.told()["id"] == 0x50657248
    codec = device.events("codec")[-1]
    # Nobody has given a bandwidth: it is that of a channel.
    assert codec["bandwidth_hz"]["TX1"] == codec["bandwidth_hz"]["RX1"] == 20e6
    assert codec["dc_offset_auto"]["RX1"] and codec["iq_balance_auto"]["RX1"]
    assert not codec["gain_control"]["RX1"]
