# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual devices for a test, ended behind it. What needs UHD is skipped, loudly, where there is none."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from .devices import VirtualDevice, missing

Start = Callable[..., VirtualDevice]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    why = missing()
    for item in items:
        if why and item.get_closest_marker("uhd") and Path(str(item.fspath)).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.skip(reason=f"no UHD here: {why}"))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a device of an image core, by its name or its file, with options of the command."""
    with ExitStack() as devices:

        def started(image: str | Path, number: int = 1, *options: str) -> VirtualDevice:
            return devices.enter_context(VirtualDevice(tmp_path, image, number, *options))

        yield started
