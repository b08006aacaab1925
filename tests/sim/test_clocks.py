# SPDX-License-Identifier: GPL-2.0-or-later
"""A data packet takes hardly more clocks of MACs a hop than it did, whatever else the machine does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim/bench"))
import bench_sim  # noqa: E402

# By hops and window in packets.
RECORDED = {(1, 3): 38.3, (8, 3): 43.7, (8, 44): 47.5, (15, 3): 42.2}
MOST_DEFERRED = 0.05
MOST_GROWTH = 0.05
SIMULATED_S = 20.0


@pytest.mark.parametrize(("hops", "window"), RECORDED)
def test_a_packet_takes_no_more_than_five_percent_more_clocks_than_recorded(tmp_path, hops, window):
    config = tmp_path / "run.json"
    config.write_text(json.dumps(bench_sim.run_json(hops, window, SIMULATED_S, 1, tmp_path)))
    subprocess.run([ROOT / "out/build/sim/ns3/perhop-sim", config], check=True, stdout=subprocess.DEVNULL)
    clocks = bench_sim.clocks_of(json.loads((tmp_path / "result.json").read_text()), hops)
    assert clocks["deferred"] <= MOST_DEFERRED * sum(clocks.values())
    assert sum(clocks.values()) <= RECORDED[hops, window] * (1 + MOST_GROWTH), clocks
