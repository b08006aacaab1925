# SPDX-License-Identifier: GPL-2.0-or-later
"""Radios that exchange samples send when the core does, and collide as waveforms do: parts of `make verify-samples`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim"))

import verify_samples  # noqa: E402


def verify(*options: str):
    command = [sys.executable, ROOT / "sim/verify_samples.py", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1].removeprefix("RESULT "))


def test_a_chain_of_radios_sends_when_the_core_does():
    result = verify("--quick")
    assert result["ok"], result
    assert result["transmissions"] > 40
    assert result["planted_in_trace_detected"]


def traced(folder: Path, *frames: tuple[int, int, int, int]) -> Path:
    """What a run writes of frames: begin and end (us), node, kind."""
    folder.mkdir()
    lines = [
        f"T {begin} {end} {node} {kind} 1 14 724 020000000001 000000000000 0 0" for begin, end, node, kind in frames
    ]
    (folder / "trace.txt").write_text("\n".join(lines) + "\n")
    rows = [f"{begin + verify_samples.TX_DELAY_US},{node},tx_start" for begin, _, node, _ in frames]
    (folder / "phy.csv").write_text("\n".join(["time_us,node,event", *rows]) + "\n")
    return folder


CTS_OF_2, RTS_OF_0, ANSWER_OF_1 = (277, 429, 2, 1), (411, 587, 0, 0), (598, 750, 1, 1)


@pytest.mark.parametrize(
    ("core", "samples", "verdict"),
    [
        ([CTS_OF_2, RTS_OF_0], [CTS_OF_2, RTS_OF_0], (0, 0)),
        ([CTS_OF_2, RTS_OF_0], [CTS_OF_2, RTS_OF_0, ANSWER_OF_1], (0, 1)),
        # No overlap; an overlap that ends behind the SYNC; not SIFS behind; by a node that hears one of them alone.
        ([RTS_OF_0], [RTS_OF_0, ANSWER_OF_1], (1, 0)),
        ([(277, 480, 2, 1), RTS_OF_0], [(277, 480, 2, 1), RTS_OF_0, ANSWER_OF_1], (1, 0)),
        ([CTS_OF_2, RTS_OF_0], [CTS_OF_2, RTS_OF_0, (650, 802, 1, 1)], (1, 0)),
        ([CTS_OF_2, RTS_OF_0], [CTS_OF_2, RTS_OF_0, (598, 750, 3, 1)], (1, 0)),
        # The core has a frame that the radios have not: an earlier one, an answer.
        ([CTS_OF_2, RTS_OF_0, (595, 747, 3, 1)], [CTS_OF_2, RTS_OF_0, ANSWER_OF_1], (1, 0)),
        ([CTS_OF_2, RTS_OF_0, ANSWER_OF_1, *[(900, 950, 0, 0)] * 4], [CTS_OF_2, RTS_OF_0], (1, 0)),
        ([CTS_OF_2, RTS_OF_0, ANSWER_OF_1], [CTS_OF_2, RTS_OF_0, (640, 792, 1, 1)], (1, 0)),
    ],
)
def test_only_the_answer_to_an_overlapped_frame_is_no_difference(tmp_path, core, samples, verdict):
    folders = traced(tmp_path / "core", *core), traced(tmp_path / "samples", *samples)
    row = verify_samples.compare_starts(*folders, [], "dsss_short")
    assert (row["differing"], row["heard_otherwise"]) == verdict


@pytest.mark.long
def test_a_thousand_frames_of_radios_and_their_collisions():
    result = verify()
    assert result["ok"], result
    assert result["transmissions"] > 1000
    assert all(result["planted_in_gateware"].values())
