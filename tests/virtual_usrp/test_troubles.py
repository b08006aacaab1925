# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles that are asked for while a device runs reach the one that is named, and nothing else is taken for one."""

import pytest
from perhop.errors import PerhopError

from .devices import troubles


class Device:
    """Notes what happens to it."""

    def __init__(self) -> None:
        self.happened: list[object] = []

    def lose_packet(self):
        self.happened.append("lost")

    def hold_streams(self, held):
        self.happened.append(held)

    def spoil(self, fault, spoilt):
        self.happened.append((fault, spoilt))


def test_each_line_is_about_one_device():
    devices = [Device(), Device()]
    for line in ("lose 1", "hold 0", "release 0", "spoil 1 reference", "mend 1 reference", ""):
        troubles.obey(line, devices)
    assert devices[0].happened == [True, False]
    assert devices[1].happened == ["lost", ("reference", True), ("reference", False)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("lose 2", "names no device"),
        ("lose", "names no device"),
        ("lose -1", "names no device"),
        ("hold 0 now", "'hold 0 now' is none"),
        ("spoil 0 antenna", "'spoil 0 antenna' is none"),
        ("burn 0", "'burn 0' is none"),
    ],
)
def test_a_line_that_is_no_trouble_is_refused(line, said):
    devices = [Device(), Device()]
    with pytest.raises(PerhopError, match=said):
        troubles.obey(line, devices)
    assert not devices[0].happened
