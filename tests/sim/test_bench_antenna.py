# SPDX-License-Identifier: GPL-2.0-or-later
"""radio_top responds SIFS after a frame, as the antenna sees it: a short part of `make bench-antenna`."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim/bench"))
import bench_antenna  # noqa: E402
from perhop.registers.spec_generated import RADIO_REGISTERS, REGISTERS  # noqa: E402
from phy_bench import station  # noqa: E402


def measured(program: str, clocks_per_us: int, profile: str) -> dict:
    """What a short run finds; the programs are no part of the default build."""
    if not (ROOT / "out/build/build.ninja").exists():
        pytest.skip("out/build is not configured: run make build")
    subprocess.run(["cmake", "--build", ROOT / "out/build", "--target", program], check=True, capture_output=True)
    return bench_antenna.Measured.run(program, clocks_per_us, profile, exchanges=12, seed=11).summary(10)


@pytest.mark.long
@pytest.mark.parametrize("profile", ["dsss_long", "dsss_short"])
def test_every_response_begins_sifs_after_the_frame(profile):
    found = measured("perhop-bench-antenna", 44, profile)
    assert found["exact"], found
    assert found["n"] >= 12


@pytest.mark.long
def test_ticks_that_no_frame_moves_are_found():
    found = measured("perhop-bench-antenna-faulty", 44, "dsss_short")
    assert not found["exact"]
    assert found["max_us"] - found["min_us"] > bench_antenna.TOLERANCE_US


@pytest.mark.parametrize(
    ("sifs_us", "expected", "exact"),
    [
        ([10.0, 9.91, 10.09], 3, True),
        ([10.0, 9.89, 10.0], 3, False),
        ([10.0, 10.11, 10.0], 3, False),
        ([10.0] * 94, 100, False),
        ([10.0] * 95, 100, True),
    ],
)
def test_one_response_beside_the_tolerance_or_many_missing_are_not_exact(sifs_us, expected, exact):
    found = bench_antenna.Measured(np.array(sifs_us), expected, 0, expected).summary(10)
    assert found["exact"] == exact


def test_what_the_host_writes_is_legal_and_enables_the_mac_last():
    writes = station.settings(44, "dsss_short", 0x0200_0000_0001, 1, range_steps=5, settle_looks=1)
    assert writes[-1] == (REGISTERS["control"].address, 1)
    assert (RADIO_REGISTERS["preamble"].address, 1) in writes
    assert (RADIO_REGISTERS["gain_control"].address, 1 << 8 | 5) in writes
