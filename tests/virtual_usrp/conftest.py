# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual devices for a test, ended behind it. What needs UHD is skipped, loudly, where there is none."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from .devices import VirtualDevice, VirtualDevices, missing, own_address, shell

Start = Callable[..., VirtualDevice]
StartAll = Callable[..., list[VirtualDevice]]


# A shell has what it starts in the background ignore this, and so would the programs that the tests end by it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    why = missing()
    for item in items:
        if why and item.get_closest_marker("uhd") and Path(str(item.fspath)).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.skip(reason=f"no UHD here: {why}"))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a device of an image core, by its name or its file, with options of the command."""
    with ExitStack() as processes:

        def started(image: str | Path, number: int = 1, *options: object) -> VirtualDevice:
            made = processes.enter_context(VirtualDevices(tmp_path, [image], [own_address(number)], *options))
            return made.devices[0]

        yield started


@pytest.fixture
def start_gateware(tmp_path: Path) -> Iterator[StartAll]:
    """Starts devices with the gateware of the first image behind them, and air between them."""
    with ExitStack() as processes:

        def started(images: list[str], addresses: list[str] | None = None, *options: object) -> list[VirtualDevice]:
            addresses = addresses or [own_address(number) for number in range(1, 1 + len(images))]
            made = processes.enter_context(
                VirtualDevices(tmp_path, images, addresses, "--shell", shell(images[0]), *options)
            )
            return made.devices

        yield started
