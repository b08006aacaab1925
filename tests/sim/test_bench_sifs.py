# SPDX-License-Identifier: GPL-2.0-or-later
"""mac_top answers and starts to the clock: a short part of `make bench-sifs`, which finds a clock too few."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim/bench"))
import bench_sifs  # noqa: E402

RESPONSES, STARTS = 150, 40


def measured(profile: str, seed: int, *more: str) -> dict:
    found = bench_sifs.Run("perhop-bench-sifs", profile, RESPONSES, STARTS, seed, more).measure()
    return bench_sifs.summary(found)


def test_every_response_comes_sifs_after_the_frame_and_every_start_on_its_slot():
    found = measured("ofdm_20mhz", seed=11)
    assert found["exact"], found
    assert found["n"] >= RESPONSES
    assert found["slots"]["n"] >= STARTS // 2
    sifs_clocks = 16 * 64 - sum(bench_sifs.DELAYS["ofdm_20mhz"])
    assert found["histogram"] == {sifs_clocks: found["n"]}


def test_a_delay_of_the_phy_that_is_a_clock_off_is_found():
    found = measured("ofdm_20mhz", 11, "fault")
    assert not found["exact"]
    assert found["histogram"] == {found["expected_clocks"] - 1: found["n"]}
    assert found["slots"]["min_deviation_clocks"] == -1


@pytest.mark.parametrize(
    "wrong",
    [
        {"responses": {"cts": {"100": 5}, "mac_ack": {"100": 7, "101": 1}}},
        {"starts": {"reception": {"0": 9, "1": 1}}},
        {"problem": "a frame began on a busy medium"},
        {"responses": {}},
    ],
)
def test_a_spread_a_start_beside_its_slot_and_a_problem_are_not_exact(wrong):
    right = {
        "responses": {"cts": {"100": 5}, "mac_ack": {"100": 7}},
        "starts": {"reception": {"0": 10}, "response timeout, no slot drawn": {"2": 1}},
        "expected_clocks": 100,
        "clocks_per_us": 64,
        "tsf_error_clocks": [0],
        "problem": "",
    }
    assert bench_sifs.summary(right)["exact"]
    assert not bench_sifs.summary(right | wrong)["exact"]


def part(clocks: int, problem: str = "") -> dict:
    return {
        "responses": {"cts": {str(clocks): 5}},
        "starts": {"reception": {"0": 4}},
        "expected_clocks": 100,
        "clocks_per_us": 64,
        "tsf_error_clocks": [-3, 2],
        "problem": problem,
    }


def test_parts_of_a_run_are_judged_as_the_whole():
    run = bench_sifs.Run("perhop-bench-sifs", "dsss_long", 10_001, 2_000, 1)
    parts = bench_sifs.parts_of(run)
    assert sum(each.responses for each in parts) >= run.responses
    assert sum(each.starts for each in parts) >= run.starts
    others = bench_sifs.parts_of(bench_sifs.Run("perhop-bench-sifs", "dsss_long", 10_001, 2_000, 2))
    assert len({each.seed for each in parts + others}) == len(parts + others)

    right = bench_sifs.summary(bench_sifs.joined([part(100)] * 3))
    assert right["exact"] and right["n"] == 15 and right["slots"]["n"] == 12 and right["tsf_error_clocks"] == [-3, 2]
    assert not bench_sifs.summary(bench_sifs.joined([part(100), part(101)]))["exact"]
    assert not bench_sifs.summary(bench_sifs.joined([part(100), part(100, "a frame on a busy medium")]))["exact"]
    with pytest.raises(ValueError, match="different runs"):
        bench_sifs.joined([part(100), part(100) | {"clocks_per_us": 16}])
