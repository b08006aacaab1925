# SPDX-License-Identifier: GPL-2.0-or-later
"""The check of the examples finds every exchange on the air, and no exchange that lacks a frame."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "flowgraphs/examples"))

from check import MAC_ACK_AIRTIME_US, OnAir, exchanges_of


def exchange(start_us: int, sender: str, receiver: str) -> list[OnAir]:
    frames = [("rts", sender, receiver), ("cts", "", sender), ("data", sender, receiver), ("mac_ack", "", sender)]
    return [OnAir(kind, start_us + 10 * at, *who) for at, (kind, *who) in enumerate(frames)]


def test_exchanges_that_overlap_are_two():
    air = sorted(exchange(0, "a", "b") + exchange(5, "b", "c"), key=lambda frame: frame.start_us)
    assert exchanges_of(air) == [(0, 30 + MAC_ACK_AIRTIME_US), (5, 35 + MAC_ACK_AIRTIME_US)]


def test_an_exchange_begins_with_its_first_rts():
    assert exchanges_of([exchange(0, "a", "b")[0], *exchange(50, "a", "b")]) == [(0, 80 + MAC_ACK_AIRTIME_US)]


@pytest.mark.parametrize("lost", range(4))
def test_an_exchange_that_lacks_a_frame_is_none(lost):
    air = exchange(0, "a", "b")
    del air[lost]
    assert exchanges_of(air) == []
