# SPDX-License-Identifier: GPL-2.0-or-later
"""Emulated hosts for the tests of the over-the-air runner. Skipped, loudly, where there can be none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .hosts import Hosts, missing

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT = ROOT / "sim/experiments/live_chain"
# Seconds from the start of a run's flows to its end.
DURATION_S = 6


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if Path(str(item.fspath)).parent == Path(__file__).parent]
    if here and (why := missing()):
        for item in here:
            item.add_marker(pytest.mark.skip(reason=f"no emulated hosts here: {why}"))


@pytest.fixture(scope="session")
def hosts() -> Iterator[Hosts]:
    """Four hosts, whose monotonic clocks differ by up to half an hour, and the medium between their radios."""
    settings = [
        "policies=[delay]",
        "seeds=[1, 2, 3]",
        f"duration_s={DURATION_S}",
        "warmup_s=1",
        "outputs.interval_s=0.5",
    ]
    with Hosts(EXPERIMENT, *settings, clocks_s={1: 700, 3: 1800}) as made:
        yield made
