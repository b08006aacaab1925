# SPDX-License-Identifier: GPL-2.0-or-later
"""The times of an experiment's radios are one, or a finding says whose is not; captures are joined by them."""

import pytest
from perhop.radio.checks import Looked, compare_times
from perhop.realtime import captures
from perhop.realtime.session import Clock

NAMES = ["a", "b", "c"]


def looked(host_ahead_of_us_s: float, host_ahead_of_radio_s: float | None, by_pulses: bool = True) -> Looked:
    """A host, by how much its clock is ahead of ours and of its radio's; None: no radio with a time."""
    clock = Clock(monotonic_ns=0, bound_ns=1000, time_of_day_ns=round(host_ahead_of_us_s * 1e9))
    time = None
    if host_ahead_of_radio_s is not None:
        time = {"by_pulses": by_pulses, "host_ahead_s": host_ahead_of_radio_s, "pulse_offset_us": 0, "corrections": 0}
    return Looked([], clock=clock, radio_time=time)


def findings(*found: Looked) -> list[tuple[bool, str]]:
    compare_times(NAMES[: len(found)], list(found))
    return [(each.ok, f"{each.name}: {each.detail}") for looked in found for each in looked.findings]


def test_radios_whose_seconds_are_one_by_pulses_pass_whatever_their_hosts_clocks_say():
    """Each host's clock is off ours, and its radio's time is off that host's by as much."""
    assert findings(looked(0.1, 0.1), looked(-0.2, -0.2), looked(0, 0.001)) == [
        (True, "a: radio's time: by pulses, +0.0 ms from ours"),
        (True, "b: radio's time: by pulses, +0.0 ms from ours"),
        (True, "c: radio's time: by pulses, -1.0 ms from ours"),
    ]


@pytest.mark.parametrize("second", [-1, 1])
def test_a_radio_whose_host_named_another_second_is_found_and_the_others_are_not(second):
    told = findings(looked(0, 0.002), looked(0, 0.002 - second), looked(0, 0.002))
    assert [ok for ok, _ in told] == [True, False, True]
    assert f"by pulses, but {second:+.3f} s from that of the others" in told[1][1]


def test_a_radio_without_pulses_among_others_is_found():
    told = findings(looked(0, 0), looked(0, 0, by_pulses=False))
    assert told[0][0] and not told[1][0]
    assert "that of its host, and others have one by pulses" in told[1][1]


def test_times_of_hosts_alone_pass_and_radios_without_a_time_say_nothing():
    assert findings(looked(0.003, 0, by_pulses=False), looked(0, None)) == [
        (True, "a: radio's time: +3.0 ms from ours: that of its host")
    ]
    assert findings(looked(0, None), looked(0, None)) == []


def test_captures_by_pulses_are_moved_by_one_number_and_others_by_their_hosts_clocks():
    """What hosts measure of their radios is off by milliseconds, of which frames' times know nothing."""
    found = [looked(0.5, 0.503), looked(-0.2, -0.201), looked(0.1, 0.1), looked(0.25, None), looked(0.3, 0.3, False)]
    moved_us = captures.ahead_of_ours_us([each.clock for each in found], [each.radio_time for each in found])
    assert moved_us == [0, 0, 0, 250_000, 300_000]
